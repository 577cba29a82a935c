"""Circuit's gate methods: one for every name in the gate table, angles first, then qubits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter as Argument
from inspect import Signature
from typing import TYPE_CHECKING, Any

from circuits.errors import GateError
from circuits.gate_row import Gate, Payload
from circuits.gates import GATES
from circuits.instruction import Instruction, checked_instruction, listed

if TYPE_CHECKING:
    from circuits.circuit import Circuit

# Any in this file: angles, qubits and payloads are checked by ``checked_instruction``.

_PAYLOAD_WORDS = {
    Payload.MATRIX: "matrix",
    Payload.DIAGONAL: "diagonal",
    Payload.IMAGES: "images",
    Payload.PATTERN: "pattern",
    Payload.LABEL: "label",
}


_KEYWORDS = (
    Argument("controls", Argument.KEYWORD_ONLY, default=()),
    Argument("ctrl_state", Argument.KEYWORD_ONLY, default=None),
)


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


def _takes_list(row: Gate) -> bool:
    """Whether qubits come as one list, since their number varies."""
    return row.num_qubits is None or row.num_controls is None


def argument_names(row: Gate) -> list[str]:
    """Return the names of the method's arguments, in order; those of qubits are Qiskit's.

    >>> argument_names(GATES["crx"])
    ['theta', 'control_qubit', 'target_qubit']
    """
    names = [*row.params]
    if row.payload is not None:
        names.append(_PAYLOAD_WORDS[row.payload])
    if row.num_qubits is None:
        return [*names, "qubits"]
    if row.num_controls is None:
        return [*names, "control_qubits", "target_qubit"]
    target = "target_qubit" if row.num_controls else "qubit"
    return [
        *names,
        *_numbered("control_qubit", row.num_controls),
        *_numbered(target, row.num_qubits),
    ]


def _numbered(word: str, count: int) -> list[str]:
    return [word] if count == 1 else [f"{word}{k}" for k in range(1, count + 1)]


def _docstring(row: Gate) -> str:
    several = "" if _takes_list(row) else "Lists of qubits append one gate for each entry.\n\n"
    return (
        f"Append {row.name}: {row.doc}.\n\n"
        "Angles are in radians; ``controls`` are more control qubits, before the gate's own, and "
        f"``ctrl_state`` says what all controls must hold, as in ``append``. {several}"
        "Raises:\n    CircuitError: bad angles or qubits; nothing is changed then."
    )


def _signature(row: Gate) -> Signature:
    arguments = [Argument(name, Argument.POSITIONAL_OR_KEYWORD) for name in argument_names(row)]
    return Signature([Argument("self", Argument.POSITIONAL_ONLY), *arguments])


def _method(row: Gate) -> Callable[..., Circuit]:
    signature = _signature(row)

    def method(
        self: Circuit,
        /,
        *args: Any,
        controls: int | Sequence[int] = (),
        ctrl_state: int | str | None = None,
        **named: Any,
    ) -> Circuit:
        try:
            given = list(signature.bind(self, *args, **named).arguments.values())[1:]
        except TypeError as error:
            expected = ", ".join(argument_names(row))
            raise GateError(f"{row.name} needs ({expected}): {error}. Angles come first.") from None
        held = listed(controls)
        return self.extend(_instructions(row, given, held, ctrl_state, self.num_qubits))

    made: Any = method
    made.__name__ = row.name
    made.__qualname__ = f"Circuit.{row.name}"
    made.__doc__ = _docstring(row)
    made.__signature__ = Signature([*signature.parameters.values(), *_KEYWORDS])
    return method


def _instructions(
    row: Gate,
    given: Sequence[Any],
    controls: Sequence[Any],
    ctrl_state: int | str | None,
    num_qubits: int,
) -> list[Instruction]:
    """Return one instruction for each gate that the arguments name."""
    count = len(row.params)
    placed = count + (row.payload is not None)
    payload = given[count] if row.payload is not None else None
    shared = (given[:count], payload, controls, ctrl_state, num_qubits)
    return [checked_instruction(row, qubits, *shared) for qubits in _each(row, given[placed:])]


def _each(row: Gate, given: Sequence[Any]) -> list[list[Any]]:
    """Return the qubits of each gate: lists are walked together, single qubits stay."""
    columns = [listed(part) for part in given]
    if _takes_list(row):
        return [[q for column in columns for q in column]]
    lengths = {
        len(column)
        for part, column in zip(given, columns, strict=True)
        if len(column) != 1 or column[0] is not part
    }
    if len(lengths) > 1:
        raise GateError(
            f"{row.name} needs lists of qubits of one length, got {sorted(lengths)}. "
            "Give each gate its qubits."
        )
    length = lengths.pop() if lengths else 1
    full = [column if len(column) == length else column * length for column in columns]
    return [list(qubits) for qubits in zip(*full, strict=True)] if full else [[]]
