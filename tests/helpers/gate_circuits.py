"""Circuits with one gate of the table, for formats that must carry each of them."""

from __future__ import annotations

from typing import Any

from gate_rows import controls_of, payload_of, size_of

from circuits import Circuit
from circuits.gate_row import Gate


def circuit_of(row: Gate, extra: int, angles: Any) -> Circuit:
    """The gate, under ``extra`` more controls of which the first is open, on an awkward state."""
    size = size_of(row) + controls_of(row) + extra
    circuit = Circuit(max(size, 1))
    for qubit in range(circuit.num_qubits):
        circuit.ry(0.3 + qubit, qubit)
    every = list(reversed(range(size)))
    state = (1 << controls_of(row) + extra) - (2 if extra else 1)
    controls = every[:extra]
    return circuit.append(
        row, every[extra:], angles, payload=payload_of(row), controls=controls, ctrl_state=state
    )
