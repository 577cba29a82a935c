"""Compiled observables against dense matrices; coefficients and their gradients; refusals."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import ref

import dense
import numpy as np
import pytest
from numpy.typing import NDArray
from programs import random_hermitian
from scipy.sparse import csr_array

from autodiff import F32, F64, Parameter
from circuits.compiled_observables import CompiledObservables, _known, compile_observables
from circuits.engines.reference import term_values
from circuits.errors import ObservableError, QubitError
from circuits.observable_base import Observable
from circuits.observables import Hermitian, Projector, SparseHermitian
from circuits.pauli import I, PauliSum, PauliWord, X, Y, Z
from circuits.plan.terms import PauliTerm, SparseTerm, Term


def random_observable(rng: np.random.Generator, num_qubits: int) -> Observable:
    """A real mixture of all kinds on ``num_qubits``, some of its coefficients trainable."""
    labels = ["".join(rng.choice(list("IXYZ"), num_qubits)) for _ in range(5)]
    total: Observable = PauliSum.from_list([(label, rng.normal()) for label in labels])
    qubit = int(rng.integers(num_qubits))
    total = total + rng.normal() * Projector("1", qubit)
    total = total + Hermitian(random_hermitian(rng, 2), qubit) * Parameter(rng.normal())
    total = total + SparseHermitian(csr_array(random_hermitian(rng, 1 << num_qubits)))
    return total + Y(qubit) * Parameter(rng.normal()) - 2 * Y(qubit)


def dense_term(term: Term, num_qubits: int) -> NDArray[np.complex128]:
    if isinstance(term, SparseTerm):
        size = 1 << num_qubits
        return csr_array((term.data, term.indices, term.indptr), shape=(size, size)).toarray()
    return dense.term_matrix(term, num_qubits)


def row_matrix(compiled: CompiledObservables, row: int) -> NDArray[np.complex128]:
    """The matrix that a row of the compiled form stands for."""
    n = compiled.terms.num_qubits
    matrix = np.zeros((1 << n, 1 << n), np.complex128)
    weights = compiled.coefficients().numpy()
    for term, k, weight in zip(compiled.terms.terms, compiled.terms.rows, weights, strict=True):
        matrix += weight * dense_term(term, n) if k == row else 0
    return matrix


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("num_qubits", [1, 2, 3, 4])
def test_rows_are_the_observables(num_qubits: int, seed: int) -> None:
    rng = np.random.default_rng(10 * seed + num_qubits)
    observables = [random_observable(rng, num_qubits) for _ in range(3)]
    compiled = compile_observables(observables, num_qubits)
    assert compiled.terms.num_rows == 3
    for row, observable in enumerate(observables):
        wanted = observable.matrix(num_qubits)
        np.testing.assert_allclose(row_matrix(compiled, row), wanted, atol=1e-13)


def expected(observable: Observable, state: NDArray[np.complex128]) -> float:
    """<psi|O|psi> by the reference engine."""
    compiled = compile_observables([observable], len(state).bit_length() - 1)
    values = term_values(compiled.terms, np.asarray(state, np.complex128)[None])[0]
    return float(values @ compiled.coefficients().numpy())


def test_a_letter_squared_measures_one() -> None:
    assert expected(Z(0) @ Z(0), np.array([0, 1])) == 1.0


def test_identity_measures_one() -> None:
    state = np.array([np.cos(0.15), -1j * np.sin(0.15)])
    assert expected(I(0), np.array([1, 0])) == 1.0
    assert expected(0.5 * I(0) + Z(0), state) == pytest.approx(1.4553364891, abs=1e-10)


def test_commutator_keeps_its_sign() -> None:
    assert expected((X(0) @ Y(0) - Y(0) @ X(0)) / 2j, np.array([1, 0])) == 1.0


def test_zero_observable_has_no_terms() -> None:
    compiled = compile_observables([PauliSum(), Z(0) - Z(0), Z(0)], 2)
    assert [int(k) for k in compiled.terms.rows] == [2]
    assert compiled.terms.num_rows == 3
    assert compile_observables([PauliSum()], 1).coefficients().shape == (0,)


def test_terms_that_cancel_leave_the_others_in_place() -> None:
    theta, phi = Parameter(0.5), Parameter(0.25)
    h = X(0) - X(0) + theta * Y(0) + 0 * Z(0) + phi * I(0)
    assert compile_observables([h], 1).coefficients().tolist() == [0.5, 0.25]


def test_equal_terms_of_a_row_are_one_term() -> None:
    theta = Parameter(0.5)
    compiled = compile_observables([2 * Z(0) + theta * Z(0) + X(0), Z(0)], 1)
    assert len(compiled.terms.terms) == 3
    np.testing.assert_array_equal(compiled.terms.rows, [0, 0, 1])
    np.testing.assert_array_equal(compiled.constants, [2, 1, 1])
    assert compiled.tensors == (theta,)
    assert compiled.coefficients().tolist() == [2.5, 1.0, 1.0]


def test_order_is_that_of_the_sum() -> None:
    labels = ["ZZ", "IX", "YY"]
    compiled = compile_observables([PauliSum(dict.fromkeys(labels, 1.0))], 2)
    masks = [(t.x_mask, t.z_mask) for t in compiled.terms.terms if isinstance(t, PauliTerm)]
    assert masks == [(0, 3), (1, 0), (3, 3)]


def test_numbers_need_no_history() -> None:
    coefficients = compile_observables([0.5 * Z(0) + X(0)], 1).coefficients()
    assert coefficients.tolist() == [0.5, 1.0]
    assert coefficients.dtype == F64
    assert not coefficients.requires_grad


@pytest.mark.parametrize("dtype", [F64, F32])
def test_gradients_reach_the_tensors(dtype: Any) -> None:
    theta, w = Parameter(0.3, dtype), Parameter([[0.7]], dtype)
    h = 2 * (theta * Z(0)) - w * Z(0) + (theta * X(0)) @ Y(0) / 2j + 4 * X(0)
    compiled = compile_observables([h, w * Projector("1", 0)], 1)
    weights = np.array([3.0, 5.0, 7.0], dtype)
    (compiled.coefficients() * weights).sum().backward()
    assert theta.grad is not None
    assert w.grad is not None
    assert theta.grad.item() == 3.0 * 2.5
    assert w.grad.tolist() == [[-3.0 + 7.0]]
    assert w.grad.dtype == dtype


def test_gradients_are_there_again_after_an_update() -> None:
    theta = Parameter(0.3)
    h = 2 * (theta * Z(0))
    for value in (0.3, 0.8):
        theta.set_(value)
        coefficients = compile_observables([h], 1).coefficients()
        assert coefficients.tolist() == [2 * value]
        coefficients.sum().backward()
    assert theta.grad is not None
    assert theta.grad.item() == 4.0


def test_gradients_pass_through_what_computed_a_coefficient() -> None:
    theta = Parameter([0.5, 3.0])
    h = (theta[0] * theta[1]) * Z(0) + (theta[0] * X(0)) @ (theta[1] * X(0))
    compile_observables([h], 1).coefficients().sum().backward()
    assert theta.grad is not None
    assert theta.grad.tolist() == [6.0, 1.0]


def test_second_call_is_remembered() -> None:
    a, b = Z(0) + X(1), Projector("01")
    compiled = compile_observables([a, b], 2)
    assert compile_observables((a, b), 2) is compiled
    assert compile_observables([a], 2) is not compiled
    assert compile_observables([a], 3).terms.num_qubits == 3
    assert compile_observables([a, b], 2) is compiled
    assert compile_observables([a, Projector("10")], 2) is not compiled


@pytest.mark.parametrize(
    "fresh",
    [
        lambda: [Z(0)],
        lambda: [Z(0) + 0.5 * X(1), 2 * Projector("01")],
        lambda: [PauliSum({"ZZ": 1.0, "IX": 0.5})],
    ],
)
def test_equal_observables_are_compiled_once(fresh: Callable[[], list[Observable]]) -> None:
    first = compile_observables(fresh(), 2)
    hits, misses = _known.hits, _known.misses
    for _ in range(3):
        assert compile_observables(fresh(), 2) is first
    assert (_known.hits, _known.misses) == (hits + 3, misses)


def test_equal_observables_of_other_tensors_share_all_but_these() -> None:
    a, b = Parameter(0.3), Parameter(0.4)
    first = compile_observables([a * Z(0) + 2 * (b * X(1)) + Y(0)], 2)
    second = compile_observables([b * Z(0) + 2 * (a * X(1)) + Y(0)], 2)
    assert second.terms is first.terms
    assert (first.coefficients().tolist(), second.coefficients().tolist()) == (
        [0.3, 0.8, 1.0],
        [0.4, 0.6, 1.0],
    )
    second.coefficients()[0].backward()
    assert a.grad is not None
    assert b.grad is not None
    assert (a.grad.item(), b.grad.item()) == (0.0, 1.0)
    same = compile_observables([a * Z(0) + 2 * (a * X(1)) + Y(0)], 2)
    assert same.coefficients().tolist() == [0.3, 0.6, 1.0]


def test_what_is_kept_by_value_holds_no_tensors() -> None:
    coefficient = Parameter(0.3)
    gone = ref(coefficient)
    compile_observables([coefficient * Y(0)], 1)
    del coefficient
    gc.collect()
    assert gone() is None


def test_terms_are_found_whatever_the_numbers_are() -> None:
    first = compile_observables([Z(0) + 0.25 * X(1)], 2)
    second = compile_observables([Z(0) + 0.75 * X(1)], 2)
    assert second.terms is first.terms
    assert second.constants.tolist() == [1.0, 0.75]
    assert compile_observables([0 * Z(0) + 0.75 * X(1)], 2).terms is not first.terms


@pytest.mark.parametrize(
    "fresh",
    [
        lambda: Hermitian(np.diag([1.0, -1.0]), [0]),
        lambda: SparseHermitian(csr_array(np.diag([1.0, -1.0]))),
        lambda: PauliSum({format(k, "08b").translate({48: "I", 49: "Z"}): 1.0 for k in range(65)}),
    ],
)
def test_matrices_and_long_sums_are_not_kept_by_value(fresh: Callable[[], Observable]) -> None:
    width = fresh().width or 1
    first, second = (compile_observables([fresh()], width) for _ in range(2))
    assert second.terms is not first.terms


def test_equal_observables_of_another_width_are_refused() -> None:
    compile_observables([PauliSum({"ZZ": 1.0})], 2)
    with pytest.raises(ObservableError, match="of width 2"):
        compile_observables([PauliSum({"ZZ": 1.0})], 3)


def test_threads_find_the_same() -> None:
    def compiled(k: int) -> float:
        found = compile_observables([float(k % 300) * Z(0)], 1)
        return float(found.constants.sum())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(compiled, range(3000))) == [float(k % 300) for k in range(3000)]


@pytest.mark.parametrize(
    ("observable", "term"),
    [
        (X(0) @ Y(0), r"1j for the term Z\(0\)"),
        (PauliSum({"XX": 1.0, "ZY": 1e-11j}), r"1e-11j for the term PauliWord\('ZY'\)"),
        (1j * (Parameter(1.0) * Z(1)) + X(0), r"1j for the term Z\(1\)"),
        (1j * Projector("01"), r"1j for the term Projector\('01'\)"),
    ],
)
def test_imaginary_parts_are_refused(observable: Observable, term: str) -> None:
    with pytest.raises(ObservableError, match=rf"real coefficients, got 0\+{term}"):
        compile_observables([Z(0), observable], 2)


def test_imaginary_rounding_is_dropped() -> None:
    compiled = compile_observables([PauliSum({"X": 1e3, "Y": 1 + 1e-10j, "Z": 1e-10j})], 1)
    assert compiled.coefficients().tolist() == [1e3, 1.0]


@pytest.mark.parametrize("factor", [1e200, 1e200j])
def test_products_that_overflow_are_refused(factor: complex) -> None:
    with pytest.raises(ObservableError, match=r"finite coefficients, got .* for the term Z\(0\)"):
        compile_observables([X(0) + factor * (1e200 * Z(0))], 1)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_tensors_must_be_finite_when_they_are_used(value: float) -> None:
    x = Parameter(0.5)
    compiled = compile_observables([X(0) + 2 * (x * Z(0))], 1)
    assert compiled.coefficients().tolist() == [1, 1]
    x.set_(value)
    with pytest.raises(ObservableError, match=r"finite coefficients, got .* for term 1"):
        compiled.coefficients()


def test_widths_must_fit() -> None:
    with pytest.raises(ObservableError, match=r"needs width 2, got PauliWord\('ZZZ'\) of width 3"):
        compile_observables([PauliSum({"ZZZ": 1.0})], 2)
    with pytest.raises(ObservableError, match=r"needs width 2, got .* of width 1"):
        compile_observables([PauliWord("Z")], 2)
    with pytest.raises(QubitError, match=r"needs qubits below 2, got Z\(0\) @ X\(2\)"):
        compile_observables([Z(0) @ X(2)], 2)
    with pytest.raises(QubitError, match=r"needs qubits below 2, got Hermitian"):
        compile_observables([Hermitian(np.eye(4), (0, 2))], 2)


def test_other_things_are_refused() -> None:
    with pytest.raises(ObservableError, match="got str 'ZZ' at position 1"):
        compile_observables([Z(0), "ZZ"], 2)  # type: ignore[list-item]
    with pytest.raises(ObservableError, match="one or more observables, got none"):
        compile_observables([], 2)
