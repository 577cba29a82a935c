"""Shapes: views where NumPy has views, and their adjoints.

Attrs that a batch axis in front would change hold ``lead``, the number of leading axes that an op
leaves alone (0, or 1 per sample); axes are counted from the end wherever that suffices.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index as as_index
from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.errors import DTypeError, ShapeError
from autodiff.node import Attrs, Meta, Op, Shape
from autodiff.ops.declare import (
    broadcast_shape,
    per_input,
    public,
    register,
    unbroadcast,
    unchanged,
)
from autodiff.tensors import Operand, Tensor

# Any in this file: a backend's arrays and modules.

Axis = int | Sequence[int]


def one_axis(axis: int, rank: int) -> int:
    """Return ``axis`` counted from 0, or refuse it."""
    try:
        place = as_index(axis)
    except TypeError as error:
        raise DTypeError(f"axis needs integers, got {axis!r}. Count from 0 or -1.") from error
    if not -rank <= place < rank:
        raise ShapeError(
            f"axis needs one of the {rank} axes of the tensor, got {axis}. Count from 0 or -1."
        )
    return place % rank


def some_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """Return one or several axes counted from 0, in the order given, or refuse them."""
    axes = axis if isinstance(axis, Sequence) else (axis,)
    result = tuple([one_axis(a, rank) for a in axes])
    if len(set(result)) != len(result):
        raise ShapeError(f"axis needs distinct axes, got {axis}. Name every axis once.")
    return result


# -- reshape -------------------------------------------------------------------------------------


def behind_batch(attrs: Attrs, ranks: Sequence[int]) -> Attrs:
    """Attrs with the batch axis left alone."""
    return {**attrs, "lead": attrs.get("lead", 0) + 1}


def _shape_meta(meta: Meta, shape: Shape, lead: int = 0) -> tuple[Meta, ...]:
    return (((*meta[0][:lead], *shape), meta[1]),)


_RESHAPE: Op = register(
    Op(
        "reshape",
        lambda xp, x, shape, lead=0: x.reshape((*x.shape[:lead], *shape)),
        per_input(lambda g, outs, x, shape, lead=0: apply(_RESHAPE, g, shape=x.shape)),
        _shape_meta,
        view=True,
        per_sample=behind_batch,
        samples=lambda draw: [
            ((draw(2, 3),), {"shape": (3, 2)}),
            ((draw(),), {"shape": (1, 1)}),
            ((draw(0, 2),), {"shape": (0,)}),
        ],
        doc="Return the same elements in another shape.",
    )
)


@public()
def reshape(x: Operand, *shape: int | Sequence[int]) -> Tensor:
    """Return the same elements in another shape; one extent may be -1. A view where possible.

    Raises:
        ShapeError: another number of elements.

    >>> reshape([1.0, 2.0, 3.0, 4.0], 2, -1).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    (tensor,) = lift((x,))
    wanted, count = _extents(shape), tensor.numel()
    if -1 in wanted:
        wanted = _completed(wanted, count)
    if prod(wanted) != count or min(wanted, default=0) < 0:
        raise ShapeError(
            f"reshape needs a shape of {count} elements, got {wanted} for {tensor.shape}. "
            "One extent may be -1."
        )
    return apply(_RESHAPE, tensor, shape=wanted)


def _extents(shape: Sequence[int | Sequence[int]]) -> Shape:
    """Accept f(2, 3) and f((2, 3))."""
    # A tuple is asked for first: to ask an abstract class takes longer than the op.
    if len(shape) == 1 and isinstance(shape[0], (tuple, Sequence, np.ndarray)):
        return tuple([as_index(n) for n in shape[0]])
    return tuple([as_index(n) for n in shape])  # type: ignore[arg-type]  # one sequence, or numbers


def _completed(wanted: Shape, count: int) -> Shape:
    """Replace -1 by what is left of ``count`` elements, where that comes out even."""
    known = prod([n for n in wanted if n != -1])
    if wanted.count(-1) > 1 or not known or count % known:
        return wanted
    return tuple([count // known if n == -1 else n for n in wanted])


@public("flatten")
def ravel(x: Operand) -> Tensor:
    """Return the elements in one axis. A view where possible.

    >>> ravel([[1.0], [2.0]]).tolist()
    [1.0, 2.0]
    """
    (tensor,) = lift((x,))
    return reshape(tensor, (tensor.numel(),))


@public()
def squeeze(x: Operand, axis: Axis | None = None) -> Tensor:
    """Return x without axes of length 1: all of them, or those named. A view.

    Raises:
        ShapeError: a named axis is not of length 1.

    >>> squeeze([[1.0, 2.0]]).shape
    (2,)
    """
    (tensor,) = lift((x,))
    if axis is None:
        axes = tuple(k for k, n in enumerate(tensor.shape) if n == 1)
    else:
        axes = some_axes(axis, tensor.ndim)
    if any(tensor.shape[a] != 1 for a in axes):
        raise ShapeError(
            f"squeeze needs axes of length 1, got axis {axis} of shape {tensor.shape}. "
            "Leave axis out to drop all that have length 1."
        )
    return reshape(tensor, tuple(n for k, n in enumerate(tensor.shape) if k not in axes))


@public("unsqueeze")
def expand_dims(x: Operand, axis: Axis) -> Tensor:
    """Return x with axes of length 1 inserted; ``axis`` counts in the result. A view.

    >>> expand_dims([1.0, 2.0], -1).shape
    (2, 1)
    """
    (tensor,) = lift((x,))
    rank = tensor.ndim + (len(axis) if isinstance(axis, Sequence) else 1)
    axes = some_axes(axis, rank)
    extents = iter(tensor.shape)
    return reshape(tensor, tuple(1 if k in axes else next(extents) for k in range(rank)))


# -- order of axes and elements ------------------------------------------------------------------


def _transposed(attrs: Attrs, ranks: Sequence[int]) -> Attrs:
    return {"axes": (0, *[a + 1 for a in attrs["axes"]])}


_TRANSPOSE: Op = register(
    Op(
        "transpose",
        lambda xp, x, axes: x.transpose(axes),
        per_input(lambda g, outs, x, axes: apply(_TRANSPOSE, g, axes=_inverse(axes))),
        lambda meta, axes: ((tuple(meta[0][a] for a in axes), meta[1]),),
        view=True,
        per_sample=_transposed,
        samples=lambda draw: [
            ((draw(2, 3, 2),), {"axes": (1, 2, 0)}),
            ((draw(0, 2),), {"axes": (1, 0)}),
        ],
        doc="Return x with its axes permuted.",
    )
)


@public()
def transpose(x: Operand, *axes: int | Sequence[int] | None) -> Tensor:
    """Return x with its axes permuted (reversed by default): NumPy's, with all axes named. A view.

    Raises:
        ShapeError: ``axes`` is not a permutation. To exchange two axes, use ``swapaxes``.

    >>> transpose([[1.0, 2.0]]).shape, transpose([[1.0, 2.0]], 1, 0).shape
    ((2, 1), (2, 1))
    """
    (tensor,) = lift((x,))
    rank = tensor.ndim
    given = axes
    if not axes or (len(axes) == 1 and axes[0] is None):
        return apply(_TRANSPOSE, tensor, axes=tuple(range(rank))[::-1])
    if len(axes) == 1 and isinstance(axes[0], (tuple, Sequence, np.ndarray)):
        given = tuple(axes[0])
    order = tuple([one_axis(a, rank) for a in given])  # type: ignore[arg-type]  # checked there
    if sorted(order) != list(range(rank)):
        raise ShapeError(
            f"transpose needs a permutation of {rank} axes, got {given}. Name every axis once, or "
            "exchange two with swapaxes."
        )
    return apply(_TRANSPOSE, tensor, axes=order)


def _inverse(axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))


@public()
def swapaxes(x: Operand, axis1: int, axis2: int) -> Tensor:
    """Return x with two axes exchanged. A view.

    >>> swapaxes([[1.0, 2.0]], 0, 1).tolist()
    [[1.0], [2.0]]
    """
    (tensor,) = lift((x,))
    a, b = one_axis(axis1, tensor.ndim), one_axis(axis2, tensor.ndim)
    order = list(range(tensor.ndim))
    order[a], order[b] = b, a
    return apply(_TRANSPOSE, tensor, axes=tuple(order))


@public("movedim")
def moveaxis(x: Operand, source: Axis, destination: Axis) -> Tensor:
    """Return x with axes moved to new places, the others in their old order. A view.

    >>> moveaxis(Tensor([[[1.0, 2.0]]]), -1, 0).shape
    (2, 1, 1)
    """
    (tensor,) = lift((x,))
    rank = tensor.ndim
    sources, targets = some_axes(source, rank), some_axes(destination, rank)
    if len(sources) != len(targets):
        raise ShapeError(
            f"moveaxis needs one destination a source, got {source} and {destination}. "
            "Give equally many."
        )
    order = [a for a in range(rank) if a not in sources]
    for target, a in sorted(zip(targets, sources, strict=True)):
        order.insert(target, a)
    return transpose(tensor, order)


_ROLL: Op = register(
    Op(
        "roll",
        lambda xp, x, shift, axis: xp.roll(x, shift, axis),
        per_input(
            lambda g, outs, x, shift, axis: apply(
                _ROLL, g, shift=tuple([-s for s in shift]), axis=axis
            )
        ),
        lambda meta, shift, axis: (meta,),
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(3, 2),), {"shift": (1,), "axis": (-2,)}),
            ((draw(3, 2),), {"shift": (-4, 1), "axis": (-2, -1)}),
            ((draw(0),), {"shift": (1,), "axis": (-1,)}),
        ],
        doc="Return x with its elements shifted cyclically.",
    )
)


@public()
def roll(x: Operand, shift: int | Sequence[int], axis: Axis | None = None) -> Tensor:
    """Return x with its elements shifted cyclically along axes, or in flat order without ``axis``.

    >>> roll([1.0, 2.0, 3.0], 1).tolist()
    [3.0, 1.0, 2.0]
    """
    (tensor,) = lift((x,))
    if axis is None:
        return reshape(roll(ravel(tensor), shift, 0), tensor.shape)
    axes = tuple(a - tensor.ndim for a in some_axes(axis, tensor.ndim))
    shifts = tuple(shift) if isinstance(shift, Sequence) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ShapeError(
            f"roll needs one shift an axis, got {shift} for axis {axis}. Give equally many."
        )
    return apply(_ROLL, tensor, shift=shifts, axis=axes)


# -- stretching ----------------------------------------------------------------------------------


def _stretch(xp: Any, x: Any, shape: Shape, kept: Shape | None = None, lead: int = 0) -> Any:
    batch = x.shape[:lead]
    if kept is not None:
        x = x.reshape((*batch, *kept))
    return xp.broadcast_to(x, (*batch, *shape))


def _stretch_rule(
    g: Tensor, outs: Any, x: Tensor, shape: Shape, kept: Shape | None = None, lead: int = 0
) -> Tensor:
    if kept is None:
        return g  # ``fit`` sums over the stretched axes
    return reshape(unbroadcast(g, (*x.shape[:lead], *kept)), x.shape)


def _stretch_meta(
    meta: Meta, shape: Shape, kept: Shape | None = None, lead: int = 0
) -> tuple[Meta, ...]:
    return _shape_meta(meta, shape, lead)


_BROADCAST_TO = register(
    Op(
        "broadcast_to",
        _stretch,
        per_input(_stretch_rule),
        _stretch_meta,
        view=True,
        per_sample=behind_batch,
        samples=lambda draw: [
            ((draw(3, 1),), {"shape": (3, 2)}),
            ((draw(1, 1),), {"shape": (2, 3)}),
            ((draw(1),), {"shape": (0,)}),
            ((draw(0, 1),), {"shape": (0, 2)}),
            ((draw(2),), {"shape": (3, 2, 2), "kept": (1, 2, 1)}),
            ((draw(),), {"shape": (3,), "kept": (1,)}),
        ],
        doc="Return x with axes of length 1 stretched, after those that ``kept`` inserts.",
    )
)


def stretch(x: Tensor, kept: Shape, shape: Shape) -> Tensor:
    """Return ``x.reshape(kept)`` stretched to ``shape``, as a view, in one op.

    ``kept`` is the shape of x with axes of length 1 inserted, where ``shape`` has others.
    """
    stretched: Tensor = apply(_BROADCAST_TO, x, shape=shape, kept=kept)
    return stretched


@public()
def broadcast_to(x: Operand, shape: Sequence[int]) -> Tensor:
    """Return x stretched to ``shape`` by NumPy's rules. A view.

    Raises:
        ShapeError: x does not stretch to it.

    >>> broadcast_to([1.0], (3,)).tolist()
    [1.0, 1.0, 1.0]
    """
    (tensor,) = lift((x,))
    wanted = tuple(shape)
    if broadcast_shape(tensor.shape, wanted) != wanted:
        raise ShapeError(
            f"broadcast_to needs a shape that {tensor.shape} stretches to, got {wanted}. "
            "Reshape x first."
        )
    if wanted == tensor.shape:
        return tensor
    # The row is told which axes are new, so that a batch axis may stand in front.
    return stretch(tensor, (*[1] * (len(wanted) - tensor.ndim), *tensor.shape), wanted)
