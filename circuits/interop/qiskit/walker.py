"""Walks a Qiskit circuit and its definitions, and lists our instructions.

Every instruction is mapped, replaced by its definition, ignored with a reason, or refused with its
name, position, qubits and a remedy. Nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from qiskit import QuantumCircuit
from qiskit.circuit import ControlledGate, Instruction
from qiskit.circuit.library import UGate
from qiskit.exceptions import QiskitError

from circuits.angles import Angle
from circuits.gate_row import Gate
from circuits.gates import GATES
from circuits.instruction import Instruction as Step
from circuits.interop.openqasm_scan import MAX_GATES
from circuits.interop.qiskit.expressions import Symbols
from circuits.interop.qiskit.refusal import Refusal
from circuits.interop.qiskit.report import ImportReport
from circuits.interop.qiskit.rows import class_of, controlled_row, rows_by_class
from circuits.payloads import checked_payload

# Any in this file: Qiskit's operations and bits; payloads as the gate table's rows want them.

_DEEPEST = 64
_CONDITIONS = hasattr(Instruction, "c_if")  # Qiskit 1.x: a condition may hang on any instruction

Answer = TypeVar("Answer")
Handler = Callable[["Walker", Any, "Wires"], None]


class Wires(NamedTuple):
    """What an instruction acts on, as indices of the whole circuit.

    Attributes:
        qubits: its own, in its order.
        clbits: its own classical bits.
        controls: qubits that control it from outside.
        ctrl_state: bit k is what ``controls[k]`` must hold.
    """

    qubits: tuple[int, ...]
    clbits: tuple[int, ...] = ()
    controls: tuple[int, ...] = ()
    ctrl_state: int = 0

    def split(self, count: int, state: int) -> Wires:
        """Return the wires of what the first ``count`` qubits control."""
        return Wires(
            self.qubits[count:],
            self.clbits,
            (*self.qubits[:count], *self.controls),
            state | (self.ctrl_state << count),
        )


class Walker:
    """One import: the instructions so far, and what is known about the qubits.

    Args:
        symbols: the angles of Qiskit's expressions.
        handlers: what imports a class of instructions that is in no row, the first match counts;
            classes of Qiskit's gate library must match exactly.
        evolution: "definition" or "exact".
    """

    def __init__(
        self,
        symbols: Symbols,
        handlers: Callable[[type], Handler | None],
        evolution: str = "definition",
    ) -> None:
        self.symbols = symbols
        self.evolution = evolution
        self.steps: list[Step] = []
        self.phase = 0.0
        self.touched: set[int] = set()
        self.measured: dict[int, int] = {}  # qubit by classical bit
        self.report = ImportReport("")
        self.trail: list[str] = []
        self.modified = False  # inside an annotated operation
        self.expanded = 0  # operations in definitions, loops and powers so far
        self.position = -1
        self.current: tuple[Any, tuple[int, ...]] = (None, ())
        self._handlers = handlers
        self._rows = rows_by_class()

    # -- walking ---------------------------------------------------------------------------------

    def walk(self, circuit: QuantumCircuit, wires: Wires) -> None:
        """Import a definition or a block."""
        refuse_variables(circuit)
        self.add_phase(self.symbols.angle(circuit.global_phase), wires)
        qubit_of = dict(zip(circuit.qubits, wires.qubits, strict=True))
        clbit_of = dict(zip(circuit.clbits, wires.clbits, strict=True))
        for item in circuit.data:
            self.operation(item.operation, placed(item, qubit_of, clbit_of, wires))

    def operation(self, operation: Any, wires: Wires) -> None:
        """Import one instruction."""
        self.current = (operation, wires.qubits)
        if _CONDITIONS and getattr(operation, "_condition", None) is not None:
            raise Refusal("gates without a condition", "Remove c_if, or import the part before it.")
        cls = class_of(operation)
        row = self._rows.get(cls)
        if row is not None:
            self.standard(row, operation, wires)
            return
        handler = self._handlers(cls)
        if handler is not None:
            handler(self, operation, wires)
        elif isinstance(operation, ControlledGate):
            self.controlled(operation, wires)
        else:
            self.definition(operation, wires)

    def standard(self, row: Gate, operation: Any, wires: Wires) -> None:
        """Import a gate that has a row."""
        if row.num_controls != 0:
            wires = wires.split(operation.num_ctrl_qubits, operation.ctrl_state)
        angle = self.symbols.angle
        self.gate(row, wires, tuple([angle(p) for p in operation.params]))

    def controlled(self, operation: ControlledGate, wires: Wires) -> None:
        """Import a gate under controls by its base gate, or by its definition if it has more."""
        base, count = operation.base_gate, operation.num_ctrl_qubits
        if operation.num_qubits != count + base.num_qubits:  # MCMTGate, or ancilla qubits
            self.definition(operation, wires)
            return
        inner = wires.split(count, operation.ctrl_state)
        cls = class_of(base)
        row = self._rows.get(cls)
        if cls is UGate and len(operation.params) == 4:  # CUGate().control(): gamma is only here
            row = GATES["cu"]
        elif row is None or row.num_controls != 0:
            if row is None and self._handlers(cls) is None:
                base = current(base)
            if base is None:
                self.definition(operation, wires)
            else:
                self.operation(base, inner)
            return
        else:
            row = controlled_row(row, count)
        self.gate(row, inner, tuple([self.symbols.angle(p) for p in operation.params]))

    def definition(self, operation: Any, wires: Wires) -> None:
        """Import an instruction by what it is made of."""
        circuit = asked(lambda: getattr(operation, "definition", None))
        if circuit is None:
            raise Refusal(
                "gates of Qiskit's library or with a definition",
                "Give the gate a definition, or append its matrix as UnitaryGate.",
                "opaque: it has no definition",
            )
        self.report.decomposed[operation.name] += 1
        self.inside(operation.name, circuit, wires)

    def inside(self, name: str, circuit: QuantumCircuit, wires: Wires) -> None:
        """Import a circuit that stands for the instruction ``name``."""
        if len(self.trail) >= _DEEPEST:
            self.trail = [*self.trail[:2], "..."]
            raise Refusal(
                f"definitions that nest at most {_DEEPEST} deep",
                "Break the cycle: a gate's definition must not contain the gate.",
            )
        self.expand(len(circuit.data))
        outside = self.current
        self.trail.append(name)
        self.walk(circuit, wires)
        self.trail.pop()
        self.current = outside

    def expand(self, count: int) -> None:
        """Count operations that stand in no circuit as such, or refuse when they are too many."""
        self.expanded += max(count, 1)
        if self.expanded > MAX_GATES:
            raise Refusal(
                f"at most {MAX_GATES} operations in definitions, loops and powers",
                "Take a part of it.",
                "which makes more",
            )

    # -- what handlers use -----------------------------------------------------------------------

    def gate(
        self,
        row: Gate,
        wires: Wires,
        angles: tuple[float | Angle, ...] = (),
        payload: Any = None,
    ) -> None:
        """Append a gate."""
        targets, _, controls, state = wires
        if self.measured:
            self._refuse_measured(targets + controls)
        carried = None if row.payload is None else checked_payload(row, payload, len(targets))
        self.steps.append(Step(row, targets, controls, state, angles, carried))
        self.touched.update(targets, controls)

    def _refuse_measured(self, qubits: Sequence[int]) -> None:
        touched = sorted(set(qubits).intersection(self.measured.values()))
        if touched:
            raise Refusal(
                "measurements at the end only",
                "Put all gates before the measurements, or import the part before them.",
                f"after a mid-circuit measurement of {touched}",
            )

    def add_phase(self, angle: float | Angle, wires: Wires) -> None:
        """Multiply by e^{i angle} where the controls hold."""
        if isinstance(angle, float) and not wires.controls:
            self.phase += angle
        elif angle != 0.0:
            self.gate(GATES["global_phase"], wires._replace(qubits=()), (angle,))

    def ignore(self, name: str, why: str) -> None:
        """Say in the report that an instruction does nothing."""
        self.report.ignored[name, why] += 1

    def captured(self, import_it: Callable[[], None]) -> tuple[list[Step], float]:
        """Return the steps and the phase that a call would append, and take them out again."""
        start, phase = len(self.steps), self.phase
        import_it()
        made, added = self.steps[start:], self.phase - phase
        del self.steps[start:]
        self.phase = phase
        return made, added


def current(base: Any) -> Any:
    """Return a controlled gate's base with a definition of its present parameters, or None.

    Qiskit's ``assign_parameters`` updates a controlled gate's own definition; its base gets the new
    parameters, and keeps the definition that was made of the old ones.
    """
    held = asked(lambda: getattr(base, "definition", None))
    if held is None or not held.parameters or isinstance(base, ControlledGate):
        return base
    if type(base)._define is Instruction._define:  # made of a circuit, not by its class
        return base if list(base.params) == list(held.parameters) else None
    fresh = base.copy()
    fresh.definition = None
    return fresh


def asked(question: Callable[[], Answer]) -> Answer:
    """Return what Qiskit says about an instruction, or refuse with its reason."""
    try:
        return question()
    except (QiskitError, TypeError, ValueError) as error:
        raise Refusal(
            "instructions that Qiskit itself can define",
            "Bind its parameters before the import, or append what it stands for.",
            f"for which Qiskit says: {error}",
        ) from error


def placed(
    item: Any, qubit_of: Mapping[Any, int], clbit_of: Mapping[Any, int], outer: Wires
) -> Wires:
    """Return what an item of a circuit acts on."""
    qubits = tuple([qubit_of[bit] for bit in item.qubits])
    clbits = tuple([clbit_of[bit] for bit in item.clbits]) if item.clbits else ()
    return Wires(qubits, clbits, outer.controls, outer.ctrl_state)


def refuse_variables(circuit: QuantumCircuit) -> None:
    """Refuse run-time variables."""
    names = [var.name for var in circuit.iter_vars()]
    if hasattr(circuit, "iter_stretches"):
        names += [stretch.name for stretch in circuit.iter_stretches()]
    if names:
        raise Refusal(
            "circuits without classical variables and stretches",
            "Remove them, or import the part of the circuit that does without.",
            f"with {names}",
        )
