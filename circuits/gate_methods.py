"""Circuit's gate methods: one for every name in the gate table, angles first, then qubits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from circuits.errors import GateError
from circuits.gate_row import Gate, Payload
from circuits.gates import GATES

if TYPE_CHECKING:
    from circuits.circuit import Circuit

# Any in this file: angles, qubits and payloads are checked by Circuit.append.

_PAYLOAD_WORDS = {
    Payload.MATRIX: "matrix",
    Payload.DIAGONAL: "diagonal",
    Payload.IMAGES: "images",
    Payload.PATTERN: "pattern",
    Payload.LABEL: "label",
}


class GateMethods:
    """What type checkers know of the methods that ``install_gates`` makes."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Circuit]: ...


def install_gates(circuit: type[Circuit]) -> None:
    """Give Circuit a method for every gate and alias; its own methods come first."""
    for row in GATES.values():
        method = _method(row)
        for name in (row.name, *row.aliases):
            if not hasattr(circuit, name):
                setattr(circuit, name, method)


def _method(row: Gate) -> Callable[..., Circuit]:
    made = _listed_method(row) if _takes_list(row) else _plain_method(row)
    made.__name__ = row.name
    made.__qualname__ = f"Circuit.{row.name}"
    made.__doc__ = _docstring(row)
    return made


def _takes_list(row: Gate) -> bool:
    """Whether qubits come as one list, since their number varies."""
    return row.num_qubits is None or row.num_controls is None


def _arguments(row: Gate) -> list[str]:
    """Names of the method's arguments, in order."""
    names = [*row.params]
    if row.payload is not None:
        names.append(_PAYLOAD_WORDS[row.payload])
    if row.num_qubits is None:
        return [*names, "qubits"]
    if row.num_controls is None:
        return [*names, "controls", "target"]
    names += [f"control{k}" for k in range(row.num_controls)] if row.num_controls else []
    return names + [f"qubit{k}" for k in range(row.num_qubits)]


def _docstring(row: Gate) -> str:
    arguments = ", ".join(_arguments(row))
    return (
        f"Append {row.name}: {row.doc}.\n\n"
        f"Called as ``{row.name}({arguments}, ctrl_state=None)``; angles in radians. "
        "Sequences of qubits append one gate for each entry.\n\n"
        "Raises:\n    CircuitError: bad angles or qubits; nothing is changed then."
    )


def _plain_method(row: Gate) -> Callable[..., Circuit]:
    count = len(row.params)
    wanted = count + (row.num_controls or 0) + (row.num_qubits or 0)

    def method(self: Circuit, *args: Any, ctrl_state: int | str | None = None) -> Circuit:
        if len(args) != wanted:
            expected = ", ".join(_arguments(row))
            raise GateError(f"{row.name} needs ({expected}), got {len(args)} arguments.")
        for qubits in _broadcast(row, args[count:]):
            self.append(row, qubits, args[:count], ctrl_state=ctrl_state)
        return self

    return method


def _broadcast(row: Gate, qubits: Sequence[Any]) -> list[tuple[Any, ...]]:
    """One tuple of qubits a gate: lists are walked together, single qubits stay."""
    columns = [list(q) if isinstance(q, Iterable) and not isinstance(q, str) else q for q in qubits]
    lengths = {len(c) for c in columns if isinstance(c, list)}
    if not lengths:
        return [tuple(qubits)]
    if len(lengths) > 1:
        raise GateError(f"{row.name} needs lists of qubits of one length, got {sorted(lengths)}.")
    (length,) = lengths
    return [tuple(c[k] if isinstance(c, list) else c for c in columns) for k in range(length)]


def _listed_method(row: Gate) -> Callable[..., Circuit]:
    count = len(row.params)
    arguments = _arguments(row)

    def method(self: Circuit, *args: Any, ctrl_state: int | str | None = None) -> Circuit:
        if len(args) != len(arguments):
            expected = ", ".join(arguments)
            raise GateError(f"{row.name} needs ({expected}), got {len(args)} arguments.")
        rest = list(args[count:])
        payload = rest.pop(0) if row.payload is not None else None
        qubits = [q for part in rest for q in _as_list(part)]
        return self.append(row, qubits, args[:count], payload=payload, ctrl_state=ctrl_state)

    return method


def _as_list(part: Any) -> list[Any]:
    return list(part) if isinstance(part, Iterable) and not np.isscalar(part) else [part]
