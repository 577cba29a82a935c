"""Instructions that are no gates of the table: measurement, reset, modifiers, blocks, loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import qiskit.circuit
from qiskit.circuit import (
    AnnotatedOperation,
    Barrier,
    BreakLoopOp,
    ContinueLoopOp,
    ControlFlowOp,
    ControlModifier,
    Delay,
    ForLoopOp,
    InverseModifier,
    Measure,
    PowerModifier,
    Reset,
    Store,
    library,
)

from circuits.interop.qiskit.refusal import Refusal
from circuits.interop.qiskit.walker import Handler, Walker, Wires, asked

# Any in this file: Qiskit's operations.


def barrier(walker: Walker, operation: Any, wires: Wires) -> None:
    """Ignore a barrier."""
    walker.ignore(operation.name, "orders compilation only")


def delay(walker: Walker, operation: Any, wires: Wires) -> None:
    """Ignore a delay: nothing happens in it without noise."""
    walker.ignore(operation.name, "does nothing without noise")


def measure(walker: Walker, operation: Any, wires: Wires) -> None:
    """Note what the classical bit reads; no gate may follow on the qubit."""
    (qubit,), (clbit,) = wires.qubits, wires.clbits
    _refuse_modified(walker, wires)
    if clbit in walker.measured:
        raise Refusal(
            "measurements at the end, each to a classical bit of its own",
            "Use every classical bit once.",
            f"to classical bit {clbit}, which a measurement before it wrote",
        )
    walker.measured[clbit] = qubit


def reset(walker: Walker, operation: Any, wires: Wires) -> None:
    """Ignore a reset of a qubit in |0>; any other is not unitary."""
    _refuse_used(walker, wires, "resets at the start only", "use a fresh qubit instead")
    walker.ignore(operation.name, "the qubit is in |0> here")


def initialize(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import an initialisation of qubits in |0>; any other resets them first."""
    _refuse_used(walker, wires, "initialize at the start only", "prepare the state first")
    walker.definition(operation, wires)


def _refuse_modified(walker: Walker, wires: Wires) -> None:
    if wires.controls or walker.modified:
        raise Refusal(
            "controls, inverses and powers of gates only",
            "Take it out of the instruction that is modified.",
            "under a modifier",
        )


def _refuse_used(walker: Walker, wires: Wires, needs: str, remedy: str) -> None:
    _refuse_modified(walker, wires)
    used = sorted(walker.touched.union(walker.measured.values()).intersection(wires.qubits))
    if used:
        raise Refusal(
            needs,
            f"It is not unitary later: {remedy}, or import the part before it.",
            f"after gates on {used}",
        )


def annotated(walker: Walker, operation: AnnotatedOperation, wires: Wires) -> None:
    """Import a base under modifiers, which are applied in their order."""
    outside = walker.modified
    walker.modified = outside or bool(operation.modifiers)
    _modified(walker, operation.base_op, list(operation.modifiers), wires)
    walker.modified = outside


def _modified(walker: Walker, base: Any, modifiers: list[Any], wires: Wires) -> None:
    """Import ``base`` under modifiers; the last one is the outermost, its controls come first."""
    if not modifiers:
        walker.operation(base, wires)
        return
    *inner, outer = modifiers
    if isinstance(outer, ControlModifier):
        split = wires.split(outer.num_ctrl_qubits, outer.ctrl_state)
        _modified(walker, base, inner, split)
    elif isinstance(outer, InverseModifier):
        _repeat(walker, base, inner, wires, -1)
    elif isinstance(outer, PowerModifier) and float(outer.power).is_integer():
        _repeat(walker, base, inner, wires, int(outer.power))
    elif isinstance(outer, PowerModifier) and not inner and hasattr(base, "power"):
        walker.operation(asked(lambda: base.power(outer.power)), wires)
    else:
        raise Refusal("integer powers", "Write the power as a gate.", f"the modifier {outer}")


def _repeat(walker: Walker, base: Any, inner: list[Any], wires: Wires, count: int) -> None:
    """Append what the base does ``count`` times; negative counts undo it."""
    steps, phase = walker.captured(lambda: _modified(walker, base, inner, wires))
    if count < 0:
        steps = [step.inverse() for step in reversed(steps)]
    walker.expand(len(steps) * abs(count))
    walker.steps += steps * abs(count)
    walker.phase += phase * count


def box(walker: Walker, operation: Any, wires: Wires) -> None:
    """Import what stands in a box; timing and annotations have no effect on the state."""
    for annotation in getattr(operation, "annotations", ()):
        walker.ignore(f"annotation {annotation.namespace}", "is no gate")
    walker.report.decomposed[operation.name] += 1
    walker.inside(operation.name, operation.blocks[0], wires)


def for_loop(walker: Walker, operation: ForLoopOp, wires: Wires) -> None:
    """Import the body once for each value of a loop that is known now."""
    values, parameter, body = operation.params
    if not isinstance(values, Sequence):
        raise Refusal("loops over known numbers", "Give a range or numbers.", f"over {values}")
    walker.report.decomposed[operation.name] += 1
    walker.expand(len(values))
    outside = walker.symbols
    for value in values:
        if parameter is not None:
            walker.symbols = outside.with_fixed(parameter, float(value))
        walker.inside(operation.name, body, wires)
    walker.symbols = outside


def control_flow(walker: Walker, operation: Any, wires: Wires) -> None:
    """Refuse what depends on measurements or run-time values."""
    raise Refusal(
        "circuits without control flow",
        "Remove the block, or import the part of the circuit before it.",
        "whose path depends on values at run time",
    )


def product_measurement(walker: Walker, operation: Any, wires: Wires) -> None:
    """Refuse the measurement of a Pauli word."""
    raise Refusal(
        "measurements of single qubits",
        "Rotate the word to Z, measure at the end, or ask for its expectation value.",
        "of a Pauli word",
    )


def store(walker: Walker, operation: Store, wires: Wires) -> None:
    """Refuse classical computation."""
    raise Refusal("circuits without classical variables", "Remove the variable.")


def _where_present(module: Any, name: str, handler: Handler) -> tuple[tuple[type, Handler], ...]:
    """Return a row of ``STRUCTURE`` for a class that not every version of Qiskit has."""
    return ((getattr(module, name), handler),) if hasattr(module, name) else ()


STRUCTURE: tuple[tuple[type, Handler], ...] = (
    (Barrier, barrier),
    (Delay, delay),
    (Measure, measure),
    (Reset, reset),
    (library.Initialize, initialize),
    (AnnotatedOperation, annotated),
    *_where_present(qiskit.circuit, "BoxOp", box),  # from 2.0 on
    (ForLoopOp, for_loop),
    (ControlFlowOp, control_flow),
    (BreakLoopOp, control_flow),
    (ContinueLoopOp, control_flow),
    (Store, store),
    *_where_present(library, "PauliProductMeasurement", product_measurement),  # from 2.3 on
)
"""Base classes with their handlers; the first match counts."""
