"""Write ``docs/gates.md`` from the gate table.

Run it after a change there: ``python scripts/write_gates_page.py``. A test compares.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from circuits.gate_methods import argument_names
from circuits.gate_row import Gate
from circuits.gates import GATES

PAGE = Path(__file__).parents[1] / "docs" / "gates.md"

HEAD = """\
# Gates

<!-- Written by scripts/write_gates_page.py from circuits/gates.py: edit there. -->

Every gate is a method of `Circuit`: angles first, in radians, then what the gate carries, then
controls, then targets. Names, matrices and bit order are Qiskit's. Every method also takes
`controls=` and `ctrl_state=`, and lists of qubits, which append one gate for each entry.
`circuit.append(name, qubits, angles)` does the same by name; [Adding](adding.md) says how to add
a row.

The structure is what engines see: a permutation of basis states, a diagonal, a rotation
exp(-i theta P / 2) about a Pauli word P, or a dense matrix.
"""

SECTIONS: tuple[tuple[str, Callable[[Gate], bool]], ...] = (
    ("Without angles", lambda row: row.base is None and not row.params and row.payload is None),
    ("With angles", lambda row: bool(row.params) and row.base is None and row.payload is None),
    ("With a matrix, a list or a label", lambda row: row.payload is not None),
    ("Controlled", lambda row: row.base is not None),
)


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, belongs in SECTIONS:
        rows = [_line(row) for row in GATES.values() if belongs(row)]
        table = ["| method | what it does | structure | drawn as | Qiskit | also |"]
        parts.append(
            "\n".join([f"## {title}\n", *table, "|---|---|---|---|---|---|", *rows]) + "\n"
        )
    return "\n".join(parts)


def _line(row: Gate) -> str:
    call = f"`{row.name}({', '.join(argument_names(row))})`"
    also = ", ".join(f"`{alias}`" for alias in row.aliases)
    qiskit = f"`{row.qiskit}`" if row.qiskit else ""
    cells = (call, row.doc, row.structure.name.lower(), row.symbol, qiskit, also)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
