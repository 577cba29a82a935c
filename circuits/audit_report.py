"""What an audit of gradients found: one row an angle, one column a method, and the faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

RIGHT = "differences"
"""The method that the others are compared with: central differences of values."""

_SHOWN = 40
"""Rows that are printed; of more, only those that are off."""


@dataclass(frozen=True)
class AuditRow:
    """One derivative by every method.

    Attributes:
        position: index of the gate in the circuit; None for a Parameter as a whole.
        gate: its name.
        qubits: controls, then targets.
        slot: index of the angle among the gate's own.
        angle: the expression, as in drawings, or the Parameter's name.
        found: the derivative by method.
        atol: how far a method may be from ``differences``.
    """

    position: int | None
    gate: str
    qubits: tuple[int, ...]
    slot: int | None
    angle: str
    found: Mapping[str, float]
    atol: float

    @property
    def off(self) -> tuple[str, ...]:
        """The methods that differ."""
        right = self.found[RIGHT]
        return tuple(m for m, x in self.found.items() if not abs(x - right) <= self.atol)


@dataclass(frozen=True)
class Fault:
    """Where a method begins to be wrong.

    Attributes:
        method: an engine, a method, or ``"gate table"``.
        what: is wrong, in words.
        position: index of the gate in the circuit; None where no gate is to blame.
        gate: its name.
        qubits: controls, then targets.
        angles: the gate's symbolic angles, or the Parameter's name.
    """

    method: str
    what: str
    position: int | None = None
    gate: str = ""
    qubits: tuple[int, ...] = ()
    angles: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f" at gate {self.position}, {self.gate} on {self.qubits}" if self.gate else ""
        angles = f", angle {', '.join(self.angles)}" if self.angles else ""
        return f"{self.method}: {self.what}{place}{angles}"


@dataclass(frozen=True, repr=False)
class AuditReport:
    """What ``audit_gradients`` returns; it prints as a table.

    Attributes:
        rows: one for each angle, then one for each element of the Parameters.
        values: the expectation value by method.
        faults: what is wrong, and where; none if all agree.
    """

    rows: tuple[AuditRow, ...]
    values: Mapping[str, float]
    faults: tuple[Fault, ...]

    @property
    def ok(self) -> bool:
        """Whether all methods agree."""
        return not self.faults

    def __repr__(self) -> str:
        shown = [row for row in self.rows if row.off or len(self.rows) <= _SHOWN]
        methods = list(dict.fromkeys([*(m for row in self.rows for m in row.found), *self.values]))
        lines = [["gate", "", "qubits", "angle", *methods]]
        lines.append(["value", "", "", "", *_cells(self.values, methods, ())])
        for row in shown:
            place = "" if row.position is None else str(row.position)
            qubits = ", ".join(map(str, row.qubits))
            cells = _cells(row.found, methods, row.off)
            lines.append([place, row.gate, qubits, row.angle, *cells])
        table = _table(lines)
        if len(shown) < len(self.rows):
            table.append(f"and {len(self.rows) - len(shown)} more that agree")
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        verdict = "all methods agree" if self.ok else f"{count} (* differs)"
        return "\n".join([f"gradient audit: {verdict}", *table, *map(str, self.faults)])


def _cells(found: Mapping[str, float], methods: Sequence[str], off: Sequence[str]) -> list[str]:
    """Return a row's numbers, those that are off with a star, methods it lacks left empty."""
    return [f"{found[m]:z.8f}{'*' if m in off else ''}" if m in found else "" for m in methods]


def _table(lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
