"""The algebra of observables is that of their matrices, and survives what keeps them."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import random_hermitian
from strategies import DrawnCircuit, circuits, pauli_sums

from circuits import Hermitian, PauliSum, Projector
from circuits.interop.qiskit import observables as qiskit_observables
from circuits.pauli import commutator

EIGHTHS = st.integers(-16, 16).map(lambda k: k / 8)
"""Multiples of 1/8: their sums and products are exact, so that equality may be asked for."""


@settings(max_examples=100)
@given(pauli_sums(), pauli_sums(), EIGHTHS)
def test_sums_and_products_are_those_of_the_matrices(
    a: PauliSum, b: PauliSum, factor: float
) -> None:
    x, y = a.matrix(), b.matrix()
    assert np.array_equal((a + b).matrix(), x + y)
    assert np.array_equal((a - b).matrix(), x - y)
    assert np.array_equal((factor * a).matrix(), factor * x)
    assert np.array_equal((a / 4).matrix(), x / 4)
    assert np.array_equal((a @ b).matrix(), x @ y)
    assert np.array_equal(commutator(a, b).matrix(3), x @ y - y @ x)
    assert np.array_equal((1j * a @ b).adjoint().matrix(), (1j * x @ y).conj().T)


@settings(max_examples=100)
@given(pauli_sums(), pauli_sums(), pauli_sums())
def test_laws(a: PauliSum, b: PauliSum, c: PauliSum) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert (a @ b) @ c == a @ (b @ c)
    assert a @ (b + c) == a @ b + a @ c
    assert (a @ b).adjoint() == b.adjoint() @ a.adjoint()
    assert -1 * (-a) == a
    assert (a - a).simplify(0.0).num_terms == 0
    assert hash(a + b) == hash(b + a)


@settings(max_examples=100)
@given(pauli_sums())
def test_copies_are_equal(a: PauliSum) -> None:
    assert PauliSum.from_list(a.to_list()) == a
    assert pickle.loads(pickle.dumps(a)) == a
    assert eval(repr(a), {"PauliSum": PauliSum}) == a
    foreign = qiskit_observables.observable_to_qiskit(a)
    assert np.array_equal(foreign.to_matrix(), a.matrix())
    assert PauliSum.from_qiskit(foreign) == a


@settings(max_examples=80)
@given(circuits(st.just(3)), pauli_sums(), EIGHTHS, st.integers(0, 7), st.integers(0, 99))
def test_expectations_are_linear_and_those_of_the_matrices(
    drawn: DrawnCircuit, a: PauliSum, factor: float, bits: int, seed: int
) -> None:
    block = random_hermitian(np.random.default_rng(seed), 4)
    parts = [a, Projector(format(bits, "03b")), Hermitian(block, [2, 0])]
    total = factor * parts[0] + parts[1] - parts[2]
    state = drawn.matrix()[:, 0]
    exact = [np.vdot(state, x.matrix(3) @ state).real for x in (*parts, total)]
    found = drawn.circuit.expectation([*parts, total]).numpy()
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found[3], factor * found[0] + found[1] - found[2], atol=1e-11)
    variance = drawn.circuit.variance(total).item()
    square = np.linalg.norm(total.matrix(3) @ state) ** 2
    np.testing.assert_allclose(variance, square - exact[3] ** 2, rtol=0, atol=1e-9)
    assert variance > -1e-9
