"""Indexing: views for basic indices, copies for index arrays and masks.

The row knows basic indices with exactly one Ellipsis, so that a batch axis may stand in front. Its
adjoint writes into zeros. Index arrays become one ``take``, see ``gather``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.errors import DTypeError, ShapeError
from autodiff.node import Attrs, Kind, Op, Shape
from autodiff.ops.declare import per_input, public, register
from autodiff.ops.gather import as_index_array, pick
from autodiff.ops.shape import Axis, behind_batch, reshape, some_axes, transpose
from autodiff.tensors import Operand, Tensor

# Any in this file: an index is what NumPy accepts between brackets.
Index = tuple[Any, ...]
_WHOLE = slice(None)


def _index_behind_batch(attrs: Attrs, ranks: Sequence[int]) -> Attrs:
    return {**attrs, "index": (_WHOLE, *attrs["index"])}


def _scatter(xp: Any, g: Any, index: Index, shape: Shape, lead: int = 0) -> Any:
    result = xp.zeros((*g.shape[:lead], *shape), g.dtype)
    result[index] = g
    return result


_GETITEM: Op = register(
    Op(
        "getitem",
        lambda xp, x, index: x[index],
        per_input(lambda g, outs, x, index: apply(_SCATTER, g, index=index, shape=x.shape)),
        lambda meta, index: ((_indexed_shape(meta[0], index), meta[1]),),
        view=True,
        per_sample=_index_behind_batch,
        samples=lambda draw: [
            ((draw(3, 2),), {"index": (1, ...)}),
            ((draw(3, 2),), {"index": (slice(None, None, -2), None, 0, ...)}),
            ((draw(3, 0),), {"index": (..., slice(1, 3))}),
        ],
        doc="Return x[index] for a basic index.",
    )
)

_SCATTER: Op = register(
    Op(
        "scatter",
        _scatter,
        per_input(lambda g, outs, x, index, shape, lead=0: apply(_GETITEM, g, index=index)),
        lambda meta, index, shape, lead=0: (((*meta[0][:lead], *shape), meta[1]),),
        per_sample=lambda attrs, ranks: behind_batch(_index_behind_batch(attrs, ranks), ranks),
        samples=lambda draw: [
            ((draw(2),), {"index": (1, ...), "shape": (3, 2)}),
            ((draw(2, 0),), {"index": (..., slice(1, 1)), "shape": (2, 3)}),
        ],
        doc="Return zeros of a shape with x written at a basic index: the adjoint of getitem.",
    )
)


_PART: Op = register(
    Op(
        "part",
        lambda xp, x, start, shape, lead=0: xp.array(
            x[..., start : start + prod(shape)].reshape((*x.shape[:lead], *shape))
        ),
        per_input(
            lambda g, outs, x, start, shape, lead=0: apply(
                _SCATTER,
                reshape(g, (*x.shape[:lead], -1)),
                index=(..., slice(start, start + prod(shape))),
                shape=x.shape,
            )
        ),
        lambda meta, start, shape, lead=0: (((*meta[0][:lead], *shape), meta[1]),),
        per_sample=behind_batch,
        samples=lambda draw: [
            ((draw(6),), {"start": 2, "shape": (2, 2)}),
            ((draw(3),), {"start": 1, "shape": ()}),
            ((draw(3),), {"start": 3, "shape": (2, 0)}),
        ],
        doc="Return elements of a flat x, from one on, in a shape and in memory of their own.",
    )
)


def part(x: Tensor, start: int, shape: Shape) -> Tensor:
    """Return ``x[start : start + prod(shape)].reshape(shape)``, copied, in one op."""
    made: Tensor = apply(_PART, x, start=start, shape=shape)
    return made


def _indexed_shape(shape: Shape, index: Index) -> Shape:
    return np.broadcast_to(np.empty(()), shape)[index].shape


@public(method=False)
def getitem(x: Operand, index: Any) -> Tensor:
    """Return ``x[index]`` by NumPy's rules.

    Integers, slices, None and Ellipsis give views. Integer arrays and boolean masks give copies;
    where an index repeats, gradients add up. An integer Tensor in the index stays an operand of the
    op; of a mask only the present value counts, so an angle or a traced function refuses one.

    Raises:
        ShapeError: the index does not fit the shape.
        DTypeError: neither integers nor booleans.

    >>> getitem([1.0, 2.0, 3.0], [2, 2, 0]).tolist()
    [3.0, 3.0, 1.0]
    """
    (tensor,) = lift((x,))
    parts = tuple([_part(p) for p in (index if isinstance(index, tuple) else (index,))])
    if any(isinstance(part, np.ndarray | Tensor) for part in parts):
        return _advanced(tensor, parts)
    if not any(part is Ellipsis for part in parts):
        parts = (*parts, ...)
    try:
        result: Tensor = apply(_GETITEM, tensor, index=parts)
    except IndexError as error:
        raise _index_error(tensor, str(error)) from error
    return result


def _index_error(x: Tensor, reason: str) -> ShapeError:
    return ShapeError(
        f"an index needs to fit shape {x.shape}, got one that does not: {reason}. "
        "Count from 0, or from -1 at the end."
    )


def _part(part: Any) -> Any:
    """Return one part of an index, frozen: int, slice, None, Ellipsis or an index array."""
    if type(part) is int or part is None or part is Ellipsis:
        return part
    if isinstance(part, np.integer):
        return int(part)
    if isinstance(part, slice):
        return _frozen_slice(part)
    if isinstance(part, bool | np.bool):
        raise DTypeError(
            f"an index needs integers, slices, None, Ellipsis or arrays, got {part}. "
            "Use None for a new axis, or a mask with the shape of the axes that it picks from."
        )
    return as_index_array(part)


def _frozen_slice(part: slice) -> slice:
    bounds = (part.start, part.stop, part.step)
    try:
        start, stop, step = [None if b is None else as_index(b) for b in bounds]
    except TypeError as error:
        raise DTypeError(
            f"a slice needs integers, got {part!r}. Convert its bounds with int()."
        ) from error
    if step == 0:
        raise ShapeError(f"a slice needs a step other than 0, got {part!r}. Use 1 or -1.")
    return slice(start, stop, step)


def _advanced(x: Tensor, parts: Index) -> Tensor:
    """Index with arrays: slices and new axes first, then all arrays (integers among them) at once.

    As in NumPy, the axes of the broadcast arrays replace the indexed axes where those stand side by
    side, and stand in front otherwise.
    """
    parts = _explicit(x, parts)
    arrays = {k: part for k, part in enumerate(parts) if _is_picked(part)}
    basic = tuple([_WHOLE if k in arrays else part for k, part in enumerate(parts)])
    if any(part != _WHOLE for part in basic):
        x = getitem(x, basic)
    places = list(arrays)
    axis = places[0]
    if places != list(range(axis, axis + len(places))):
        axis = 0
        x = transpose(x, (*places, *[k for k in range(x.ndim) if k not in arrays]))
    return pick(x, [np.asarray(a) if type(a) is int else a for a in arrays.values()], axis)


def _is_picked(part: Any) -> bool:
    return not (part is None or isinstance(part, slice))


def _explicit(x: Tensor, parts: Index) -> Index:
    """Write a mask as the integers where it holds, and an Ellipsis as whole slices."""
    if len([part for part in parts if part is Ellipsis]) > 1:
        raise _index_error(x, "more than one Ellipsis")
    used = sum(_consumed(part) for part in parts)
    if used > x.ndim:
        raise _index_error(x, f"{used} axes indexed")
    if not any(part is Ellipsis for part in parts):
        parts = (*parts, ...)
    result: list[Any] = []
    axis = 0
    for part in parts:
        if part is Ellipsis:
            result.extend([_WHOLE] * (x.ndim - used))
            axis += x.ndim - used
            continue
        result.extend(_positions(x, part, axis) if _is_mask(part) else [part])
        axis += _consumed(part)
    return tuple(result)


def _consumed(part: Any) -> int:
    """How many axes of the operand a part of an index stands for."""
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return isinstance(part, np.ndarray | Tensor) and part.dtype.kind == "b"


def _positions(x: Tensor, mask: Any, axis: int) -> Sequence[Any]:
    """Return where a mask holds; that of a computed mask is a Tensor, which no program keeps."""
    values = mask.numpy() if isinstance(mask, Tensor) else mask
    wanted = x.shape[axis : axis + values.ndim]
    if values.ndim == 0 or values.shape != wanted:
        raise _index_error(x, f"a mask of shape {values.shape} for axes of shape {wanted}")
    places = values.nonzero()
    if isinstance(mask, Tensor) and mask._meta.kind is not Kind.CONSTANT:
        return [Tensor(place, device=x.device) for place in places]
    return places


@public()
def flip(x: Operand, axis: Axis | None = None) -> Tensor:
    """Return x with the order of elements reversed along axes (all by default). A view.

    >>> flip([1.0, 2.0]).tolist()
    [2.0, 1.0]
    """
    (tensor,) = lift((x,))
    axes = some_axes(range(tensor.ndim) if axis is None else axis, tensor.ndim)
    backwards = slice(None, None, -1)
    return getitem(tensor, tuple([backwards if k in axes else _WHOLE for k in range(tensor.ndim)]))
