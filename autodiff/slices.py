"""Cotangents that are parts of a flat one: Tensors are made of them only when they are read.

A circuit with hundreds of scalar Parameters has one flat gradient; a Tensor for each of them would
cost more than the gradient itself.
"""

from __future__ import annotations

from typing import final

from autodiff.dispatch import apply
from autodiff.node import Deferred, Shape
from autodiff.ops.index import part
from autodiff.table import OPS
from autodiff.tensors import Tensor


@final
class Slice(Deferred):
    """Elements of a flat cotangent, which has no history.

    Attributes:
        flat: ``(S,)``.
        start: the first element.
        shape: of the cotangent.
    """

    __slots__ = ("flat", "shape", "start")

    def __init__(self, flat: Tensor, start: int, shape: Shape) -> None:
        self.flat = flat
        self.start = start
        self.shape = shape

    def tensor(self) -> Tensor:
        """Return the cotangent in memory of its own."""
        return part(self.flat, self.start, self.shape)


def evaluated(g: Tensor | Slice) -> Tensor:
    """Return a cotangent as a Tensor."""
    return g.tensor() if type(g) is Slice else g


def _is_same_part(a: Slice, b: Slice) -> bool:
    return a.start == b.start and a.flat._cell.shape == b.flat._cell.shape


class Sums(dict[tuple[int, int], tuple[Tensor, Tensor, Tensor]]):
    """Sums of cotangents of one pass; all slices of the same two flat ones are one op."""

    __slots__ = ()

    def add(self, a: Tensor | Slice, b: Tensor | Slice) -> Tensor | Slice:
        """Return a + b, two cotangents of one tensor."""
        if type(a) is Slice and type(b) is Slice and _is_same_part(a, b):
            return Slice(self._of_flat(a.flat, b.flat), a.start, a.shape)
        both: Tensor = apply(OPS["add"], evaluated(a), evaluated(b))
        return both

    def _of_flat(self, a: Tensor, b: Tensor) -> Tensor:
        key = (id(a), id(b))  # kept beside the sum, so that nothing else gets these
        if key not in self:
            self[key] = (a, b, apply(OPS["add"], a, b))
        return self[key][2]
