"""Gradients that are slices of one flat buffer: a Tensor is made of one only when it is read.

A circuit with hundreds of scalar Parameters has one flat gradient; a Tensor for each of them would
cost more than the gradient itself.
"""

from __future__ import annotations

from math import prod

from autodiff.node import Lazy, Shape
from autodiff.table import FUNCTIONS
from autodiff.tensors import Tensor


class Slice(Lazy):
    """Elements ``start`` and on of a flat cotangent without history, in a shape."""

    __slots__ = ("flat", "shape", "start")

    def __init__(self, flat: Tensor, start: int, shape: Shape) -> None:
        self.flat = flat
        self.start = start
        self.shape = shape
        self.dtype = flat._cell.dtype

    def tensor(self) -> Tensor:
        """Return the gradient in memory of its own."""
        part = FUNCTIONS["getitem"](self.flat, slice(self.start, self.start + prod(self.shape)))
        made: Tensor = FUNCTIONS["copy"](FUNCTIONS["reshape"](part, self.shape))
        return made
