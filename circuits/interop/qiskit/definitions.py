"""Gates written in simpler ones, by Qiskit's definitions, for formats that lack them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from qiskit import QuantumCircuit

from circuits.circuit import Circuit
from circuits.gate_row import Payload
from circuits.gates import GATES
from circuits.instruction import Instruction
from circuits.interop.qiskit.exporting import gate_class, payload_gate
from circuits.interop.qiskit.importing import import_circuit
from circuits.lowering import lower

# Any in this file: Qiskit's Parameters or numbers.


def definition(step: Instruction, angles: Sequence[Any]) -> Circuit:
    """Return what a gate is made of, without its controls, the global phase included.

    Args:
        step: its row and payload count.
        angles: Parameters of Qiskit, which keep their names, or numbers.

    Example:
        >>> from circuits.gates import gate
        >>> swap = Instruction(gate("permutation"), (0, 1), payload=[1, 0])
        >>> definition(swap, []).count_ops()
        {'swap': 1}
    """
    row, width = step.gate, len(step.targets)
    if row.payload is Payload.PATTERN:
        made = Circuit(width)
        for swap in lower(row, range(width), payload=step.payload):
            made.swap(*swap.targets)
        return made
    if row.payload is None and row.num_controls:  # only cu has a base without a name
        *turns, phase = angles
        qc = QuantumCircuit(1, global_phase=phase)
        qc.u(*turns, 0)
        return import_circuit(qc)
    base = payload_gate(step, angles) if row.payload else gate_class(row)(*angles)
    return import_circuit(base.definition)


def spelled_out(step: Instruction) -> list[Instruction]:
    """Return the gates, none of which carries a payload, that do the same as one with numbers."""
    if step.gate.payload is None:
        return [step]
    inner = definition(step, step.angles).instructions
    placed = [part.on(step.targets.__getitem__) for part in inner]
    if step.controls:
        placed = [part.controlled(step.controls, step.ctrl_state) for part in placed]
    return [last for part in placed for last in spelled_out(part)]


def base_of(step: Instruction) -> Instruction:
    """Return the gate on the targets alone, by the row that has no controls of its own."""
    row = step.gate
    base = GATES[row.base] if row.base else row
    return replace(step, gate=base, controls=(), ctrl_state=0)
