"""What became of each instruction of an imported circuit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape


@dataclass
class ImportReport:
    """What was mapped, decomposed and ignored; prints as a table.

    Attributes:
        source: the Qiskit circuit's name.
        mapped: number of gates by our name.
        decomposed: number of instructions that their definition replaced, by Qiskit's name.
        ignored: number of instructions without effect on the state, by Qiskit's name and reason.
        registers: our qubits of each quantum register.
        classical_registers: the classical bits of each classical register.
        inputs: names of the symbols that became the elements of each Input, in order.
        places: where each qubit of Qiskit's circuit is in ours; None where it was left out.
        layout: after a transpilation, where each virtual qubit is in ours, else None.
        undefined: Parameters of angles that have no value at 0, where no ``values`` were given.

    >>> report = ImportReport(
    ...     "bell", Counter(h=1, cx=1), ignored=Counter({("barrier", "order"): 1})
    ... )
    >>> print(report)
    import of 'bell'
    instruction  became      count  note
    h            mapped      1
    cx           mapped      1
    barrier      ignored     1      order
    """

    source: str
    mapped: Counter[str] = field(default_factory=Counter)
    decomposed: Counter[str] = field(default_factory=Counter)
    ignored: Counter[tuple[str, str]] = field(default_factory=Counter)
    registers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    classical_registers: dict[str, tuple[int, ...]] = field(default_factory=dict)
    inputs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    places: tuple[int | None, ...] = ()
    layout: tuple[int | None, ...] | None = None
    undefined: tuple[str, ...] = ()

    def rows(self) -> list[tuple[str, str, int, str]]:
        """Return (instruction, what it became, count, note), one row a kind."""
        rows = [(name, "mapped", count, "") for name, count in self.mapped.items()]
        rows += [(name, "decomposed", count, "") for name, count in self.decomposed.items()]
        rows += [(name, "ignored", count, why) for (name, why), count in self.ignored.items()]
        left_out = [q for q, place in enumerate(self.places) if place is None]
        if left_out:
            note = f"idle, in |0>: {_ranges(left_out)}"
            rows.append(("qubit", "left out", len(left_out), note))
        return rows

    def on_qubits(self, place: Mapping[int, int]) -> ImportReport:
        """Return the report of a circuit that has some of the qubits alone.

        Args:
            place: where each qubit that is left stands now.
        """

        def moved(qubits: Iterable[int | None]) -> tuple[int | None, ...]:
            return tuple([None if q is None else place.get(q) for q in qubits])

        registers = {
            name: tuple([place[q] for q in qubits if q in place])
            for name, qubits in self.registers.items()
        }
        layout = None if self.layout is None else moved(self.layout)
        return replace(self, registers=registers, places=moved(self.places), layout=layout)

    def __str__(self) -> str:
        table = [_HEADER, *self.rows()]
        first = max(len(row[0]) for row in table)
        lines = [f"{a:{first}}  {b:10}  {c:<5}  {d}".rstrip() for a, b, c, d in table]
        return "\n".join([f"import of {self.source!r}", *lines, *self._hints()])

    def _hints(self) -> list[str]:
        if not self.undefined:
            return []
        names = ", ".join(self.undefined[:_SHOWN])
        return [f"angles of {names} have no value where these are 0: pass values="]

    def _repr_html_(self) -> str:
        head = _html_row("th", _HEADER)
        body = "".join([_html_row("td", row) for row in self.rows()])
        caption = f"<caption>import of {escape(repr(self.source))}</caption>"
        hints = "".join([f"<p>{escape(hint)}</p>" for hint in self._hints()])
        return f"<table>{caption}{head}{body}</table>{hints}"


_HEADER = ("instruction", "became", "count", "note")
_SHOWN = 8
"""How many names a hint lists."""


def _ranges(numbers: Sequence[int]) -> str:
    """Return rising numbers as text, those in a row as a range.

    >>> _ranges([0, 1, 2, 5])
    '0-2, 5'
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join([f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts])


def _html_row(tag: str, cells: Iterable[object]) -> str:
    return "<tr>" + "".join([f"<{tag}>{escape(str(c))}</{tag}>" for c in cells]) + "</tr>"
