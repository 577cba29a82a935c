"""Which row of the gate table a Qiskit gate is, by its class and never by its name."""

from __future__ import annotations

from functools import cache
from typing import Any

from qiskit.circuit import library

from circuits.gate_row import Gate
from circuits.gates import GATES


@cache
def rows_by_class() -> dict[type, Gate]:
    """Return the rows of gates without payload by their class in Qiskit's library."""
    rows = [row for row in GATES.values() if row.qiskit and row.payload is None]
    found = {getattr(library, row.qiskit, None): row for row in rows}
    return {cls: row for cls, row in found.items() if cls is not None}


@cache
def _controlled_rows() -> dict[tuple[str | None, int | None], Gate]:
    return {(row.base, row.num_controls): row for row in GATES.values() if row.base}


def controlled_row(base: Gate, num_controls: int) -> Gate:
    """Return the row of a base gate under controls, where that has a name of its own.

    >>> controlled_row(GATES["x"], 2).name, controlled_row(GATES["x"], 5).name
    ('ccx', 'mcx')
    >>> controlled_row(GATES["ry"], 2).name
    'ry'
    """
    rows = _controlled_rows()
    named = rows.get((base.name, num_controls)) or rows.get((base.name, None))
    return named or base


def class_of(operation: Any) -> type:  # Any: an instruction, or a class that acts like one
    """Return the class that a user would construct; Qiskit's singletons have hidden ones."""
    return getattr(operation, "base_class", None) or type(operation)
