"""From a Qiskit circuit with its symbols to ours. ``circuits.from_qiskit`` documents it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from qiskit import QuantumCircuit

from autodiff import no_grad
from circuits.angles import Angle
from circuits.binding import bind
from circuits.circuit import Circuit
from circuits.errors import CircuitError, ConversionError
from circuits.gates import GATES
from circuits.instruction import Instruction
from circuits.interop.qiskit.payload_gates import PAYLOAD_GATES
from circuits.interop.qiskit.refusal import Refusal, RefusedInstruction
from circuits.interop.qiskit.report import ImportReport
from circuits.interop.qiskit.structure import STRUCTURE
from circuits.interop.qiskit.symbol_inputs import make_symbols, select_inputs
from circuits.interop.qiskit.walker import Handler, Walker, Wires, placed, refuse_variables

_FEATURE = 0.5
"""Stands for features while the start values are tried."""

EVOLUTIONS = ("definition", "exact")

# Any in this file: what the user gave, and Qiskit's instructions.


def import_circuit(
    circuit: QuantumCircuit,
    inputs: Mapping[str, Any] | None = None,
    values: Any = None,
    evolution: str = "definition",
) -> Circuit:
    """Return our circuit, with its ``import_report``."""
    _check(circuit, evolution)
    chosen = select_inputs(circuit, inputs)
    symbols, parameters = make_symbols(circuit, chosen)
    walker = Walker(symbols, handler_of, evolution)
    _walk(circuit, walker)
    made = Circuit(circuit.num_qubits, circuit.name)
    made.register(*parameters)
    made.extend(walker.steps)
    made.measure(list(walker.measured.values()), list(walker.measured))
    report = walker.report
    report.source = circuit.name
    report.mapped = Counter([step.name for step in walker.steps])
    report.mapped.update({"measure": len(walker.measured)} if walker.measured else {})
    report.inputs = {name: tuple([p.name for p in ps]) for name, ps in chosen.items()}
    _describe(circuit, report)
    made.import_report = report
    if values is not None:
        return made.assign(values)
    report.undefined = _undefined(made)
    return made


def _undefined(circuit: Circuit) -> tuple[str, ...]:
    """Return the Parameters of angles that are no number at the start values, 0 each."""
    angles = [a for step in circuit.instructions for a in step.angles if isinstance(a, Angle)]
    if all(angle.program is None for angle in angles):
        return ()
    inputs = {x.name: np.full(x.shape, _FEATURE) for x in circuit.inputs if x.name is not None}
    with no_grad():
        found = bind(circuit, inputs, None).angles().numpy()
    bad = [a for a, fine in zip(angles, np.isfinite(found), strict=True) if not fine]
    leaves = {id(leaf._meta) for angle in bad for leaf in angle.leaves}
    named = zip(circuit.parameter_names(), circuit.parameters(), strict=True)
    return tuple([name for name, p in named if id(p._meta) in leaves])


@cache
def handler_of(cls: type) -> Handler | None:
    """Return what imports a class of instructions that has no row."""
    if cls in PAYLOAD_GATES:
        return PAYLOAD_GATES[cls]
    return next((handler for base, handler in STRUCTURE if issubclass(cls, base)), None)


def _check(circuit: Any, evolution: str) -> None:
    if not isinstance(circuit, QuantumCircuit):
        raise ConversionError(
            f"from_qiskit needs a QuantumCircuit, got {type(circuit).__name__}. "
            "Use circuit.append for a gate, PauliSum.from_qiskit for an operator."
        )
    if evolution not in EVOLUTIONS:
        raise ConversionError(
            f"from_qiskit needs evolution from {EVOLUTIONS}, got {evolution!r}. "
            '"definition" is what hardware runs, "exact" the matrix exponential.'
        )


def _walk(circuit: QuantumCircuit, walker: Walker) -> None:
    """Import every instruction, or refuse with the place of the first that cannot be."""
    wires = Wires(tuple(range(circuit.num_qubits)), tuple(range(circuit.num_clbits)))
    qubit_of = {bit: k for k, bit in enumerate(circuit.qubits)}
    clbit_of = {bit: k for k, bit in enumerate(circuit.clbits)}
    try:
        refuse_variables(circuit)
        if getattr(circuit, "calibrations", None):  # Qiskit 1.x
            raise Refusal("circuits without pulse calibrations", "Remove them.")
        phase = walker.symbols.angle(circuit.global_phase)
        for walker.position, item in enumerate(circuit.data):
            walker.operation(item.operation, placed(item, qubit_of, clbit_of, wires))
    except CircuitError as error:
        raise _refused(walker, error) from error
    total = phase + walker.phase
    if total != 0.0:
        walker.steps.insert(0, Instruction(GATES["global_phase"], (), angles=(total,)))


def _refused(walker: Walker, error: CircuitError) -> RefusedInstruction:
    """Return the error with the instruction's name, place and qubits."""
    operation, qubits = walker.current
    where = "the circuit itself"
    if operation is not None:
        inside = "".join([f" inside {name!r}" for name in reversed(walker.trail)])
        name, position = operation.name, walker.position
        where = f"instruction {name!r}{inside} at position {position} on qubits {qubits}"
    if not isinstance(error, Refusal):
        message = f"from_qiskit needs instructions that it can read, got {where}: {error}"
        return RefusedInstruction(message, walker.position)
    detail = f", {error.detail}" if error.detail else ""
    message = f"from_qiskit needs {error.needs}, got {where}{detail}. {error.remedy}"
    return RefusedInstruction(message, walker.position)


def _describe(circuit: QuantumCircuit, report: ImportReport) -> None:
    """Note registers and layout."""
    index = {bit: k for k, bit in enumerate(circuit.qubits)}
    place = {bit: k for k, bit in enumerate(circuit.clbits)}
    report.places = tuple(range(circuit.num_qubits))
    report.registers = {r.name: tuple([index[b] for b in r]) for r in circuit.qregs}
    report.classical_registers = {r.name: tuple([place[b] for b in r]) for r in circuit.cregs}
    layout = circuit.layout
    # OpenQASM 3's physical qubits come with a layout that knows no virtual ones.
    if layout is not None and layout._input_qubit_count is not None:
        report.layout = tuple(layout.final_index_layout())
