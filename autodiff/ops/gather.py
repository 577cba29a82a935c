"""Elements picked by index arrays, and the adjoint, which adds: repeated indices accumulate.

Both rows know one flat index array along one axis, which all samples of a batch share. Several
index arrays over neighbouring axes become one: i, j over extents (m, n) is i n + j over the merged
axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.errors import DTypeError, ShapeError
from autodiff.node import Kind, Meta, Op, Shape
from autodiff.ops.cast import astype
from autodiff.ops.declare import broadcast_shape, per_input, public, register, unchanged
from autodiff.ops.shape import one_axis, ravel, reshape
from autodiff.tensors import Operand, Tensor

# Any in this file: a backend's arrays, and indices as NumPy accepts them.
IndexArray = Any


def _replaced(shape: Shape, axis: int, extent: int) -> Shape:
    """Return ``shape`` with another extent along ``axis``, which counts from the end."""
    place = len(shape) + axis
    return (*shape[:place], extent, *shape[place + 1 :])


# -- take and segment_sum: each is the other's adjoint -------------------------------------------


def _segment_sum(xp: Any, x: Any, index: Any, count: int, axis: int) -> Any:
    """Add at flat positions: several times faster than adding whole rows."""
    rows = xp.moveaxis(x, axis, 0)
    width = prod(rows.shape[1:])
    total = xp.zeros(count * width, x.dtype)
    xp.add.at(total, (index[:, None] * width + xp.arange(width)).ravel(), rows.ravel())
    return xp.moveaxis(total.reshape((count, *rows.shape[1:])), 0, axis)


_TAKE: Op = register(
    Op(
        "take",
        lambda xp, x, index, axis: xp.take(x, index, axis),
        per_input(
            lambda g, outs, x, index, axis: apply(
                _SEGMENT_SUM, g, index, count=x.shape[axis], axis=axis
            ),
            lambda g, outs, x, index, axis: None,
        ),
        lambda x, index, axis: ((_replaced(x[0], axis, index[0][0]), x[1]),),
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(3), np.array([2, 0, 2])), {"axis": -1}),
            ((draw(2, 3, 2), np.array([1, 1])), {"axis": -2}),
            ((draw(2, 0), np.array([], np.intp)), {"axis": -1}),
        ],
        doc="Return the elements at non-negative indices along an axis.",
    )
)

_SEGMENT_SUM: Op = register(
    Op(
        "segment_sum",
        _segment_sum,
        per_input(
            lambda g, outs, x, index, count, axis: apply(_TAKE, g, index, axis=axis),
            lambda g, outs, x, index, count, axis: None,
        ),
        lambda x, index, count, axis: ((_replaced(x[0], axis, count), x[1]),),
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(3), np.array([1, 0, 1])), {"count": 2, "axis": -1}),
            ((draw(2, 3, 2), np.array([0, 2, 0])), {"count": 4, "axis": -2}),
            ((draw(0, 2), np.array([], np.intp)), {"count": 2, "axis": -2}),
        ],
        doc="Return sums along an axis of all elements with the same index.",
    )
)


# -- index arrays --------------------------------------------------------------------------------


def _flat_index(xp: Any, *indices: Any, dims: Shape) -> Any:
    flat = xp.zeros((), np.intp)
    for given, extent in zip(indices, dims, strict=True):
        index = given.astype(np.intp)
        if index.size and not (-extent <= index.min() and index.max() < extent):
            raise ShapeError(
                f"an index needs values from {-extent} to {extent - 1} for an axis of length "
                f"{extent}, got {index.min()} to {index.max()}. Correct the index array."
            )
        flat = flat * extent + xp.where(index < 0, index + extent, index)
    return flat


def _flat_index_meta(*metas: Meta, dims: Shape) -> tuple[Meta, ...]:
    return ((broadcast_shape(*[shape for shape, _ in metas]), np.dtype(np.intp)),)


_FLAT_INDEX = register(
    Op(
        "flat_index",
        _flat_index,
        None,
        _flat_index_meta,
        samples=lambda draw: [
            ((np.array([1, -1]), np.array([[0], [2]])), {"dims": (2, 3)}),
            ((np.array([], np.intp),), {"dims": (2,)}),
        ],
        doc="Return one index over merged axes for indices over each, negative ones put right.",
    )
)


def as_index_array(part: IndexArray) -> IndexArray:
    """Return an index array, or a Tensor, of integers or booleans; refuse everything else."""
    index = part if isinstance(part, Tensor | np.ndarray) else Tensor(part).numpy()
    if isinstance(part, list | tuple) and index.size == 0:
        return index.astype(np.intp)
    if index.dtype.kind not in "iub":
        raise DTypeError(
            "an index needs integers, slices, None, Ellipsis or booleans, got dtype "
            f"{index.dtype}. Convert it with astype(int)."
        )
    return index


def flat_index(indices: Sequence[IndexArray], dims: Shape, device: str) -> Tensor:
    """Return the one index over merged axes; a constant, unless an index is a Tensor."""
    if any(isinstance(index, Tensor) for index in indices):
        result: Tensor = apply(_FLAT_INDEX, *indices, dims=dims)
        return result
    constant = Tensor(_flat_index(np, *indices, dims=dims), device=device)
    constant._meta.kind = Kind.CONSTANT
    return constant


def pick(x: Tensor, indices: Sequence[IndexArray], axis: int) -> Tensor:
    """Index the axes from ``axis`` on with one integer array each; the arrays broadcast.

    Args:
        x: any tensor.
        indices: integer arrays or Tensors; Tensors stay operands of the op.
        axis: the first indexed axis, counted from 0.

    Returns:
        The axes before, those of the broadcast indices, the axes behind.

    Raises:
        ShapeError: an index out of bounds, or arrays that do not broadcast.
    """
    dims = x.shape[axis : axis + len(indices)]
    before, behind = x.shape[:axis], x.shape[axis + len(indices) :]
    shape = broadcast_shape(*[index.shape for index in indices])
    flat = flat_index(indices, dims, x.device)
    merged = x if len(indices) == 1 else reshape(x, (*before, prod(dims), *behind))
    line = flat if len(shape) == 1 else ravel(flat)
    result: Tensor = apply(_TAKE, merged, line, axis=-1 - len(behind))
    return result if len(shape) == 1 else reshape(result, (*before, *shape, *behind))


def take_flat(x: Tensor, positions: Tensor) -> Tensor:
    """Return the elements at positions in flat order, such as ``flat_index`` gives; no check."""
    result: Tensor = apply(_TAKE, ravel(x), ravel(positions), axis=-1)
    return reshape(result, positions.shape)


@public()
def take(x: Operand, indices: IndexArray, axis: int | None = None) -> Tensor:
    """Return the elements of x at ``indices`` along an axis, or in flat order without one.

    Args:
        x: any tensor.
        indices: integers (K1, ...), negative ones counted from the end; they may repeat.
        axis: the axis that the axes of ``indices`` replace.

    Raises:
        ShapeError: an index out of bounds.
        DTypeError: indices that are not integers.

    >>> take([1.0, 2.0, 3.0], [2, 0]).tolist()
    [3.0, 1.0]
    """
    (tensor,) = lift((x,))
    if axis is None:
        return take(ravel(tensor), indices, 0)
    return pick(tensor, [_integers(indices)], one_axis(axis, tensor.ndim))


def _integers(indices: IndexArray) -> IndexArray:
    """Return an index array of integers; booleans would be a mask, which has another meaning."""
    index = as_index_array(indices)
    if index.dtype.kind == "b":
        raise DTypeError(
            f"take and segment_sum need integer indices, got dtype {index.dtype}. "
            "Use x[mask] for a mask."
        )
    return index


@public()
def segment_sum(data: Operand, segment_ids: IndexArray, num_segments: int, axis: int = 0) -> Tensor:
    """Return the sum of the elements of each segment: out[s] = sum of data[k] with id[k] = s.

    Args:
        data: any tensor.
        segment_ids: integers (K,), one for each of the K elements along ``axis``, in any order.
        num_segments: the extent of ``axis`` in the result; a segment without elements is 0.
        axis: along which to add.

    Raises:
        ShapeError: not one id an element, or an id out of bounds.
        DTypeError: ids that are not integers.

    >>> segment_sum([1.0, 2.0, 4.0], [0, 1, 0], 2).tolist()
    [5.0, 2.0]
    """
    (tensor,) = lift((data,))
    place = one_axis(axis, tensor.ndim)
    ids = _integers(segment_ids)
    if ids.shape != (tensor.shape[place],):
        raise ShapeError(
            f"segment_sum needs ids of shape {(tensor.shape[place],)} for data of shape "
            f"{tensor.shape} along axis {axis}, got shape {ids.shape}. Give one id an element."
        )
    if tensor.dtype.kind in "biu":  # as NumPy's sum
        tensor = astype(tensor, np.sum(np.empty(0, tensor.dtype)).dtype)
    index = flat_index([ids], (num_segments,), tensor.device)
    result: Tensor = apply(
        _SEGMENT_SUM, tensor, index, count=num_segments, axis=place - tensor.ndim
    )
    return result
