"""The gate table: every row against Qiskit, its inverse and its claims."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import dense
import numpy as np
import pytest
import qiskit.circuit.library as library
from gate_rows import (
    ROWS,
    angles_of,
    base_matrix,
    controls_of,
    every_row,
    payload_of,
    rng_of,
    size_of,
)
from numpy.typing import NDArray
from qiskit import QuantumCircuit
from qiskit.circuit import Gate as QiskitGate
from qiskit.quantum_info import Operator, Pauli

from circuits.errors import GateError
from circuits.gate_row import Gate, Payload
from circuits.gates import GATES, gate, inverted
from circuits.lowering import lower
from circuits.plan.steps import Plan, Structure

NOT_UNITARY = {"delay", "reset", "measure"}
has_qiskit_class = pytest.mark.parametrize(
    "row", [row for row in ROWS if row.qiskit], ids=lambda row: row.name
)


def qiskit_gate(row: Gate) -> QiskitGate:
    """The same gate from Qiskit, by the class that the row names."""
    cls, angles, payload = getattr(library, row.qiskit), angles_of(row), payload_of(row)
    if row.payload is Payload.LABEL and row.params:
        return cls(Pauli(payload), *angles)
    if row.payload is not None:
        return cls(payload.tolist() if row.payload is Payload.DIAGONAL else payload)
    if row.num_controls is None:
        return cls(*angles, num_ctrl_qubits=controls_of(row))
    return cls(*angles)


def full_matrix(
    row: Gate, num_qubits: int, controls: list[int], targets: list[int], state: int | None = None
) -> NDArray[np.complex128]:
    """Matrix of the row, with its operands, on a circuit."""
    steps = lower(row, targets, controls, state, angles_of(row), payload_of(row))
    return dense.plan_matrix(Plan(num_qubits, steps, 0), np.zeros(0))


def test_table_has_all_of_qiskits_standard_gates() -> None:
    standard = library.get_standard_gate_name_mapping().keys() - NOT_UNITARY
    assert len(standard) > 50
    assert standard <= GATES.keys()


@has_qiskit_class
def test_matrix_is_qiskits(row: Gate) -> None:
    controls, size = controls_of(row), size_of(row)
    num_qubits = controls + size
    actual = full_matrix(row, num_qubits, list(range(controls)), list(range(controls, num_qubits)))
    expected = Operator(qiskit_gate(row)).data
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("state", range(4))
@has_qiskit_class
def test_more_controls_with_states_on_shuffled_qubits(row: Gate, state: int) -> None:
    own, size = controls_of(row), size_of(row)
    num_qubits = 2 + own + size
    qubits = rng_of(row).permutation(num_qubits).tolist()
    whole = Operator(qiskit_gate(row)).data
    expected = dense.embed(whole, qubits[2:], num_qubits, qubits[:2], state)
    all_states = state | ((1 << own) - 1) << 2
    actual = full_matrix(row, num_qubits, qubits[: 2 + own], qubits[2 + own :], all_states)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("state", range(4))
@pytest.mark.parametrize("name", ["x", "ry", "u", "swap", "rzx", "cp"])
def test_control_states_are_read_as_qiskit_reads_them(name: str, state: int) -> None:
    row = gate(name)
    own, size = controls_of(row), size_of(row)
    num_qubits = 2 + own + size
    qubits = rng_of(row).permutation(num_qubits).tolist()
    circuit = QuantumCircuit(num_qubits)
    circuit.append(qiskit_gate(row).control(2, ctrl_state=state, annotated=True), qubits)
    all_states = state | ((1 << own) - 1) << 2
    actual = full_matrix(row, num_qubits, qubits[: 2 + own], qubits[2 + own :], all_states)
    np.testing.assert_allclose(actual, Operator(circuit).data, rtol=0, atol=1e-12)


def test_basis_permutation_moves_basis_states() -> None:
    matrix = base_matrix(gate("basis_permutation"), (), np.array([2, 0, 3, 1, 5, 4, 7, 6]))
    assert matrix.argmax(axis=0).tolist() == [2, 0, 3, 1, 5, 4, 7, 6]


@every_row
def test_matrix_is_unitary(row: Gate) -> None:
    matrix = base_matrix(row, angles_of(row), payload_of(row))
    identity = np.eye(len(matrix))
    np.testing.assert_allclose(matrix @ matrix.conj().T, identity, rtol=0, atol=1e-14)


@every_row
def test_inverse_undoes(row: Gate) -> None:
    angles, payload = tuple(angles_of(row)), payload_of(row)
    matrix = base_matrix(row, angles, payload)
    undone = base_matrix(*inverted(row, angles, payload)) @ matrix
    np.testing.assert_allclose(undone, np.eye(len(matrix)), rtol=0, atol=1e-14)


@every_row
def test_inverse_keeps_controls(row: Gate) -> None:
    """A named inverse acts on the same controls: its row has as many, or none of its own."""
    other = inverted(row, tuple(angles_of(row)), payload_of(row))[0]
    assert other.num_qubits in (row.num_qubits, None)
    assert other.num_controls in (row.num_controls, 0)


class Symbol:
    """An angle that can only be negated and shifted by numbers, as a symbolic one must be."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __neg__(self) -> Symbol:
        return Symbol(-self.value)

    def __add__(self, other: float) -> Symbol:
        return Symbol(self.value + other)

    def __sub__(self, other: float) -> Symbol:
        return Symbol(self.value - other)


@every_row
def test_inverse_angles_are_symbolic(row: Gate) -> None:
    angles = angles_of(row)
    symbols = row.inverse_angles(tuple(Symbol(angle) for angle in angles))
    assert [s.value for s in symbols] == list(row.inverse_angles(tuple(angles)))


@every_row
def test_structure_is_the_cheapest_that_holds(row: Gate) -> None:
    matrix = base_matrix(row, angles_of(row), payload_of(row))
    is_diagonal = np.allclose(matrix, np.diag(np.diag(matrix)), rtol=0, atol=1e-14)
    is_permutation = np.isin(matrix, (0, 1)).all()
    if row.structure is Structure.PERMUTATION:
        assert is_permutation
    elif row.structure is Structure.DIAGONAL:
        assert is_diagonal
        assert not is_permutation
    elif row.structure is Structure.DENSE:
        assert not is_diagonal
        assert not is_permutation
    else:
        assert row.word is not None or row.payload is Payload.LABEL


@every_row
def test_spectra_are_the_frequencies_of_the_matrix(row: Gate) -> None:
    angles, samples = angles_of(row), 32
    for index, spectrum in enumerate(row.spectra):
        values = []
        for turn in 4 * np.pi * np.arange(samples) / samples:
            moved = [*angles[:index], turn, *angles[index + 1 :]]
            values.append(base_matrix(row, moved, payload_of(row)))
        weights = np.abs(np.fft.fft(values, axis=0)).max(axis=(1, 2)) / samples
        present = {float(f) for f in np.fft.fftfreq(samples, 2 / samples)[weights > 1e-12]}
        assert present == set(spectrum)


@pytest.mark.parametrize("controlled", [False, True])
@every_row
def test_frequencies_are_those_of_expectation_values(row: Gate, controlled: bool) -> None:
    rng, angles, samples = rng_of(row), angles_of(row), 32
    size = size_of(row)
    dim = 2 << size
    state = rng.normal(size=dim) + 1j * rng.normal(size=dim)
    observable = rng.normal(size=(dim, dim)) + 1j * rng.normal(size=(dim, dim))
    observable += observable.conj().T
    for index in range(len(row.params)):
        values = []
        for turn in 4 * np.pi * np.arange(samples) / samples:
            moved = [*angles[:index], turn, *angles[index + 1 :]]
            controls = [size] if controlled else []
            steps = lower(row, range(size), controls, angles=moved, payload=payload_of(row))
            final = dense.plan_matrix(Plan(size + 1, steps, 0), np.zeros(0)) @ state
            values.append(np.vdot(final, observable @ final).real)
        weights = np.abs(np.fft.rfft(values)) / samples / np.linalg.norm(values)
        present = tuple(float(k) / 2 for k in np.flatnonzero(weights > 1e-12) if k > 0)
        assert present == row.frequencies(index, controlled=controlled)


@every_row
def test_every_name_finds_its_row(row: Gate) -> None:
    for name in (row.name, *row.aliases):
        assert gate(name) is row


@pytest.mark.parametrize(
    ("alias", "name"),
    [("cnot", "cx"), ("toffoli", "ccx"), ("fredkin", "cswap"), ("mcp", "mcphase"), ("i", "id")],
)
def test_common_aliases(alias: str, name: str) -> None:
    assert gate(alias).name == name


@every_row
def test_rows_are_copied_and_pickled_by_name(row: Gate) -> None:
    assert copy.deepcopy(row) is row
    assert pickle.loads(pickle.dumps(row)) is row


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cnott", "got 'cnott'. Did you mean 'cnot'"),
        ("RX", "Did you mean 'rx'"),
        ("hadamardish", "got 'hadamardish'"),
        (3, "got 3"),
    ],
)
def test_unknown_name_is_refused_with_close_ones(name: Any, hint: str) -> None:
    with pytest.raises(GateError, match=hint):
        gate(name)
