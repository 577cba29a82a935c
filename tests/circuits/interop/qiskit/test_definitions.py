"""Definitions are exact, global phase included, and end in gates without payload."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from gate_circuits import circuit_of
from gate_rows import ROWS, angles_of, base_matrix, payload_of, size_of

from circuits import Circuit
from circuits.gate_row import Gate
from circuits.instruction import Instruction
from circuits.interop.qiskit.definitions import base_of, definition, spelled_out

DEFINED = [row for row in ROWS if row.base is None and row.name not in ("id", "u", "global_phase")]


@pytest.mark.parametrize("row", DEFINED, ids=lambda row: row.name)
def test_definition_is_the_gate(row: Gate) -> None:
    angles, payload = angles_of(row), payload_of(row)
    step = Instruction(row, tuple(range(size_of(row))), angles=tuple(angles), payload=payload)
    found = definition(step, angles).unitary(engine="reference").numpy()
    assert np.abs(found - base_matrix(row, angles, payload)).max() < 1e-12


@pytest.mark.parametrize("row", [r for r in ROWS if r.payload], ids=lambda row: row.name)
def test_spelled_out_gates_carry_nothing(row: Gate) -> None:
    circuit = circuit_of(row, 2, angles_of(row))
    *prepared, step = circuit.instructions
    parts = spelled_out(step)
    assert all(part.gate.payload is None for part in parts)
    made = Circuit(circuit.num_qubits).extend([*prepared, *parts])
    states = [c.statevector(engine="reference").numpy() for c in (made, circuit)]
    assert np.abs(states[0] - states[1]).max() < 1e-12


def test_base_has_no_controls() -> None:
    (step,) = Circuit(3).crx(0.3, 0, 2).instructions
    base = base_of(step)
    assert (base.name, base.qubits, base.ctrl_state) == ("rx", (2,), 0)
    assert base_of(replace(step, gate=base.gate)).name == "rx"
