"""Joining tensors along an axis, and cutting them into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from operator import index as as_index
from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.errors import ShapeError
from autodiff.node import Cotangents, Meta, Op, Shape
from autodiff.ops.declare import public, register, unchanged
from autodiff.ops.index import getitem
from autodiff.ops.shape import one_axis, ravel, reshape
from autodiff.tensors import Operand, Tensor

# Any in this file: a backend's module and arrays.


def flat_elements(xp: Any, arrays: Sequence[Any], scalars: bool = False) -> Any:
    """Return the elements of arrays one after the other ``(N,)``; ``scalars``: all are 0-d."""
    if scalars:
        return xp.array(arrays)  # 9 times faster for 32 of them
    return xp.concatenate([a.reshape(-1) for a in arrays])


def _concatenate(xp: Any, *arrays: Any, axis: int) -> Any:
    shapes = _batched([x.shape for x in arrays])
    return xp.concatenate(
        [xp.broadcast_to(x, shape) for x, shape in zip(arrays, shapes, strict=True)], axis
    )


def _concatenate_meta(*metas: Meta, axis: int) -> tuple[Meta, ...]:
    shapes = _batched([shape for shape, _ in metas])
    joined = list(shapes[0])
    joined[axis] = sum([shape[axis] for shape in shapes])
    return ((tuple(joined), np.result_type(*[dtype for _, dtype in metas])),)


def _batched(shapes: Sequence[Shape]) -> list[Shape]:
    """Give every shape the batch axis that, per sample, only some of them have."""
    longest = max(shapes, key=len)
    return [shape if len(shape) == len(longest) else (longest[0], *shape) for shape in shapes]


def _concatenate_vjp(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], axis: int
) -> Cotangents:
    ends = list(accumulate(x.shape[axis] for x in inputs))
    behind = [slice(None)] * (-1 - axis)
    return [
        getitem(gs[0], (..., slice(end - x.shape[axis], end), *behind)) if x.requires_grad else None
        for x, end in zip(inputs, ends, strict=True)
    ]


_CONCATENATE = register(
    Op(
        "concatenate",
        _concatenate,
        _concatenate_vjp,
        _concatenate_meta,
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(2), draw(3)), {"axis": -1}),
            ((draw(1, 2), draw(2, 2)), {"axis": -2}),
            ((draw(2, 0), draw(2, 2)), {"axis": -1}),
        ],
        doc="Return tensors joined along an axis.",
    )
)


@public("concat", "cat", method=False)
def concatenate(tensors: Sequence[Operand], axis: int | None = 0) -> Tensor:
    """Return tensors joined along an axis that they have; None joins them in flat order.

    Args:
        tensors: one or more, of equal shape except along ``axis``; dtypes promote.
        axis: along which to join.

    Raises:
        ShapeError: no tensors, or shapes that do not fit.

    >>> concatenate([Tensor([1.0]), Tensor([2.0, 3.0])]).tolist()
    [1.0, 2.0, 3.0]
    """
    parts = _several("concatenate", tensors)
    if axis is None:
        return concatenate([ravel(x) for x in parts])
    rank = parts[0].ndim
    place = one_axis(axis, rank)
    others = {x.shape[:place] + x.shape[place + 1 :] for x in parts if x.ndim == rank}
    if len(others) != 1 or any(x.ndim != rank for x in parts):
        raise ShapeError(
            f"concatenate needs shapes that agree except along axis {axis}, got "
            f"{', '.join(str(x.shape) for x in parts)}. Reshape them, or use stack for a new axis."
        )
    result: Tensor = apply(_CONCATENATE, *parts, axis=place - rank)
    return result


def _several(name: str, tensors: Sequence[Operand]) -> tuple[Tensor, ...]:
    parts = lift(tuple(tensors))
    if not parts:
        raise ShapeError(f"{name} needs at least one tensor, got none. Give a list of them.")
    return parts


@public(method=False)
def stack(tensors: Sequence[Operand], axis: int = 0) -> Tensor:
    """Return tensors of equal shape joined along a new axis; ``axis`` counts in the result.

    Raises:
        ShapeError: no tensors, or shapes that differ.

    >>> stack([Tensor(1.0), Tensor(2.0)]).tolist()
    [1.0, 2.0]
    """
    parts = _several("stack", tensors)
    if any(x.shape != parts[0].shape for x in parts):
        raise ShapeError(
            f"stack needs equal shapes, got {', '.join(str(x.shape) for x in parts)}. "
            "Broadcast them first, or use concatenate."
        )
    shape = parts[0].shape
    place = one_axis(axis, len(shape) + 1)
    return concatenate([reshape(x, (*shape[:place], 1, *shape[place:])) for x in parts], place)


@public()
def split(x: Operand, sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Return views of x cut along an axis.

    Args:
        x: any tensor.
        sections: how many equal pieces, or the indices at which to cut.
        axis: along which to cut.

    Raises:
        ShapeError: pieces that would not be equal; ``array_split`` allows that.

    >>> [piece.tolist() for piece in split([1.0, 2.0, 3.0], [1])]
    [[1.0], [2.0, 3.0]]
    """
    (tensor,) = lift((x,))
    extent = tensor.shape[one_axis(axis, tensor.ndim)]
    if not isinstance(sections, Sequence) and (sections < 1 or extent % sections):
        raise ShapeError(
            f"split needs a number of pieces that divides {extent}, got {sections} along axis "
            f"{axis} of shape {tensor.shape}. Use array_split, or give the indices of the cuts."
        )
    return array_split(tensor, sections, axis)


@public()
def array_split(x: Operand, sections: int | Sequence[int], axis: int = 0) -> tuple[Tensor, ...]:
    """Return views of x cut along an axis, as ``split``; of n unequal pieces the first are longer.

    >>> [piece.tolist() for piece in array_split([1.0, 2.0, 3.0], 2)]
    [[1.0, 2.0], [3.0]]
    """
    (tensor,) = lift((x,))
    place = one_axis(axis, tensor.ndim)
    extent = tensor.shape[place]
    if isinstance(sections, Sequence):
        inner = [as_index(cut) for cut in sections]
    elif sections < 1:
        raise ShapeError(f"array_split needs at least 1 piece, got {sections}. Ask for more.")
    else:
        size, longer = divmod(extent, sections)
        inner = [k * size + min(k, longer) for k in range(1, sections)]
    cuts = [None, *inner, None]
    before = [slice(None)] * place
    return tuple([getitem(tensor, (*before, slice(start, stop))) for start, stop in pairwise(cuts)])
