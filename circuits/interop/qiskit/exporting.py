"""From our circuit to Qiskit's, with symbols. ``circuits.to_qiskit`` documents it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from qiskit import QuantumCircuit
from qiskit.circuit import AnnotatedOperation, ControlModifier, library
from qiskit.quantum_info import Pauli

from circuits.circuit import Circuit
from circuits.errors import ConversionError
from circuits.gate_row import Gate, Payload
from circuits.gates import GATES
from circuits.instruction import Instruction, TrainableMatrix
from circuits.interop.qiskit.export_symbols import ExportedSymbols

# Any in this file: Qiskit's gates and expressions.


def export_circuit(circuit: Circuit) -> QuantumCircuit:
    """Return Qiskit's circuit."""
    if not isinstance(circuit, Circuit):
        raise ConversionError(
            f"to_qiskit needs a Circuit or an observable, got {type(circuit).__name__}. "
            "Import it first."
        )
    symbols = ExportedSymbols(circuit)
    num_clbits = max(circuit.measured, default=-1) + 1
    made = QuantumCircuit(circuit.num_qubits, num_clbits, name=circuit.name)
    steps = list(circuit.instructions)
    if steps and steps[0].gate is GATES["global_phase"] and not steps[0].controls:
        made.global_phase = symbols.expression(steps.pop(0).angles[0])
    for part in [part for step in steps for part in _parts(step)]:
        angles = [symbols.expression(angle) for angle in part.angles]
        made.append(_gate(part, angles), part.qubits)
    for clbit, qubit in circuit.measured.items():
        made.measure(qubit, clbit)
    return made


def _parts(step: Instruction) -> list[Instruction]:
    """Return a gate as Qiskit can also save it.

    ``CUGate.control`` gives its base, a U of three angles, all four; qpy writes that and cannot
    read it (seen in Qiskit 1.4.6 and 2.6.2). So ``cu`` under more controls is u and its phase.
    """
    row = step.gate
    if row.base or not row.num_controls or row.num_controls == len(step.controls):
        return [step]
    *turns, phase = step.angles  # only cu has controls and no base with a name
    inner = replace(step, gate=GATES["u"], angles=tuple(turns))
    return [inner, replace(step, gate=GATES["global_phase"], targets=(), angles=(phase,))]


def _gate(step: Instruction, angles: Sequence[Any]) -> Any:
    row, count, state = step.gate, len(step.controls), step.ctrl_state
    if row.payload is not None:
        base = payload_gate(step, angles)
        return AnnotatedOperation(base, ControlModifier(count, state)) if count else base
    if count and row.num_controls is None:
        return gate_class(row)(*angles, count, ctrl_state=state)
    if row.num_controls == 0 or (row.base is not None and row.num_controls != count):
        base = gate_class(GATES[row.base] if row.base else row)(*angles)
        return base.control(count, ctrl_state=state, annotated=False) if count else base
    return gate_class(row)(*angles, ctrl_state=state)


def gate_class(row: Gate) -> Any:
    """Return the class in Qiskit's gate library."""
    return getattr(library, row.qiskit)


def payload_gate(step: Instruction, angles: Sequence[Any]) -> Any:
    """Return Qiskit's gate for what an instruction carries, without the controls."""
    kind, payload = step.gate.payload, step.payload
    if isinstance(payload, TrainableMatrix):
        payload = payload.value().numpy()
    if kind is Payload.LABEL and angles:
        return library.PauliProductRotationGate(Pauli(payload), *angles)
    if kind is Payload.LABEL:
        return library.PauliGate(payload)
    if kind is Payload.DIAGONAL:
        return library.DiagonalGate(payload.tolist())
    if kind is Payload.PATTERN:
        return library.PermutationGate(payload)
    if kind is Payload.IMAGES:
        return library.UnitaryGate(np.eye(len(payload))[:, payload])
    return library.UnitaryGate(payload)
