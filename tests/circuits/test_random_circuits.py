"""Two hundred random circuits, and every gate, against exact dense matrices and Qiskit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import qiskit.circuit.library as library
from gate_rows import every_row
from qiskit import QuantumCircuit
from qiskit.quantum_info import Pauli, Statevector
from random_circuits import Case, exact, gradient, loss, random_case
from scipy.linalg import expm

from circuits.gate_row import Gate, Payload
from circuits.gates import GATES
from circuits.instruction import Instruction

ENGINES = ("reference", "numba")
SEEDS = range(200)
BLOCK = 20
"""How many circuits a test runs: one test each would cost more than the circuits."""


def check(case: Case, engine: str) -> None:
    states, values, by_parameter, by_input = exact(case)
    found, total, given = loss(case, engine)
    shape = () if given is None or given.ndim == 1 else (len(given),)
    assert found.shape == (*shape, len(case.observables))
    scale = max(1.0, np.abs(values).max())
    np.testing.assert_allclose(
        found.numpy(), values.reshape(found.shape), rtol=0, atol=1e-12 * scale
    )

    for p in case.parameters:
        p.zero_grad()
    total.backward()
    size = max(1.0, np.abs(by_parameter).max(), np.abs(by_input).max())
    np.testing.assert_allclose(gradient(case.parameters), by_parameter, rtol=0, atol=1e-9 * size)
    if given is not None:
        assert given.grad is not None
        expected = by_input.reshape(given.shape)
        np.testing.assert_allclose(given.grad.numpy(), expected, rtol=0, atol=1e-9 * size)

    inputs = None if given is None else {"x": given}
    state = case.circuit.statevector(inputs=inputs, engine=engine).numpy()
    np.testing.assert_allclose(state, states.reshape(state.shape), rtol=0, atol=1e-12)


def check_single_precision(case: Case, engine: str) -> None:
    _, values, by_parameter, _ = exact(case)
    found, total, _ = loss(case, engine, np.complex64)
    assert found.dtype == np.float32
    for p in case.parameters:
        p.zero_grad()
    total.backward()
    scale = max(1.0, np.abs(values).max())
    np.testing.assert_allclose(
        found.numpy(), values.reshape(found.shape), rtol=0, atol=1e-5 * scale
    )
    size = max(1.0, np.abs(by_parameter).max(), np.abs(case.weights).sum())
    np.testing.assert_allclose(gradient(case.parameters), by_parameter, rtol=0, atol=1e-5 * size)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("start", SEEDS[::BLOCK])
def test_values_gradients_and_states_are_those_of_dense_matrices(start: int, engine: str) -> None:
    for seed in range(start, start + BLOCK):
        check(random_case(seed), engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("start", SEEDS[::BLOCK])
def test_single_precision_is_close(start: int, engine: str) -> None:
    for seed in range(start, start + BLOCK):
        check_single_precision(random_case(seed), engine)


@pytest.mark.parametrize("engine", ENGINES)
@every_row
def test_every_gate(row: Gate, engine: str) -> None:
    found = 0
    for seed in range(200, 260):
        if random_width(seed) >= 4:
            turns = [GATES["u"], GATES["ry"], GATES["rxx"]]
            check(random_case(seed, [*turns, row, *turns]), engine)
            found += 1
        if found == 3:
            return
    pytest.fail("no seed gave a circuit that is wide enough")


def random_width(seed: int) -> int:
    return int(np.random.default_rng(seed).integers(1, 7))


def to_qiskit(instruction: Instruction, angles: list[float]) -> Any:
    """The same gate of Qiskit's library, its controls and their state included."""
    row = instruction.gate
    row = row if row.base is None else GATES[row.base]
    payload, cls = instruction.payload, getattr(library, row.qiskit or "UnitaryGate")
    if row.name == "cu":
        return _controlled_u(angles, instruction)
    if row.payload is Payload.LABEL and row.params:
        # PauliProductRotationGate warns of its sparse exponential, and its definition loses phases.
        gate = library.UnitaryGate(expm(-0.5j * angles[0] * Pauli(payload).to_matrix()))
    elif row.payload is Payload.IMAGES:
        matrix = np.zeros((len(payload), len(payload)))
        matrix[payload, range(len(payload))] = 1
        gate = cls(matrix)
    elif row.payload is not None:
        gate = cls(list(payload) if row.payload is Payload.DIAGONAL else payload)
    else:
        gate = cls(*angles)
    if not instruction.controls:
        return gate
    return gate.control(
        len(instruction.controls), ctrl_state=instruction.ctrl_state, annotated=True
    )


def _controlled_u(angles: list[float], instruction: Instruction) -> Any:
    circuit = QuantumCircuit(1, global_phase=angles[3])
    circuit.u(*angles[:3], 0)
    count = len(instruction.controls)
    return circuit.to_gate().control(count, ctrl_state=instruction.ctrl_state, annotated=True)


@pytest.mark.parametrize("start", SEEDS[::BLOCK])
def test_states_are_qiskits_with_the_global_phase(start: int) -> None:
    for seed in range(start, start + BLOCK):
        case = random_case(seed)
        (point, *_) = case.points()
        foreign = QuantumCircuit(case.circuit.num_qubits)
        for gate, instruction in zip(case.gates, case.circuit, strict=True):
            angles = gate.values(point).tolist()
            foreign.append(to_qiskit(instruction, angles), list(instruction.qubits))
        inputs = None if case.inputs is None else {"x": point[5:]}
        state = case.circuit.statevector(inputs=inputs, engine="reference").numpy()
        np.testing.assert_allclose(state, Statevector(foreign).data, rtol=0, atol=1e-10)
