"""Angles as short text: 0.5, 3π/4, 2*theta + phi, x[0]*phi."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite, pi
from typing import TYPE_CHECKING

from autodiff import Parameter, Tensor
from autodiff.program import Instruction, Place, Program, Ref
from circuits.angles import Angle

if TYPE_CHECKING:
    from circuits.circuit import Circuit

_LONGEST = 32
"""Characters of an expression; a longer one is written as a function of its leaves."""

_LARGEST_DENOMINATOR = 16
"""Of a multiple of pi that is written as one."""

_SUM, _PRODUCT, _ATOM = 1, 2, 3
"""How tightly the outermost operation of a text binds."""

_INFIX = {
    "add": (" + ", _SUM),
    "subtract": (" - ", _SUM),
    "multiply": ("*", _PRODUCT),
    "divide": ("/", _PRODUCT),
}

Names = Mapping[int, str]
"""Names of leaves by the identity of their metadata, which all their handles share."""


def leaf_names(circuit: Circuit) -> Names:
    """Return the names of a circuit's Parameters and Inputs."""
    parameters = zip(circuit.leaves.parameters, circuit.parameter_names(), strict=True)
    return {**dict(parameters), **{id(x._meta): str(x.name) for x in circuit.inputs}}


def number_text(value: float) -> str:
    """Return a number with four digits, or as a multiple of pi where it is a simple one.

    >>> number_text(0.5), number_text(-3 * pi / 4), number_text(1 / 3)
    ('0.5', '-3π/4', '0.3333')
    """
    if not isfinite(value) or value == 0:
        return f"{value:g}".removeprefix("-") if value == 0 else f"{value:g}"
    ratio = Fraction(value / pi).limit_denominator(_LARGEST_DENOMINATOR)
    if ratio == 0 or abs(float(ratio) * pi - value) > 1e-9 * abs(value):
        return f"{value:.4g}"
    sign, count = "-" if ratio < 0 else "", abs(ratio.numerator)
    over = "" if ratio.denominator == 1 else f"/{ratio.denominator}"
    return f"{sign}{'' if count == 1 else count}π{over}"


def angle_text(angle: float | Angle, names: Names) -> str:
    """Return what a drawing says of an angle.

    Args:
        angle: a number in radians, or a captured expression.
        names: of its leaves; see ``leaf_names``.
    """
    if not isinstance(angle, Angle):
        return number_text(angle)
    terms = [
        (coefficient, (_element(leaf, k, names), _ATOM))
        for (leaf, k), coefficient in zip(angle.atoms, angle.coefficients, strict=True)
    ]
    if angle.program is not None:
        terms.append((angle.scale, _program_text(angle.program, names)))
    text = "".join(_term(*term, first=k == 0) for k, term in enumerate(terms))
    if angle.offset or not terms:
        text += _signed(number_text(angle.offset), first=not terms)
    if len(text) <= _LONGEST:
        return text
    return f"f({', '.join(names[id(leaf._meta)] for leaf in angle.leaves)})"


def _element(leaf: Tensor, index: int, names: Names) -> str:
    """Return ``theta`` for a Parameter that is one number, else ``w[3]``, ``W[0, 1]``."""
    name = names[id(leaf._meta)]
    if isinstance(leaf, Parameter) and leaf.numel() == 1:
        return name
    place = []
    for size in reversed(leaf.shape):
        index, k = divmod(index, size)
        place.append(k)
    return f"{name}[{', '.join(map(str, reversed(place)))}]"


def _signed(text: str, *, first: bool) -> str:
    if first:
        return text
    return f" - {text[1:]}" if text.startswith("-") else f" + {text}"


def _term(coefficient: float, factor: tuple[str, int], *, first: bool) -> str:
    text = factor[0]
    if coefficient in (1.0, -1.0):
        sign = "-" if coefficient < 0 else ""
        return _signed(f"{sign}{_within(factor, _PRODUCT) if sign else text}", first=first)
    return _signed(f"{number_text(coefficient)}*{_within(factor, _PRODUCT)}", first=first)


def _within(part: tuple[str, int], binding: int) -> str:
    """Return a text as an operand of something that binds as tightly as ``binding``."""
    text, own = part
    return text if own >= binding else f"({text})"


def _program_text(program: Program, names: Names) -> tuple[str, int]:
    results: list[tuple[str, int]] = []

    def text_of(ref: Ref) -> tuple[str, int]:
        if ref.place is Place.RESULT:
            return results[ref.index]
        if ref.place is Place.SLOT:
            return names[id(program.slots[ref.index]._meta)], _ATOM
        constant = program.constants[ref.index]
        return (number_text(float(constant.item())) if constant.numel() == 1 else "array"), _ATOM

    for instruction in program.instructions:
        parts = [text_of(ref) for ref in instruction.operands]
        results.append(_instruction_text(instruction, parts))
    return text_of(program.outputs[0])


def _instruction_text(
    instruction: Instruction, parts: Sequence[tuple[str, int]]
) -> tuple[str, int]:
    name = instruction.op.name
    if name in _INFIX:
        symbol, binding = _INFIX[name]
        # a - (b - c) and a / (b * c) keep their parentheses.
        tighter = binding + (name in ("subtract", "divide"))
        return f"{_within(parts[0], binding)}{symbol}{_within(parts[1], tighter)}", binding
    if name == "negative":
        return f"-{_within(parts[0], _PRODUCT)}", _SUM
    if name in ("copy", "reshape"):
        return parts[0]
    if name == "getitem":
        index = instruction.attrs["index"]
        every = index if isinstance(index, tuple) else (index,)
        places = [place for place in every if place is not Ellipsis]
        return f"{_within(parts[0], _ATOM)}[{', '.join(map(_index_text, places))}]", _ATOM
    return f"{name}({', '.join(text for text, _ in parts)})", _ATOM


def _index_text(index: object) -> str:
    if not isinstance(index, slice):
        return str(index)
    parts = [index.start, index.stop, *([] if index.step is None else [index.step])]
    return ":".join("" if part is None else str(part) for part in parts)
