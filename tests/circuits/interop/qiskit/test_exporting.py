"""Export with symbols: importing the result gives the same operations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gate_rows import ROWS, controls_of, payload_of, size_of
from qiskit import QuantumCircuit
from qiskit.circuit import library as lib
from qiskit.quantum_info import Operator
from qiskit_circuits import matrix

from circuits import Angle, Circuit, ConversionError, Parameter, from_qiskit, to_qiskit
from circuits.gate_row import Payload

A, B = Parameter(0.4, name="a"), Parameter(0.7, name="b")


def described(circuit: Circuit) -> list[Any]:
    """Everything about the instructions that has to survive, names of controlled gates apart."""
    return [
        (
            step.gate.base or step.name,
            step.targets,
            step.controls,
            step.ctrl_state,
            tuple(map(_angle, step.angles)),
            np.asarray(step.payload).tolist(),
        )
        for step in circuit
    ]


def _angle(angle: float | Angle) -> Any:
    if not isinstance(angle, Angle):
        return angle
    assert angle.program is None
    atoms = {leaf.name: c for (leaf, _), c in zip(angle.atoms, angle.coefficients, strict=True)}
    return atoms, angle.offset


def check(circuit: Circuit) -> None:
    exported = to_qiskit(circuit)
    assert described(from_qiskit(exported)) == described(circuit)
    numbers = exported.assign_parameters(
        {p: {"a": 0.4, "b": 0.7}[p.name] for p in exported.parameters}
    )
    assert np.abs(matrix(circuit) - Operator(numbers).data).max() < 1e-13


every_gate = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
with_and_without_controls = pytest.mark.parametrize("extra", [0, 2], ids=["plain", "more controls"])


def one_gate(row: Any, extra: int, angles: list[Any]) -> Circuit:
    """A gate on qubits in any order, under ``extra`` controls besides its own."""
    own, count = controls_of(row), controls_of(row) + size_of(row)
    qubits = [int(q) for q in np.random.default_rng(count).permutation(count + extra)]
    state = 1 if own + extra else None
    return Circuit(max(count + extra, 1)).append(
        row,
        qubits[extra:],
        angles[: len(row.params)],
        payload=payload_of(row),
        controls=qubits[:extra],
        ctrl_state=state,
    )


@with_and_without_controls
@every_gate
def test_every_gate_comes_back_the_same(row: Any, extra: int) -> None:
    circuit = one_gate(row, extra, [A, 2 * A - 1, A + B, 0.5])
    present = {p.name: p.item() for p in circuit.parameters()}
    found = from_qiskit(to_qiskit(circuit), values=present)
    if row.payload is Payload.IMAGES:  # Qiskit has no such gate: it becomes a matrix
        assert found.count_ops() == {"unitary": 1}
    elif row.name == "cu" and extra:  # Qiskit's is not read by its qpy: it becomes two
        assert [step.name for step in found] == ["u", "global_phase"]
    else:
        check(circuit)
    assert np.abs(matrix(found) - matrix(circuit)).max() < 1e-13


@with_and_without_controls
@every_gate
def test_every_gate_goes_through_qpy(row: Any, extra: int, tmp_path: Path) -> None:
    circuit = one_gate(row, extra, [0.4, -0.2, 1.1, 0.5])
    circuit.save_qpy(tmp_path / "gate.qpy")
    found = Circuit.load_qpy(tmp_path / "gate.qpy")
    assert np.abs(matrix(found) - matrix(circuit)).max() < 1e-13


def test_phases_stand_where_they_stood() -> None:
    circuit = Circuit(2).global_phase(A).h(0).global_phase(2 * B).cx(0, 1).global_phase(0.3)
    assert to_qiskit(circuit).global_phase.name == "a"
    check(circuit)


def test_symbols_are_the_users_own_after_an_import() -> None:
    qc = lib.efficient_su2(3, reps=3)
    exported = to_qiskit(from_qiskit(qc))
    assert list(exported.parameters) == list(qc.parameters)
    assert exported == qc


def test_measurements_and_name_are_kept() -> None:
    exported = to_qiskit(Circuit(2, "probe").h(0).measure([0, 1], [2, 0]))
    assert (exported.name, exported.num_clbits) == ("probe", 3)
    assert from_qiskit(exported).measured == {2: 0, 0: 1}


def test_trainable_matrix_enters_with_its_numbers() -> None:
    flip = Parameter(np.array([[0, 1j], [1, 0]]), name="flip")
    (item,) = to_qiskit(Circuit(1).unitary(flip, 0)).data
    assert item.operation.to_matrix().tolist() == [[0, 1j], [1, 0]]


def test_other_things_are_refused() -> None:
    with pytest.raises(ConversionError, match="needs a Circuit or an observable, got QuantumC"):
        to_qiskit(QuantumCircuit(1))
