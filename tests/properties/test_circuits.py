"""Random circuits and the algebra of circuits, against dense matrices and Qiskit."""

from __future__ import annotations

import dense
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from qiskit.quantum_info import Operator
from strategies import DrawnCircuit, circuits

from circuits import Circuit, from_qiskit, to_qiskit

TOLERANCE = 1e-11
"""Some 24 gates of four qubits, each of which rounds by less than 1e-14."""


def matrix(circuit: Circuit, engine: str = "numba") -> NDArray[np.complex128]:
    return circuit.unitary(engine=engine).numpy()


def same(found: NDArray[np.complex128], expected: NDArray[np.complex128]) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("engine", ["numba", "reference"])
@settings(max_examples=120)
@given(drawn=circuits())
def test_matrix_is_the_product_of_dense_matrices(engine: str, drawn: DrawnCircuit) -> None:
    same(matrix(drawn.circuit, engine), drawn.matrix())


@settings(max_examples=120)
@given(circuits(), st.integers(0, 99))
def test_any_initial_state(drawn: DrawnCircuit, seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = rng.normal(size=(2, 2 << drawn.circuit.num_qubits)).view(complex)
    found = drawn.circuit.statevector(initial_state=start).numpy()
    same(found, start @ drawn.matrix().T)


@settings(max_examples=80)
@given(circuits())
def test_matrix_is_qiskits_there_and_back(drawn: DrawnCircuit) -> None:
    foreign = to_qiskit(drawn.circuit)
    expected = drawn.matrix()
    same(Operator(foreign).data, expected)
    same(matrix(from_qiskit(foreign)), expected)


# -- algebra ---------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(circuits())
def test_inverse_is_the_adjoint(drawn: DrawnCircuit) -> None:
    inverse = drawn.circuit.inverse()
    same(matrix(inverse), drawn.matrix().conj().T)
    same(matrix(inverse.inverse()), drawn.matrix())
    same(matrix(drawn.circuit.copy().compose(inverse)), np.eye(len(drawn.matrix())))


@settings(max_examples=80)
@given(circuits(st.integers(1, 3)), circuits(st.just(4)), st.permutations(range(4)))
def test_compose_is_the_product_on_the_named_qubits(
    inner: DrawnCircuit, outer: DrawnCircuit, places: list[int]
) -> None:
    chosen = places[: inner.circuit.num_qubits]
    composed = outer.circuit.copy().compose(inner.circuit, chosen)
    same(matrix(composed), dense.embed(inner.matrix(), chosen, 4) @ outer.matrix())


@settings(max_examples=60)
@given(circuits(most=4), st.integers(-3, 3))
def test_power_and_repeat_are_those_of_the_matrix(drawn: DrawnCircuit, exponent: int) -> None:
    expected = np.linalg.matrix_power(drawn.matrix(), exponent)
    same(matrix(drawn.circuit.power(exponent)), expected)
    if exponent >= 0:
        same(matrix(drawn.circuit.repeat(exponent)), expected)


@settings(max_examples=80)
@given(circuits(st.integers(1, 3), most=4), st.integers(1, 2), st.data())
def test_control_acts_on_its_block_alone(
    drawn: DrawnCircuit, count: int, data: st.DataObject
) -> None:
    state = data.draw(st.integers(0, (1 << count) - 1))
    width = count + drawn.circuit.num_qubits
    targets = range(count, width)
    expected = dense.embed(drawn.matrix(), targets, width, range(count), state)
    controlled = drawn.circuit.control(count, state)
    same(matrix(controlled), expected)
    same(matrix(controlled.inverse()), expected.conj().T)
    same(matrix(drawn.circuit.inverse().control(count, state)), expected.conj().T)


@settings(max_examples=60)
@given(circuits(), circuits())
def test_counts_of_gates_add_up(first: DrawnCircuit, second: DrawnCircuit) -> None:
    width = max(first.circuit.num_qubits, second.circuit.num_qubits)
    both = Circuit(width).compose(first.circuit).compose(second.circuit)
    assert both.size() == first.circuit.size() + second.circuit.size()
    assert both.depth() <= first.circuit.depth() + second.circuit.depth()
    assert sum(both.count_ops().values()) == len(both)
    assert first.circuit.inverse().depth() == first.circuit.depth()
