"""What a drawing shows and in which column it stands, before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from autodiff import Parameter
from circuits.angles import Angle
from circuits.drawing.expressions import Names, angle_text, leaf_names
from circuits.gate_row import Payload
from circuits.instruction import Instruction

if TYPE_CHECKING:
    from circuits.circuit import Circuit

CROSS = "×"
"""A row with this symbol is drawn as crosses on its targets, without a box."""


class Source(Enum):
    """Where a gate's angles come from; pictures give each a colour."""

    FIXED = "fixed"
    INPUTS = "inputs"
    PARAMETERS = "parameters"


@dataclass(frozen=True)
class Box:
    """A box over neighbouring wires, ``low`` to ``high``.

    Attributes:
        low: first wire.
        high: last wire.
        symbol: the gate's symbol.
        angles: its angles as text, without parentheses; "" if there are none.
        marks: what stands at each wire: a Pauli letter, or the position among the targets.
    """

    low: int
    high: int
    symbol: str
    angles: str = ""
    marks: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Symbol and angles in one line."""
        return f"{self.symbol}({self.angles})" if self.angles else self.symbol


@dataclass(frozen=True)
class Element:
    """One gate: dots, boxes and signs on wires, joined by a vertical line.

    Attributes:
        controls: wires, and whether a closed dot (1) or an open one (0) stands there.
        boxes: a box for each run of neighbouring targets.
        flips: wires with a plus in a circle, the controlled bit flip.
        crosses: wires with a cross, the exchange of two qubits.
        note: text beside the last dot, for a gate that has controls only.
        source: where its angles come from.
    """

    controls: tuple[tuple[int, bool], ...] = ()
    boxes: tuple[Box, ...] = ()
    flips: tuple[int, ...] = ()
    crosses: tuple[int, ...] = ()
    note: str = ""
    source: Source = Source.FIXED

    @property
    def wires(self) -> tuple[int, int]:
        """The first and the last wire that it touches."""
        ends = [end for box in self.boxes for end in (box.low, box.high)]
        every = [*ends, *(q for q, _ in self.controls), *self.flips, *self.crosses]
        return min(every), max(every)


@dataclass
class Layout:
    """A circuit's elements in columns; those of one column touch different wires.

    Attributes:
        num_qubits: number of wires.
        heading: the circuit's name and its global phase, a line each.
        columns: elements.
        measured: the classical bits that each measured wire goes to, as text.
    """

    num_qubits: int
    heading: list[str] = field(default_factory=list)
    columns: list[list[Element]] = field(default_factory=list)
    measured: dict[int, str] = field(default_factory=dict)


def layout_of(circuit: Circuit) -> Layout:
    """Place every gate in the first column in which its wires, and those between, are free."""
    names = leaf_names(circuit)
    made = Layout(circuit.num_qubits, measured=_bit_names(circuit.measured))
    if circuit.name:
        made.heading.append(circuit.name)
    free = [0] * circuit.num_qubits  # the first free column of each wire
    phases: list[str] = []
    for instruction in circuit.instructions:
        if not instruction.qubits:
            phases.extend(angle_text(angle, names) for angle in instruction.angles)
            continue
        element = element_of(instruction, names)
        low, high = element.wires
        column = max(free[low : high + 1])
        free[low : high + 1] = [column + 1] * (high + 1 - low)
        if column == len(made.columns):
            made.columns.append([])
        made.columns[column].append(element)
    if phases:
        made.heading.append(f"global phase: {' + '.join(phases)}")
    return made


def _bit_names(measured: Mapping[int, int]) -> dict[int, str]:
    """Return the classical bits of each qubit: c0, or c0 c2."""
    names: dict[int, str] = {}
    for bit, qubit in sorted(measured.items()):
        names[qubit] = f"{names[qubit]} c{bit}" if qubit in names else f"c{bit}"
    return names


def element_of(instruction: Instruction, names: Names) -> Element:
    """Return what is drawn for a gate; it follows from the row's symbol and structure."""
    row, targets = instruction.gate, instruction.targets
    controls = tuple(
        (q, bool(instruction.ctrl_state >> k & 1)) for k, q in enumerate(instruction.controls)
    )
    source = _source(instruction)
    angles = ", ".join(angle_text(angle, names) for angle in instruction.angles)
    if not targets:
        note = Box(0, 0, row.symbol, angles).label
        return Element(controls, note=note, source=source)
    if controls and row.permutation is not None and row.permutation.tolist() == [1, 0]:
        return Element(controls, flips=targets)
    if row.symbol == CROSS:
        return Element(controls, crosses=targets)
    marks = dict(zip(targets, _marks(instruction), strict=True))
    boxes = tuple(
        Box(low, high, row.symbol, angles, tuple(marks[q] for q in range(low, high + 1)))
        for low, high in _runs(sorted(targets))
    )
    return Element(controls, boxes, source=source)


def _source(instruction: Instruction) -> Source:
    leaves = [leaf for a in instruction.angles if isinstance(a, Angle) for leaf in a.leaves]
    if any(isinstance(leaf, Parameter) for leaf in leaves):
        return Source.PARAMETERS
    return Source.INPUTS if leaves else Source.FIXED


def _marks(instruction: Instruction) -> Sequence[str]:
    """Return a mark for each target; empty ones where all targets are alike."""
    row, count = instruction.gate, len(instruction.targets)
    if row.payload is Payload.LABEL:
        return str(instruction.payload)[::-1]
    if row.word is not None:
        return row.word if len(set(row.word)) > 1 else [""] * count
    return [str(k) for k in range(count)] if count > 1 else [""]


def _runs(wires: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return first and last wire of each run of neighbours."""
    start = wires[0]
    for here, following in zip(wires, [*wires[1:], -1], strict=True):
        if following != here + 1:
            yield start, here
            start = following


def folded(widths: Sequence[int], room: int) -> list[slice]:
    """Cut columns into rows that fit; a column wider than a row has one of its own.

    Args:
        widths: of the columns.
        room: width of a row; 0 for a single one.

    >>> folded([3, 4, 5, 9, 1], 8)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    """
    if room <= 0:
        return [slice(0, len(widths))]
    cuts, used = [0], 0
    for k, width in enumerate(widths):
        if used and used + width > room:
            cuts.append(k)
            used = 0
        used += width
    return [slice(a, b) for a, b in zip(cuts, [*cuts[1:], len(widths)], strict=True)]
