"""Pauli words and sums against Kronecker products, phases included."""

from __future__ import annotations

import numpy as np
import pytest
from dense import PAULI, Matrix, kron
from python_calls import python_calls

from autodiff import Parameter
from circuits.errors import ObservableError, QubitError
from circuits.pauli import I, PauliSum, PauliWord, X, Y, Z, commutator, multiply_words, parse_label

SEEDS = range(12)


def dense_word(label: str) -> Matrix:
    return kron([PAULI[letter] for letter in reversed(label)])


def random_terms(rng: np.random.Generator, num_qubits: int) -> dict[str, complex]:
    labels = {"".join(rng.choice(list("IXYZ"), num_qubits)) for _ in range(6)}
    return {label: complex(*rng.normal(size=2)) for label in sorted(labels)}


def dense_sum(terms: dict[str, complex]) -> Matrix:
    return sum(c * dense_word(label) for label, c in terms.items())  # type: ignore[return-value]


@pytest.mark.parametrize("seed", SEEDS)
def test_algebra_is_that_of_the_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    given = [random_terms(rng, n) for _ in range(3)]
    a, b, c = map(PauliSum, given)
    p, q, r = map(dense_sum, given)
    np.testing.assert_allclose(a.matrix(), p, atol=1e-14)
    np.testing.assert_allclose((a @ b).matrix(), p @ q, atol=1e-12)
    np.testing.assert_allclose(((a + b) @ c).matrix(), (p + q) @ r, atol=1e-12)
    np.testing.assert_allclose((a @ b).adjoint().matrix(), (p @ q).conj().T, atol=1e-12)
    np.testing.assert_allclose(commutator(a, b).matrix(), p @ q - q @ p, atol=1e-12)
    np.testing.assert_allclose((a @ (b @ c) - a @ b @ c).matrix(), 0, atol=1e-12)


@pytest.mark.parametrize("first", "IXYZ")
@pytest.mark.parametrize("second", "IXYZ")
def test_products_of_words_are_exact(first: str, second: str) -> None:
    rng = np.random.default_rng(ord(first) + 7 * ord(second))
    for _ in range(10):
        a, b = first + "".join(rng.choice(list("IXYZ"), 3)), "".join(rng.choice(list("IXYZ"), 3))
        word, phase = multiply_words(parse_label(a), parse_label(b + second))
        wanted = dense_word(a) @ dense_word(b + second)
        np.testing.assert_array_equal(phase * dense_word(word.label(4)), wanted)


def test_a_letter_squared_is_the_identity() -> None:
    for letter in (X, Y, Z, I):
        assert letter(0) @ letter(0) == I(0)
        assert hash(letter(0) @ letter(0)) == hash(I(0))


def test_phases_are_kept() -> None:
    assert X(0) @ Y(0) == 1j * Z(0)
    assert Y(0) @ X(0) == -1j * Z(0)
    assert (X(0) @ Y(0) - Y(0) @ X(0)) / 2j == Z(0)
    assert commutator(X(0), Y(0)) == 2j * Z(0)
    assert commutator(Z(0), Z(1)) == PauliSum()
    assert commutator(X(0) @ X(1), Z(0) @ Z(1)).num_terms == 0


def test_many_letters_y_are_exactly_real() -> None:
    y = PauliWord("Y" * 100)
    assert (y @ y).to_list() == [("I" * 100, 1.0)]
    product = PauliSum({"X" * 101: 1.0}) @ PauliSum({"Z" * 101: 1.0})
    assert product == -1j * PauliSum({"Y" * 101: 1.0})


def test_a_tensor_keeps_its_identity_through_products() -> None:
    theta = Parameter(0.5)
    product = (2 * (theta * X(0))) @ Y(0) / 2j
    assert product == Z(0) * theta
    assert commutator(theta * X(0), Y(0)) / 2j == theta * Z(0)
    square = (theta * X(0)) @ (theta * X(0))
    np.testing.assert_allclose(square.matrix(), 0.25 * np.eye(2))


def test_precedence_is_that_of_the_formula() -> None:
    h = 0.5 * Z(0) @ Z(1) + X(0)
    assert h.to_list() == [("ZZ", 0.5), ("IX", 1.0)]
    assert repr(h) == "0.5 * Z(0) @ Z(1) + X(0)"
    assert eval(repr(h)) == h


def test_labels_have_qubit_0_on_the_right() -> None:
    assert PauliSum({"ZIX": 2.0}).to_list() == [("ZIX", 2.0)]
    np.testing.assert_array_equal(PauliWord("ZIX").matrix(), (Z(2) @ X(0)).matrix(3))
    assert PauliWord("ZIX").letters == {0: "X", 2: "Z"}
    assert PauliWord({0: "X", 2: "Z", 5: "I"}) == X(0) @ Z(2)
    assert (X(0) @ Z(2)).to_list(4) == [("IZIX", 1.0)]


def test_lists_give_the_sum_back() -> None:
    h = PauliSum.from_list([("ZI", 0.5), ("XX", Parameter(0.3)), ("IY", 2j)])
    assert PauliSum.from_list(h.to_list()) == h


def test_equal_labels_add_up_before_small_terms_are_dropped() -> None:
    h = PauliSum.from_list([("Z", 0.6e-7), ("Z", 0.6e-7), ("X", 0.6e-7)])
    assert h.simplify(1e-7) == PauliSum({"Z": 1.2e-7})


def test_identity_and_zero_are_observables() -> None:
    np.testing.assert_array_equal(I(0).matrix(2), np.eye(4))
    np.testing.assert_array_equal(PauliSum().matrix(1), np.zeros((2, 2)))
    assert PauliSum({}) == PauliSum.from_list([]) == PauliSum() == Z(0) - Z(0)
    assert I(3) == I(0)


@pytest.mark.parametrize(
    ("observable", "text"),
    [
        (PauliSum({"ZZ": 1.0, "IX": -0.5j}), "PauliSum({'ZZ': 1.0, 'IX': -0.5j})"),
        (PauliSum(), "PauliSum()"),
        (PauliWord("XZ"), "PauliWord('XZ')"),
        (I(2), "I(0)"),
        (Z(1) - 2 * Y(0), "Z(1) - 2.0 * Y(0)"),
        (
            PauliSum.from_list([(f"{k:04b}".translate({48: "I", 49: "Z"}), k) for k in range(9)]),
            "'IZZZ': 7.0, ... (9 terms)})",
        ),
    ],
)
def test_repr(observable: PauliSum, text: str) -> None:
    assert repr(observable).endswith(text)


@pytest.mark.parametrize("label", ["", "xz", "X0Z", "Z Z", "Z_Z", "-Z", 3, None, ("Z",)])
def test_labels_of_other_letters_are_refused(label: object) -> None:
    with pytest.raises(ObservableError, match="a Pauli label needs letters I, X, Y, Z, got"):
        PauliSum.from_list([(label, 1.0)])  # type: ignore[list-item]


@pytest.mark.parametrize("letters", [3, ["X"], None])
def test_a_word_needs_letters(letters: object) -> None:
    with pytest.raises(ObservableError, match="PauliWord needs a label or letters by qubit, got"):
        PauliWord(letters)  # type: ignore[arg-type]


def test_wrong_terms_are_refused() -> None:
    with pytest.raises(ObservableError, match="labels of one length, got 'Z' after labels of 2"):
        PauliSum({"ZZ": 1.0, "Z": 1.0})
    with pytest.raises(ObservableError, match="a coefficient needs a number"):
        PauliSum({"ZZ": "1"})  # type: ignore[dict-item]
    with pytest.raises(ObservableError, match=r"needs a mapping .* got list"):
        PauliSum([("ZZ", 1.0)])  # type: ignore[arg-type]
    with pytest.raises(ObservableError, match=r"pairs, got 'ZZ'"):
        PauliSum.from_list({"ZZ": 1.0})  # type: ignore[arg-type]
    with pytest.raises(ObservableError, match="one letter a qubit, got 'XX' for qubit 1"):
        PauliWord({1: "XX"})


@pytest.mark.parametrize("qubit", [-1, 0.5, "0"])
@pytest.mark.parametrize("letter", [I, X, Y, Z])
def test_wrong_qubits_are_refused(letter: type[PauliWord], qubit: object) -> None:
    with pytest.raises(QubitError, match=r"an observable needs .*qubits"):
        letter(qubit)  # type: ignore[arg-type]


def test_labels_fix_the_width_of_products() -> None:
    assert (PauliWord("ZZ") @ X(1)).width == 2
    with pytest.raises(ObservableError, match="need one width, got 2 and 1"):
        PauliWord("ZZ") @ PauliWord("Z")
    with pytest.raises(QubitError, match="got qubit 2"):
        PauliWord("ZZ") @ X(2)
    with pytest.raises(ObservableError, match="needs width 3"):
        PauliWord("ZZ").to_list(3)


def test_terms_cost_a_few_calls_each_however_many_there_are() -> None:
    rng = np.random.default_rng(5)

    def calls(count: int) -> int:
        letters = rng.choice(np.array(list("IXYZ")), (count, 20))
        terms = [("".join(row), 0.5) for row in letters]
        return python_calls(lambda: 2 * PauliSum.from_list(terms))

    few, many = calls(1_000), calls(11_000)
    assert (many - few) / 10_000 < 25


def test_a_hundred_thousand_terms() -> None:
    letters = np.random.default_rng(5).choice(np.array(list("IXYZ")), (100_000, 20))
    terms = [("".join(row), 0.5) for row in letters]
    h = 2 * PauliSum.from_list(terms)
    assert h.num_terms == len({label for label, _ in terms})
