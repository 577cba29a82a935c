"""Linear combinations of all kinds: a vector space of matrices, and what it refuses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from scipy.sparse import csr_array

from autodiff import Parameter
from circuits.errors import CapacityError, ObservableError, QubitError
from circuits.observable_base import Observable, qubit_tuple
from circuits.observables import Hermitian, Projector, SparseHermitian
from circuits.pauli import I, PauliSum, PauliWord, X, Y, Z

SWAP = np.eye(4)[[0, 2, 1, 3]]

MAKERS: dict[str, Callable[[], Observable]] = {
    "sum": lambda: PauliSum({"XY": 0.5, "ZI": -1.5}),
    "word": lambda: PauliWord("YZ"),
    "letter": lambda: Y(1),
    "projector": lambda: Projector("01"),
    "local projector": lambda: Projector("1", 1),
    "hermitian": lambda: Hermitian([[1, 2j], [-2j, 3]], 1),
    "sparse": lambda: SparseHermitian(csr_array(SWAP)),
    "mixture": lambda: 0.5 * Projector("01") + Z(0) - 2 * Hermitian(SWAP, (1, 0)),
    "zero": PauliSum,
}


@pytest.fixture(params=MAKERS)
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.mark.parametrize("other", MAKERS)
def test_arithmetic_is_that_of_the_matrices(kind: str, other: str) -> None:
    a, b = MAKERS[kind](), MAKERS[other]()
    m, w = a.matrix(2), b.matrix(2)
    np.testing.assert_allclose((a + b).matrix(2), m + w)
    np.testing.assert_allclose((a - b).matrix(2), m - w)
    np.testing.assert_allclose(((1 + 2j) * a).matrix(2), (1 + 2j) * m)
    np.testing.assert_allclose((a * 3).matrix(2), 3 * m)
    np.testing.assert_allclose((a / 4j + +b).matrix(2), m / 4j + w)
    np.testing.assert_allclose((-a).matrix(2), -m)
    np.testing.assert_allclose((1j * a).adjoint().matrix(2), -1j * m)


def test_values_compare_by_what_they_are(kind: str) -> None:
    a = MAKERS[kind]()
    same = MAKERS[kind]()
    assert a == same
    assert hash(a) == hash(same)
    assert a + a == 2 * a
    assert hash(a + a) == hash(2 * a)
    assert (a != 2 * a) is (kind != "zero")
    assert a - a == 0 * a
    assert a != 1


def test_copies_are_equal(kind: str) -> None:
    a = MAKERS[kind]()
    a.memo["derived"] = kind
    for twin in (copy.deepcopy(a), pickle.loads(pickle.dumps(a))):
        assert twin == a
        assert twin.memo == {}


def test_arithmetic_changes_no_operand(kind: str) -> None:
    a = MAKERS[kind]()
    _ = a + a, 2 * a, -a, a / 2, a.adjoint(), a.simplify(10.0)
    assert a == MAKERS[kind]()


def test_sum_of_many_starts_from_nothing() -> None:
    total = sum(0.1 * Z(q) for q in range(3))
    assert total == PauliSum() + 0.1 * Z(0) + 0.1 * Z(1) + 0.1 * Z(2)
    assert 0 - Z(0) == -Z(0)
    with pytest.raises(ObservableError, match=r"got float 1\.5.*multiple of I\(0\)"):
        1.5 - Z(0)
    with pytest.raises(ObservableError, match=r"a sum needs observables, got int 1"):
        Z(0) + 1
    with pytest.raises(ObservableError, match=r"a sum needs observables, got str 'Z'"):
        Z(0) - "Z"


@pytest.mark.parametrize("factor", [np.float64(2), np.float32(2), np.int64(2), np.array(2.0)])
def test_numpy_scalars_stand_on_both_sides(kind: str, factor: np.generic) -> None:
    a = MAKERS[kind]()
    for product in (factor * a, a * factor, a / (1 / factor)):
        assert isinstance(product, Observable)
        assert product == 2 * a


def test_tensors_stand_on_both_sides(kind: str) -> None:
    theta = Parameter(0.25)
    a = MAKERS[kind]()
    for product in (theta * a, a * theta, a / (1 / theta)):
        assert isinstance(product, Observable)
        np.testing.assert_allclose(product.matrix(2), a.matrix(2) / 4)


def test_wrong_factors_are_refused(kind: str) -> None:
    a = MAKERS[kind]()
    with pytest.raises(ObservableError, match="a coefficient needs a number"):
        a * a
    with pytest.raises(ObservableError, match="a coefficient needs a number"):
        "2" * a
    with pytest.raises(ZeroDivisionError):
        (a + Z(0)) / 0


def test_division_rounds_once() -> None:
    assert (3 * Z(0)) / 10 == 0.3 * Z(0)
    assert 3 * (1 / 10) != 0.3


def test_products_are_for_pauli_sums() -> None:
    for a, b in ((Projector("01"), Z(0)), (Z(0), Projector("01")), (Hermitian(SWAP, (0, 1)),) * 2):
        with pytest.raises(ObservableError, match="a product needs two Pauli sums"):
            a @ b


def test_what_a_combination_is() -> None:
    assert type(Z(0) + 2 * X(1)) is PauliSum
    assert type(Z(0) + Projector("01")) is Observable
    assert type(Projector("01") + Z(0)) is Observable
    assert type(2 * Projector("01")) is Observable
    with pytest.raises(ObservableError, match="an observable needs a kind"):
        Observable()


def test_width_is_common() -> None:
    assert (Z(0) + PauliSum({"ZZ": 1.0})).width == 2
    assert (Z(0) + X(4)).width is None
    assert PauliSum({"IZ": 1.0}) != Z(0)
    with pytest.raises(ObservableError, match="need one width, got 2 and 3"):
        Projector("01") + PauliSum({"ZZZ": 1.0})
    with pytest.raises(QubitError, match=r"an observable of 2 qubits needs .* got qubit 4"):
        X(4) + Projector("01")


def test_matrix_checks_the_width() -> None:
    assert (Z(0) + X(2)).matrix().shape == (8, 8)
    assert I(0).matrix().shape == (2, 2)
    assert Projector("01").matrix().shape == (4, 4)
    with pytest.raises(ObservableError, match=r"needs width 3, got PauliWord\('ZX'\) of width 2"):
        PauliSum({"ZX": 1.0}).matrix(3)
    with pytest.raises(ObservableError, match="needs width 3, got SparseHermitian"):
        SparseHermitian(csr_array(SWAP)).matrix(3)
    with pytest.raises(QubitError, match=r"needs qubits below 2, got Z\(2\)"):
        (X(0) + Z(2)).matrix(2)


def test_matrix_that_does_not_fit_is_refused_before_it_is_made() -> None:
    for width in (24, 60):
        with pytest.raises(CapacityError, match=f"a matrix of {width} qubits needs .*B of memory"):
            (Z(0) + X(width - 1)).matrix()


def test_simplify_drops_what_is_small_after_adding() -> None:
    small = 0.6e-7 * Projector("1", 0)
    assert (small + small).simplify(1e-7) == 1.2e-7 * Projector("1", 0)
    assert small.simplify(1e-7).num_terms == 0
    theta = Parameter(0.0)
    assert (theta * Z(0) + 1e-9 * X(5)).simplify(1e-7).num_terms == 1


@pytest.mark.parametrize(
    ("observable", "text"),
    [
        (0.5 * Projector("01") - Z(0), "0.5 * Projector('01') - 1.0 * PauliWord('IZ')"),
        (Projector("01", (2, 5)) - 1j * X(1), "Projector('01', (2, 5)) - 1j * X(1)"),
        ((0 * Projector("1", 0)).simplify(), "0.0 * I(0)"),
        (Parameter(1.0, name="g") * Projector("1", 0), "g * Projector('1', (0,))"),
        (sum(Z(q) for q in range(10)), "Z(7) + ... (10 terms)"),
    ],
)
def test_repr(observable: Observable, text: str) -> None:
    assert repr(observable).endswith(text)


def test_qubits_are_distinct_numbers_from_zero() -> None:
    assert qubit_tuple(np.array([2, 0])) == (2, 0)
    assert qubit_tuple(np.int64(2)) == (2,)
    for wrong in (0.5, "01", [0, None], [[0]], None):
        with pytest.raises(QubitError, match="an observable needs integer qubits, got"):
            qubit_tuple(wrong)
    for wrong in ((0, 0), -1, ()):
        with pytest.raises(QubitError, match="one or more different qubits"):
            qubit_tuple(wrong)
