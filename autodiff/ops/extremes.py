"""The largest and smallest elements over axes, and where they stand. For real operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.node import Meta, Op
from autodiff.ops.axes import (
    Axis,
    behind_batch_axis,
    normalise_axes,
    reduced_shape,
    reduction_samples,
    require_elements,
)
from autodiff.ops.cast import astype
from autodiff.ops.compare import isnan, logical_or
from autodiff.ops.declare import per_input, public, register, require_real
from autodiff.ops.reduce import expand, sum
from autodiff.ops.shape import one_axis, reshape
from autodiff.tensors import Operand, Tensor


def _share(
    g: Tensor, outs: Sequence[Tensor], x: Tensor, axis: tuple[int, ...], keepdims: bool
) -> Tensor:
    """Split g evenly among the elements that equal the result; if that is NaN, among the NaNs."""
    chosen = logical_or(x == expand(outs[0], x.shape, axis), isnan(x))
    weights = astype(chosen, x.dtype)
    return expand(g, x.shape, axis) * (weights / sum(weights, axis, keepdims=True))


def _extreme(name: str) -> Op:
    return register(
        Op(
            name,
            lambda xp, x, axis, keepdims: getattr(xp, name)(x, axis=axis, keepdims=keepdims),
            per_input(_share),
            lambda x, axis, keepdims: ((reduced_shape(x[0], axis, keepdims), x[1]),),
            reads_outputs=True,
            per_sample=behind_batch_axis,
            samples=reduction_samples,
            takes_complex=False,
            doc=f"Return the {name}imum over axes.",
        )
    )


_MAX = _extreme("max")
_MIN = _extreme("min")


def _reduce(op: Op, x: Operand, axis: Axis, keepdims: bool) -> Tensor:
    (tensor,) = lift((x,))
    require_real(op.name, tensor)
    axes = normalise_axes(axis, tensor.ndim)
    require_elements(op.name, tensor.shape, axes)
    reduced: Tensor = apply(op, tensor, axis=axes, keepdims=keepdims)
    return reduced


@public("amax")
def max(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the maximum over ``axis`` (all axes by default); NaN if one element is.

    Elements that equal the maximum share the gradient evenly.

    >>> max([[1.0, 4.0], [3.0, 2.0]], axis=1).tolist()
    [4.0, 3.0]
    """
    return _reduce(_MAX, x, axis, keepdims)


@public("amin")
def min(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the minimum over ``axis`` (all axes by default); NaN if one element is.

    Elements that equal the minimum share the gradient evenly.

    >>> min([[1.0, 4.0], [3.0, 2.0]], axis=1).tolist()
    [1.0, 2.0]
    """
    return _reduce(_MIN, x, axis, keepdims)


def _position_meta(x: Meta, axis: int, keepdims: bool) -> tuple[Meta, ...]:
    return ((reduced_shape(x[0], (axis,), keepdims), np.dtype(np.intp)),)


def _position(name: str) -> Op:
    return register(
        Op(
            name,
            lambda xp, x, axis, keepdims: getattr(xp, name)(x, axis=axis, keepdims=keepdims),
            None,
            _position_meta,
            resident=False,  # a position is for the host, which is where the value is wanted next
            per_sample=behind_batch_axis,
            samples=lambda draw: [
                ((draw(3),), {"axis": 0, "keepdims": False}),
                ((draw(2, 3, 2),), {"axis": 1, "keepdims": True}),
                ((draw(0, 3),), {"axis": 1, "keepdims": False}),
            ],
            takes_complex=False,
            doc=f"Return where the {name[3:]}imum stands along an axis.",
        )
    )


_ARGMAX = _position("argmax")
_ARGMIN = _position("argmin")


def _find(op: Op, x: Operand, axis: int | None, keepdims: bool) -> Tensor:
    (tensor,) = lift((x,))
    require_real(op.name, tensor)
    rank = tensor.ndim
    if axis is None:
        flat = reshape(tensor, (tensor.numel(),))
        require_elements(op.name, flat.shape, (0,))
        found: Tensor = apply(op, flat, axis=0, keepdims=False)
        return reshape(found, (1,) * rank) if keepdims else found
    along = one_axis(axis, rank)
    require_elements(op.name, tensor.shape, (along,))
    position: Tensor = apply(op, tensor, axis=along, keepdims=keepdims)
    return position


@public()
def argmax(x: Operand, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index (int64) of the first maximum along ``axis``, by default of the flattened x.

    It has no gradient.

    >>> argmax([1.0, 4.0, 2.0]).item()
    1
    """
    return _find(_ARGMAX, x, axis, keepdims)


@public()
def argmin(x: Operand, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index (int64) of the first minimum along ``axis``, by default of the flattened x.

    It has no gradient.

    >>> argmin([3.0, 1.0, 2.0]).item()
    1
    """
    return _find(_ARGMIN, x, axis, keepdims)
