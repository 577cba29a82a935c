"""Projectors, Hermitian and sparse matrices against dense algebra; what they refuse."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import dense
import numpy as np
import pytest
import scipy.sparse
from programs import random_hermitian

from autodiff import Tensor
from circuits.errors import ObservableError, QubitError
from circuits.observables import Hermitian, Projector, SparseHermitian
from circuits.pauli import I, X, Z

SKEW = np.array([[0, 1], [-1, 0]])


def diagonal(projector: Projector, num_qubits: int) -> list[int]:
    """The basis states that a projector keeps."""
    matrix = projector.matrix(num_qubits)
    np.testing.assert_array_equal(matrix, np.diag(matrix.diagonal()))
    return [int(k) for k in np.flatnonzero(matrix.diagonal())]


def test_bits_of_a_string_end_with_qubit_0() -> None:
    assert diagonal(Projector("01"), 2) == [0b01]
    assert diagonal(Projector("110"), 3) == [0b110]
    assert diagonal(Projector("01", (2, 0)), 3) == [0b100, 0b110]
    assert diagonal(Projector("1", 1), 2) == [0b10, 0b11]


def test_bits_of_a_sequence_stand_in_the_order_of_the_qubits() -> None:
    assert Projector([1, 0]) == Projector("01")
    assert Projector(np.array([1, 0, 1])) == Projector("101")
    assert Projector([1, 0], (2, 0)) == Projector([0, 1], (0, 2)) == Projector("01", (2, 0))


def test_projectors_are_sums_of_pauli_words() -> None:
    one = (I(0) - Z(2)) @ (I(0) + Z(0)) / 4
    np.testing.assert_array_equal(Projector("10", (0, 2)).matrix(3), one.matrix(3))


@pytest.mark.parametrize("bits", ["", "012", "x", [0, 2], [], 1, None, [0.5], "-1"])
def test_other_bits_are_refused(bits: Any) -> None:
    with pytest.raises(ObservableError, match="Projector needs bits 0 and 1, got"):
        Projector(bits)


def test_projectors_need_a_bit_for_every_qubit() -> None:
    with pytest.raises(ObservableError, match=r"one bit a qubit, got 2 bits '01' for qubits \(0,"):
        Projector("01", (0, 1, 2))
    with pytest.raises(QubitError, match=r"different qubits .* got \(1, 1\)"):
        Projector("01", (1, 1))


@pytest.mark.parametrize("targets", [(0,), (2,), *permutations(range(3), 2), (1, 2, 0)], ids=str)
def test_hermitian_acts_on_its_qubits(targets: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(targets))
    local = random_hermitian(rng, 1 << len(targets))
    wanted = dense.embed(local, targets, 3)
    np.testing.assert_allclose(Hermitian(local, targets).matrix(3), wanted, atol=1e-14)


def test_hermitian_keeps_its_own_copy() -> None:
    given = np.eye(2)
    observable = Hermitian(given, 0)
    given[0, 0] = 5
    np.testing.assert_array_equal(observable.matrix(), np.eye(2))
    np.testing.assert_array_equal(
        Hermitian(Tensor([[0.0, 1.0], [1.0, 0.0]]), 0).matrix(), X(0).matrix()
    )


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_rounding_is_accepted_and_removed(dtype: type[np.complexfloating]) -> None:
    rng = np.random.default_rng(3)
    noise = np.finfo(dtype).eps * rng.normal(size=(8, 8))
    given = (random_hermitian(rng, 8) + noise).astype(dtype)
    for observable in (
        Hermitian(given, (0, 1, 2)),
        SparseHermitian(scipy.sparse.csr_array(given)),
    ):
        matrix = observable.matrix()
        np.testing.assert_array_equal(matrix, matrix.conj().T)
        np.testing.assert_allclose(matrix, given, atol=4 * np.abs(noise).max() + 1e-16)


def test_matrices_compare_by_value() -> None:
    assert Hermitian(np.eye(2), 0) == Hermitian([[1, 0], [0, 1]], [0])
    assert Hermitian(np.eye(2), 0) != Hermitian(np.eye(2), 1)
    assert Hermitian(np.eye(2), 0) != Hermitian(np.diag([1, 2]), 0)
    eye, other = scipy.sparse.eye_array(2), scipy.sparse.diags_array([1.0, 2.0])
    assert SparseHermitian(eye) == SparseHermitian(eye.tocoo())
    assert SparseHermitian(eye) != SparseHermitian(other)


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (4, 2), (4,), (4, 4, 1)])
def test_hermitian_needs_a_row_for_every_state(shape: tuple[int, ...]) -> None:
    with pytest.raises(ObservableError, match=r"shape \(4, 4\) on qubits \(0, 1\), got shape"):
        Hermitian(np.ones(shape), (0, 1))


@pytest.mark.parametrize("size", [1e-9, 1.0])
def test_matrices_that_are_not_hermitian_are_refused(size: float) -> None:
    given = np.eye(2) + size * SKEW
    with pytest.raises(ObservableError, match=r"Hermitian needs a Hermitian matrix, got .* up to"):
        Hermitian(given, 0)
    with pytest.raises(ObservableError, match=r"SparseHermitian needs a Hermitian matrix, got"):
        SparseHermitian(scipy.sparse.csr_array(given))


@pytest.mark.parametrize("entry", [np.nan, np.inf, complex(0, np.nan)])
def test_matrices_need_finite_numbers(entry: complex) -> None:
    given = np.diag([entry, 1])
    with pytest.raises(ObservableError, match="Hermitian needs finite numbers, got dtype"):
        Hermitian(given, 0)
    with pytest.raises(ObservableError, match="SparseHermitian needs finite numbers, got dtype"):
        SparseHermitian(scipy.sparse.csr_array(given))


def test_matrices_need_numbers() -> None:
    with pytest.raises(ObservableError, match="Hermitian needs finite numbers, got dtype <U1"):
        Hermitian([["a", "b"], ["c", "d"]], 0)  # type: ignore[list-item]
    with pytest.raises(ObservableError, match=r"rows of equal length, got .*[^.]\. Give a square"):
        Hermitian([[1, 0], [0]], 0)  # type: ignore[list-item]
    with pytest.raises(ObservableError, match=r"fixed numbers, got Tensor .* requires grad"):
        Hermitian(Tensor(np.eye(2), requires_grad=True), 0)


@pytest.mark.parametrize("qubits", [(0, 0), (), (-1, 0), (0.5, 1)], ids=str)
def test_wrong_qubits_are_refused(qubits: Any) -> None:
    with pytest.raises(QubitError, match=r"an observable needs .*qubits"):
        Hermitian(np.eye(4), qubits)


@pytest.mark.parametrize("num_qubits", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["csr_array", "coo_matrix", "csc_array", "dia_matrix"])
def test_sparse_is_what_it_was_made_of(kind: str, num_qubits: int) -> None:
    rng = np.random.default_rng(num_qubits)
    dim = 1 << num_qubits
    given = random_hermitian(rng, dim)
    given[rng.random((dim, dim)) < 0.5] = 0
    given = given + given.conj().T
    observable = SparseHermitian(getattr(scipy.sparse, kind)(given))
    assert observable.width == num_qubits
    np.testing.assert_allclose(observable.matrix(), given, atol=1e-15)


def test_sparse_adds_up_entries_and_keeps_its_own_copy() -> None:
    entries = ([1.0, 2.0, 3.0, 3.0], ([0, 0, 0, 1], [0, 0, 1, 0]))
    given = scipy.sparse.csr_array(scipy.sparse.coo_array(entries, shape=(2, 2)))
    observable = SparseHermitian(given)
    given.data[:] = 7
    np.testing.assert_array_equal(observable.matrix(), [[3, 3], [3, 0]])


def test_sparse_of_other_things_is_refused() -> None:
    with pytest.raises(ObservableError, match=r"a sparse matrix with tocsr\(\), got ndarray"):
        SparseHermitian(np.eye(2))
    for shape in ((3, 3), (4, 2), (1, 1)):
        with pytest.raises(ObservableError, match=r"needs shape \(2\*\*n, 2\*\*n\) .* got \("):
            SparseHermitian(scipy.sparse.csr_array(shape))


def test_an_empty_sparse_matrix_is_zero() -> None:
    zero = SparseHermitian(scipy.sparse.csr_array((4, 4)))
    np.testing.assert_array_equal(zero.matrix(), np.zeros((4, 4)))
