"""Coefficients of observables: numbers, complex on the way, and affine forms of real Tensors.

Numbers stay outside the recorded history: 0.5 * (theta * Z(0)) keeps the factor 0.5 beside theta,
and (theta * X(0)) @ Y(0) the factor 1j, so that a leaf keeps its identity and stays real.
"""

from __future__ import annotations

import numbers
from cmath import isfinite
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from autodiff import F32, F64, Tensor
from circuits.errors import ObservableError

Number = float | complex
NumberT = TypeVar("NumberT", float, complex)


@dataclass(frozen=True, eq=False)
class Affine:
    """number + sum_k factor_k tensor_k.

    Attributes:
        number: the constant.
        parts: real Tensors of one element, each once, with their factors, none of which is 0.
    """

    number: Number
    parts: tuple[tuple[Tensor, Number], ...]

    def __add__(self, other: Coefficient) -> Coefficient:
        if not isinstance(other, Affine):
            return Affine(self.number + other, self.parts)
        return _collect(self.number + other.number, (*self.parts, *other.parts))

    __radd__ = __add__

    def __mul__(self, other: Coefficient) -> Coefficient:
        if not isinstance(other, Affine):
            parts = tuple([(x, factor * other) for x, factor in self.parts])
            return _collect(self.number * other, parts)
        mixed = [(x, factor * other.number) for x, factor in self.parts]
        mixed += [(y, factor * self.number) for y, factor in other.parts]
        mixed += [(_flat(x) * _flat(y), f * g) for x, f in self.parts for y, g in other.parts]
        return _collect(self.number * other.number, tuple(mixed))

    __rmul__ = __mul__

    def conjugate(self) -> Affine:
        """Return the complex conjugate; the Tensors are real."""
        parts = tuple([(x, factor.conjugate()) for x, factor in self.parts])
        return Affine(self.number.conjugate(), parts)

    def value(self) -> complex:
        """Return the present value."""
        return complex(self.number + sum(factor * x.item() for x, factor in self.parts))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Affine):
            return False
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Number, frozenset[tuple[int, Number]]]:
        return self.number, frozenset([(id(x._meta), factor) for x, factor in self.parts])

    def __str__(self) -> str:
        texts = [number_text(self.number)] if self.number else []
        for x, factor in self.parts:
            name = x.name or type(x).__name__
            texts.append(name if factor == 1 else f"{number_text(factor)} * {name}")
        return f"({' + '.join(texts)})" if len(texts) > 1 else texts[0]


Coefficient = Number | Affine
Factor = Coefficient | Tensor
"""What users may give as a coefficient."""


def as_coefficient(value: Any) -> Coefficient:  # Any: whatever the user gave
    """Return a coefficient: a float, a complex number, or the affine form of a Tensor.

    Raises:
        ObservableError: anything but a finite number or a real Tensor of one element.

    >>> as_coefficient(2)
    2.0
    """
    if isinstance(value, Tensor):
        return Affine(0.0, ((_checked(value), 1.0),))
    if isinstance(value, Affine):
        return value
    if isinstance(value, np.ndarray) and value.shape == ():
        value = value.item()
    try:
        if isinstance(value, numbers.Real):
            return _finite(float(value))
        if isinstance(value, numbers.Complex):
            return _finite(complex(value))
    except OverflowError as error:
        raise ObservableError(
            f"a coefficient needs a finite number, got one beyond the floats: {error}. Scale it."
        ) from error
    raise ObservableError(
        "a coefficient needs a number or a real Tensor of one element, got "
        f"{type(value).__name__} {value!r:.60}. Convert it first; the product of Pauli words is @."
    )


def _finite(number: NumberT) -> NumberT:
    if not isfinite(number):
        raise ObservableError(
            f"a coefficient needs a finite number, got {number}. Check how it was computed."
        )
    return number


def number_text(number: Number) -> str:
    """Return a number as it is written in Python, without a part that is zero.

    >>> number_text(-0.5 + 0j), number_text(-1j)
    ('-0.5', '-1j')
    """
    if number.imag == 0:
        return repr(number.real)
    return repr(number if number.real else complex(0.0, number.imag))


def coefficient_value(coefficient: Coefficient) -> complex:
    """Return the present value of any coefficient."""
    return coefficient.value() if isinstance(coefficient, Affine) else complex(coefficient)


def _checked(tensor: Tensor) -> Tensor:
    if tensor.dtype not in (F32, F64) or tensor.numel() != 1:
        raise ObservableError(
            "a coefficient needs a number or a float32 or float64 Tensor of one element, got "
            f"{tensor._label()}. Index it (w[0]), or take .real."
        )
    return tensor


def _flat(tensor: Tensor) -> Tensor:
    return tensor.reshape(()) if tensor.shape else tensor


def _collect(number: Number, parts: tuple[tuple[Tensor, Number], ...]) -> Coefficient:
    """Add up the factors of each Tensor; what is left without Tensors is a number."""
    found: dict[int, tuple[Tensor, Number]] = {}
    for x, factor in parts:
        known = found.get(id(x._meta))
        found[id(x._meta)] = (x, factor if known is None else known[1] + factor)
    kept = tuple([(x, factor) for x, factor in found.values() if factor != 0])
    return Affine(number, kept) if kept else number
