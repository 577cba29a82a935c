"""Angles: numbers, Parameters, Input elements and expressions of them, captured when appended.

An angle is offset + sum_j coefficient_j leaf_j + scale * program(leaves). Affine expressions have
no program; all of a circuit's affine parts are one sparse product (``angle_table``). What an
expression was made of is copied out of the recorded history at once, so later backward passes,
``no_grad`` or changes do not touch it; every run evaluates it with the values of that moment.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isfinite, isinf
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from autodiff import F32, F64, Parameter, Program, Tensor
from autodiff.dtypes import DType, is_complex
from autodiff.node import Kind
from autodiff.program import Instruction, Place, Ref, no_batch_error, placeholder
from circuits.errors import AngleError, BindingError

Atom = tuple[Tensor, int]
"""A leaf and the flat index of one of its elements."""


class Input(Tensor):
    """Features that are given at run time: ``x = Input("x", 2)``, then ``qc.rx(x[0], 0)``.

    Args:
        name: the key under which ``inputs={name: values}`` gives the values.
        size: number of elements; values have shape ``(size,)`` or ``(B, size)``.
        dtype: float32 or float64.

    Raises:
        BindingError: a name that is no text, a size below 1, another dtype.

    >>> Input("x", 2).shape
    (2,)
    """

    __slots__ = ()

    def __init__(self, name: str, size: int, dtype: DTypeLike = F64) -> None:
        if not isinstance(name, str) or not name:
            raise BindingError(f"Input needs a name, got {name!r}. Give text, such as 'x'.")
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise BindingError(
                f"Input {name!r} needs a size of at least 1, got {size!r}. Count its elements."
            )
        try:
            kind = np.dtype(dtype)
        except TypeError:
            kind = np.dtype(object)
        if kind not in (F32, F64):
            raise BindingError(
                f"Input {name!r} needs dtype float32 or float64, got {dtype!r:.60}. "
                "Leave it out for float64."
            )
        made = placeholder((size,), kind, name)
        self._cell, self._meta = made._cell, made._meta

    def deep_clone(self) -> Input:
        """Return another Input of the same name, size and dtype; there is no value to copy."""
        return Input(*self.__reduce__()[1])

    def __reduce__(self) -> tuple[type[Input], tuple[str, int, DType]]:
        assert self.name is not None
        return Input, (self.name, self.shape[0], self.dtype)


@dataclass(frozen=True, eq=False)
class Angle:
    """A symbolic angle in radians.

    Attributes:
        atoms: elements of leaves that enter linearly.
        coefficients: their factors.
        offset: the constant.
        program: the part that is not affine, with one scalar output.
        scale: its factor.
        leaves: every leaf, in order of first use.
    """

    atoms: tuple[Atom, ...] = ()
    coefficients: tuple[float, ...] = ()
    offset: float = 0.0
    program: Program | None = None
    scale: float = 1.0
    leaves: tuple[Tensor, ...] = ()

    def __neg__(self) -> Angle:
        return self * -1.0

    def __mul__(self, factor: float) -> Angle:
        return replace(
            self,
            coefficients=tuple([c * factor for c in self.coefficients]),
            offset=self.offset * factor,
            scale=self.scale * factor,
        )

    __rmul__ = __mul__

    def __add__(self, number: float) -> Angle:
        return replace(self, offset=self.offset + number)

    __radd__ = __add__

    def __sub__(self, number: float) -> Angle:
        return self + -number

    def substitute(self, leaf_of: Callable[[Tensor], Tensor]) -> Angle:
        """Return the same expression of other leaves."""
        program = self.program
        if program is not None:
            program = replace(program, slots=tuple([leaf_of(x) for x in program.slots]))
        return replace(
            self,
            atoms=tuple([(leaf_of(x), k) for x, k in self.atoms]),
            program=program,
            leaves=tuple([leaf_of(x) for x in self.leaves]),
        )


def capture_angle(value: Any, where: str) -> float | Angle:  # Any: whatever the user gave
    """Return a number, or the captured expression.

    Args:
        value: what stands as an angle in a gate call; one that is captured already stays as it is.
        where: the gate, for messages.

    Raises:
        AngleError: anything but a finite real number, a Parameter, an Input element or an
            expression of them with one element.
    """
    if isinstance(value, Tensor):
        return _capture_tensor(value, where)
    if isinstance(value, Angle):
        return value
    if isinstance(value, numbers.Real) or (
        isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "iuf"
    ):
        with suppress(OverflowError):
            number = float(value)
            if not isinf(number):  # NaN stays: it is what runs give back
                return number
        raise AngleError(
            f"an angle of {where} needs a finite number, got {type(value).__name__} "
            f"{value!r:.60}. Check how it was computed."
        )
    raise AngleError(
        f"an angle of {where} needs a real number, a Parameter, an Input element or an expression "
        f"of them, got {type(value).__name__} {value!r:.60}. {_angle_remedy(value)}"
    )


def _angle_remedy(value: object) -> str:
    if type(value).__module__.startswith("qiskit"):
        return "Make a Parameter with a value: qml.Parameter(0.0, name=...), or use from_qiskit."
    return "Convert it to a float, or make it a Parameter: Parameter(value)."


def _capture_tensor(value: Tensor, where: str) -> Angle:
    if value.numel() != 1:
        raise AngleError(
            f"an angle of {where} needs one element, got {value._label()}. "
            f"Index it: {value.name or 'w'}[0]."
        )
    if is_leaf_slot(value):
        leaf = checked_leaf(value, where)
        return Angle(((leaf, 0),), (1.0,), leaves=(leaf,))
    if is_complex(value.dtype):
        raise AngleError(
            f"an angle of {where} needs a real expression, got {value._label()}. "
            "Take .real, .imag or abs() of it."
        )
    program = Program.capture([value], is_leaf_slot, lambda leaf: _refused_leaf(leaf, where))
    slots = tuple([checked_leaf(leaf, where) for leaf in program.slots])
    return program_angle(replace(program, slots=slots), where)


def program_angle(program: Program, where: str) -> Angle:
    """Return the angle that a program with one scalar output computes, affine where it is.

    Raises:
        AngleError: an op without a meaning per sample.
    """
    for instruction in program.instructions:
        if instruction.op.per_sample is None:
            raise AngleError(
                f"an angle of {where} cannot be used. {no_batch_error(instruction.op)}"
            )
    affine = _affine_form(program)
    if affine is None:
        return Angle(program=program, leaves=program.slots)
    atoms, offset = affine
    return Angle(tuple(atoms), tuple(atoms.values()), offset, leaves=program.slots)


def is_leaf_slot(x: Tensor) -> bool:
    """Whether a leaf gets its value at each run: Parameters and Inputs."""
    return x._meta.history is None and x._meta.kind in (Kind.PARAMETER, Kind.INPUT)


def checked_leaf(leaf: Tensor, where: str) -> Tensor:
    """Return the leaf, a Parameter as such whatever its handle is, or refuse its dtype.

    Raises:
        AngleError: neither float32 nor float64.
    """
    if leaf.dtype not in (F32, F64):
        raise AngleError(
            f"an angle of {where} needs float32 or float64 leaves, got {leaf._label()}. "
            "Make the Parameter real, e.g. Parameter(0.1)."
        )
    if leaf._meta.kind is Kind.PARAMETER and not isinstance(leaf, Parameter):
        return Parameter._wrap(leaf._cell, leaf._meta)
    return leaf


def _refused_leaf(leaf: Tensor, where: str) -> AngleError:
    name = leaf.name or "a"
    return AngleError(
        f"an angle of {where} needs an expression of Parameters, Inputs and numbers, got one with "
        f"{leaf._label()}, a Tensor without recorded history: made under no_grad, detached, freed "
        "by backward, of Parameters with requires_grad=False, or data. Pass float(x) for its "
        f"present value, or declare Input({name!r}, 1) and pass inputs={{{name!r}: x}}."
    )


# -- affine expressions ----------------------------------------------------------------------------


class Linear(dict[tuple[int, int], float]):
    """An affine scalar: offset + sum of coefficients by (slot, element)."""

    offset = 0.0

    def scaled(self, factor: float) -> Linear:
        """Return factor * self."""
        result = Linear({key: c * factor for key, c in self.items()})
        result.offset = self.offset * factor
        return result

    def plus(self, other: Linear, factor: float) -> Linear:
        """Return self + factor * other."""
        result = Linear(self)
        for key, c in other.items():
            result[key] = result.get(key, 0.0) + c * factor
        result.offset = self.offset + other.offset * factor
        return result


def _times(x: Linear, y: Linear) -> Linear | None:
    if not y:
        return x.scaled(y.offset)
    return y.scaled(x.offset) if not x else None


# An op that is missing here is still right: the expression is then evaluated as a program.
_AFFINE: Mapping[str, Callable[..., Linear | None]] = {
    "add": lambda x, y: x.plus(y, 1.0),
    "subtract": lambda x, y: x.plus(y, -1.0),
    "negative": lambda x: x.scaled(-1.0),
    "multiply": _times,
    "divide": lambda x, y: x.scaled(1.0 / y.offset) if not y and y.offset else None,
    "reshape": lambda x: x,
    "copy": lambda x: x,
}


def _affine_form(program: Program) -> tuple[dict[Atom, float], float] | None:
    """Return atoms with coefficients and the offset, or None if the expression is not affine."""
    results: list[Linear | None] = []

    def value(ref: Ref) -> Linear | None:
        if ref.place is Place.RESULT:
            return results[ref.index]
        leaf = (program.slots if ref.place is Place.SLOT else program.constants)[ref.index]
        if leaf.numel() != 1 or is_complex(leaf.dtype):
            return None
        if ref.place is Place.SLOT:
            return Linear({(ref.index, 0): 1.0})
        result = Linear()
        result.offset = float(leaf.item())
        return result

    for instruction in program.instructions:
        element = picked_element(program, instruction)
        if element is not None:
            results.append(Linear({element: 1.0}))
            continue
        rule = _AFFINE.get(instruction.op.name)
        operands = [value(ref) for ref in instruction.operands]
        known = rule is not None and all(x is not None for x in operands)
        results.append(rule(*operands) if rule is not None and known else None)
    form = value(program.outputs[0])
    if form is None or not all(map(isfinite, (form.offset, *form.values()))):
        return None
    return {(program.slots[s], k): c for (s, k), c in form.items()}, form.offset


def picked_element(program: Program, instruction: Instruction) -> tuple[int, int] | None:
    """Return (slot, flat element) if the instruction picks one element of a slot."""
    if instruction.op.name != "getitem" or instruction.operands[0].place is not Place.SLOT:
        return None
    slot = instruction.operands[0].index
    shape = program.slots[slot].shape
    picked = np.arange(program.slots[slot].numel()).reshape(shape)[instruction.attrs["index"]]
    return (slot, int(picked.item())) if picked.size == 1 else None


def distinct_leaves(angles: Sequence[Angle]) -> list[Tensor]:
    """Return every leaf once, in order of first use."""
    found: dict[int, Tensor] = {}
    for angle in angles:
        for leaf in angle.leaves:
            found.setdefault(id(leaf._meta), leaf)
    return list(found.values())
