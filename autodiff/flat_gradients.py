"""Gradients of many leaves at once: where they are slices of one flat buffer, as that buffer.

A circuit with hundreds of scalar Parameters has one flat gradient; a Tensor for each of them would
cost more than the gradient itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

from autodiff.slices import Slice
from autodiff.tensors import Tensor


class Piece(NamedTuple):
    """Some elements, in flat order, of a tensor without history."""

    tensor: Tensor
    start: int
    stop: int


def gradient_pieces(leaves: Sequence[Tensor]) -> list[Piece]:
    """Return all gradients one after the other, in as few pieces as they lie in.

    Args:
        leaves: tensors that have a gradient.

    Returns:
        Pieces whose elements, in order, are those of the leaves' gradients.

    >>> p, q = Tensor(1.0, requires_grad=True), Tensor([2.0, 3.0], requires_grad=True)
    >>> (p * q).sum().backward()
    >>> [piece.tensor.tolist() for piece in gradient_pieces([p, q])]
    [5.0, [1.0, 1.0]]
    """
    pieces: list[Piece] = []
    flat, start, stop = None, 0, 0
    for leaf in leaves:
        g = leaf._meta.raw_grad
        assert g is not None
        size = 1 if g.shape == () else prod(g.shape)
        if type(g) is Slice:
            if g.flat is flat and g.start == stop:
                stop += size
                continue
            whole, first = g.flat, g.start
        else:
            assert isinstance(g, Tensor)
            whole, first = g, 0
        if flat is not None:
            pieces.append(Piece(flat, start, stop))
        flat, start, stop = whole, first, first + size
    return pieces if flat is None else [*pieces, Piece(flat, start, stop)]


def map_gradients(formula: Callable[[Tensor], Tensor], leaves: Sequence[Tensor]) -> None:
    """Replace all gradients by a formula of their elements; slices of one buffer stay that.

    Args:
        formula: elementwise; it keeps shape and dtype.
        leaves: tensors that have a gradient.

    >>> p = Tensor([1.0, 2.0], requires_grad=True)
    >>> p.sum().backward()
    >>> map_gradients(lambda g: 3.0 * g, [p])
    >>> p.grad.tolist()
    [3.0, 3.0]
    """
    made: dict[int, Tensor] = {}
    for leaf in leaves:
        g = leaf._meta.raw_grad
        assert g is not None
        if type(g) is Slice:
            key = id(g.flat)
            if key not in made:
                made[key] = formula(g.flat)
            leaf._meta.raw_grad = Slice(made[key], g.start, g.shape)
        else:
            assert isinstance(g, Tensor)
            leaf.grad = formula(g)
