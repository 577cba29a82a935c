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


_PAYLOAD_TYPES = {
    Payload.MATRIX: "complex array ``(2**k, 2**k)`` or Tensor, unitary",
    Payload.DIAGONAL: "complex array ``(2**k,)`` of modulus 1",
    Payload.IMAGES: "int array ``(2**k,)``, where each basis state goes",
    Payload.PATTERN: "int array ``(k,)``, where each qubit goes",
    Payload.LABEL: "str of the letters I, X, Y, Z, the first qubit on the right",
}


def _docstring(row: Gate) -> str:
    """Return the sections in the order of the style guide; the example runs where it needs none."""
    lines = [f"Append {row.name}: {row.doc}.", "", "Args:"]
    lines += [f"    {name}: {_argument_text(row, name)}." for name in argument_names(row)]
    lines += [
        "    controls: int or sequence of int, more control qubits, before the gate's own.",
        "    ctrl_state: int or str, what all controls must hold, as in ``append``; None: ones.",
        "",
        "Returns:",
        "    The circuit, so that calls chain.",
        "",
        "Raises:",
        "    AngleError: an angle that is no finite number, Parameter, Input or expression.",
        "    QubitError: qubits out of range, repeated or no integers.",
        "    GateError: other arguments than these. Nothing is changed in any of these cases.",
    ]
    if row.payload is None and not _takes_list(row):
        width = row.num_qubits + row.num_controls  # type: ignore[operator]  # both are numbers
        given = [*["0.1"] * len(row.params), *map(str, range(width))]
        call = f"Circuit({width}).{row.name}({', '.join(given)}).size()"
        lines += ["", "Example:", "    >>> from circuits import Circuit"]
        lines += [f"    >>> {call}", "    1"]
    return "\n".join(lines)


def _argument_text(row: Gate, name: str) -> str:
    """Return type and meaning of one argument."""
    if name in row.params:
        return "float, Parameter, Input element or expression, in radians"
    if row.payload is not None and name == _PAYLOAD_WORDS[row.payload]:
        return _PAYLOAD_TYPES[row.payload]
    if _takes_list(row):
        return "int or sequence of int"
    return "int, or a sequence of int for one gate each"


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
