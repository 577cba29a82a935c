"""Public bug reports of neighbouring tools, O20 to O22: observables."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import dense
import numpy as np
import pytest

from autodiff import Parameter, grad
from circuits import Circuit, Hermitian, I, ObservableError, PauliSum, PauliWord, X, Y, Z

Close = Callable[..., None]

LETTERS = {"I": I, "X": X, "Y": Y, "Z": Z}


def test_o20_square_of_a_word(engine: str, close: Close) -> None:
    """PennyLane 2866: Z Z on one qubit is the identity, not Z."""
    close(Circuit(1).x(0).expectation(Z(0) @ Z(0), engine=engine), 1.0)
    for value in (0.0, 0.3, 2.5):
        theta = Parameter(value)
        f = Circuit(1).rx(theta, 0).expectation(Z(0) @ Z(0), engine=engine)
        close(f, 1.0)
        close(grad(f, theta), 0.0)
    with pytest.raises(ObservableError, match="Hermitian"):
        Circuit(1).expectation(X(0) @ Y(0), engine=engine)


def test_o21_identity(engine: str, close: Close) -> None:
    """Qsim 565: a word of identities alone is no empty operator."""
    close(Circuit(1).expectation(I(0), engine=engine), 1.0)
    close(Circuit(2).h(0).expectation(PauliSum({"II": 1.0}), engine=engine), 1.0)
    close(Circuit(2).h(0).expectation(PauliSum(), engine=engine), 0.0)
    close(Circuit(0).expectation(I(0), engine=engine), 1.0)
    theta = Parameter(0.3)
    f = Circuit(1).rx(theta, 0).expectation(0.5 * I(0) + Z(0), engine=engine)
    close(f, 1.4553364891)
    close(grad(f, theta), -0.2955202067)
    factor = Parameter(2.0)
    f = Circuit(1).x(0).expectation(factor * I(0) + Z(0), engine=engine)
    close(f, 1.0)
    close(grad(f, factor), 1.0)
    close(Circuit(1).h(0).expectation(2 * I(0), shots=10, seed=0, engine=engine), 2.0)


@pytest.mark.parametrize("num_qubits", [1, 2, 5])
def test_o21_identity_rotation_is_a_phase(engine: str, close: Close, num_qubits: int) -> None:
    """PennyLane 856: a rotation about the identity is exp(-i t / 2); under a control it counts."""
    t = Parameter(0.8)
    word = Circuit(num_qubits).append(
        "pauli_rotation", range(num_qubits), t, payload="I" * num_qubits
    )
    close(word.statevector(engine=engine)[0], np.exp(-0.4j))
    f = Circuit(num_qubits + 1).h(0).compose(word.control()).expectation(X(0), engine=engine)
    close(f, np.cos(0.4))
    close(grad(f, t), -0.5 * np.sin(0.4))


def test_o22_phase_of_products(engine: str, close: Close) -> None:
    """Qiskit 5603: products keep their factors i and -i."""
    commutator = (X(0) @ Y(0) - Y(0) @ X(0)) / 2j
    assert commutator == Z(0)
    close(Circuit(1).expectation(commutator, engine=engine), 1.0)
    assert Y(0) @ X(0) == -1j * Z(0)


@pytest.mark.parametrize("seed", range(20))
def test_o20_o22_random_products(engine: str, close: Close, seed: int) -> None:
    """Products and commutators of random words are those of their matrices, however written."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    words = ["".join(rng.choice(list("IXYZ"), n)) for _ in range(rng.integers(2, 6))]
    matrices = [dense.kron([dense.PAULI[letter] for letter in word[::-1]]) for word in words]
    expected = reduce(np.matmul, matrices)
    made = reduce(lambda a, b: a @ b, map(PauliWord, words))
    close(made.matrix(n), expected)
    by_letters = [LETTERS[c](n - 1 - k) for word in words for k, c in enumerate(word)]
    close(reduce(lambda a, b: a @ b, by_letters).matrix(n), expected)
    a, b = PauliWord(words[0]), PauliWord(words[1])
    hermitian = 1j * (a @ b - b @ a)
    close(hermitian.matrix(n), 1j * (matrices[0] @ matrices[1] - matrices[1] @ matrices[0]))

    state = rng.normal(size=1 << n) + 1j * rng.normal(size=1 << n)
    f = Circuit(n).expectation(hermitian, initial_state=state, engine=engine)
    close(
        f, np.vdot(state, hermitian.matrix(n) @ state).real, atol=1e-9 * np.vdot(state, state).real
    )


# -- extras ----------------------------------------------------------------------------------------


def test_extra_simplify_adds_up_first() -> None:
    """Qiskit 14194: two terms below the tolerance are added before small ones are dropped."""
    twice = PauliSum.from_list([("Z", 0.6e-7), ("Z", 0.6e-7)])
    assert twice.simplify(1e-7) == PauliSum({"Z": 1.2e-7})
    assert (twice - twice).simplify(1e-7) == PauliSum({"Z": 0.0})


def test_extra_hundred_letters_y() -> None:
    """Qiskit 13522: i**k is taken from k mod 4, so the coefficient is exactly real."""
    for count in (96, 97, 98, 99, 100):
        product = PauliWord("X" * count) @ PauliWord("Z" * count)
        ((label, coefficient),) = product.to_list()
        assert label == "Y" * count
        assert coefficient == [1, -1j, -1, 1j][count % 4]
    y = reduce(lambda a, b: a @ b, [Y(q) for q in range(100)])
    ((label, coefficient),) = y.to_list()
    assert (label, coefficient, type(coefficient)) == ("Y" * 100, 1.0, float)


@pytest.mark.parametrize("qubits", [(0, 2), (2, 0), (1, 2), (2, 1)])
def test_extra_order_of_an_observables_qubits(
    engine: str, close: Close, qubits: tuple[int, int]
) -> None:
    """Qiskit 6303: the list of qubits counts, and so does its order."""
    circuit = Circuit(3).ry(0.3, 0).ry(0.7, 1).ry(1.1, 2).cx(0, 1)
    first, second = qubits
    matrix = np.kron(dense.PAULI["Z"], dense.PAULI["X"])  # X on the first listed qubit
    found = circuit.expectation(Hermitian(matrix, qubits), engine=engine)
    word = X(first) @ Z(second)
    close(found, circuit.expectation(word, engine=engine).item())
    state = circuit.statevector(engine=engine).numpy()
    close(found, np.vdot(state, word.matrix(3) @ state).real)


def test_extra_matrix_observables_have_no_shots(engine: str) -> None:
    """PennyLane 2761: eigenvalues have no natural order, so nothing is drawn by their position."""
    with pytest.raises(ObservableError, match="shots need Pauli words and projectors"):
        Circuit(1).expectation(Hermitian([[0, 1], [1, 0]], 0), shots=10, seed=0, engine=engine)
