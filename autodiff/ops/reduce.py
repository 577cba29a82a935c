"""Reductions over axes: sums and products, and logic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.node import Attrs, Meta, Op, Shape
from autodiff.ops.axes import (
    Axis,
    behind_batch_axis,
    normalise_axes,
    reduced_shape,
    reduction_samples,
)
from autodiff.ops.declare import conj_of, per_input, public, register, unbroadcast
from autodiff.ops.index import flip
from autodiff.ops.join import concatenate
from autodiff.ops.piecewise import where
from autodiff.ops.shape import behind_batch, one_axis, reshape, stretch, transpose
from autodiff.tensors import Operand, Tensor

# Any in this file: test arrays, and whatever attrs an op has.


def expand(g: Tensor, shape: Shape, axis: tuple[int, ...]) -> Tensor:
    """Put a reduced tensor back on the operand's axes, without stretching it."""
    return reshape(g, reduced_shape(shape, axis, True))


#: Elements up to which ``spread`` writes its result; of more it is a view.
MOST_WRITTEN = 2048


def spread(g: Tensor, shape: Shape, axis: tuple[int, ...], parts: int = 1) -> Tensor:
    """Put g / parts back on the operand's axes, repeated along those that were reduced."""
    kept = reduced_shape(shape, axis, True)
    if math.prod(shape) > MOST_WRITTEN:
        return stretch(g if parts == 1 else g / parts, kept, shape)
    written: Tensor = apply(_SPREAD, g, shape=shape, kept=kept, parts=parts)
    return written


def _write_spread(xp: Any, x: Any, shape: Shape, kept: Shape, parts: int, lead: int = 0) -> Any:
    if parts != 1:
        x = x / parts
    batch = x.shape[:lead]
    written = xp.empty((*batch, *shape), x.dtype)
    written[...] = x.reshape((*batch, *kept))
    return written


def _spread_rule(
    g: Tensor, outs: Any, x: Tensor, shape: Shape, kept: Shape, parts: int, lead: int = 0
) -> Tensor:
    total = reshape(unbroadcast(g, (*x.shape[:lead], *kept)), x.shape)
    return total if parts == 1 else total / parts


_SPREAD = register(
    Op(
        "spread",
        _write_spread,
        per_input(_spread_rule),
        lambda meta, shape, kept, parts, lead=0: (((*meta[0][:lead], *shape), meta[1]),),
        per_sample=behind_batch,
        samples=lambda draw: [
            ((draw(),), {"shape": (3, 2), "kept": (1, 1), "parts": 6}),
            ((draw(2, 3),), {"shape": (2, 4, 3), "kept": (2, 1, 3), "parts": 1}),
            ((draw(2, 1),), {"shape": (2, 3), "kept": (2, 1), "parts": 3}),
            ((draw(1),), {"shape": (0,), "kept": (1,), "parts": 1}),
        ],
        doc="Return x / parts, repeated along axes of length 1 that ``kept`` inserts.",
    )
)


def _meta(name: str) -> Any:
    """Shape rule of NumPy's reduction of that name."""

    def meta(x: Meta, axis: tuple[int, ...], keepdims: bool) -> tuple[Meta, ...]:
        dtype = getattr(np, name)(np.empty(0, x[1])).dtype
        return ((reduced_shape(x[0], axis, keepdims), dtype),)

    return meta


def _reduction_samples(draw: Any) -> list[tuple[tuple[Any, ...], Attrs]]:
    """Operands of a reduction that has a value for nothing as well."""
    return [
        *reduction_samples(draw),
        ((draw(0, 3),), {"axis": (0,), "keepdims": False}),
        ((draw(),), {"axis": (), "keepdims": False}),
    ]


def sum_over(xp: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """Return what ``x.sum`` does, without the method's way there."""
    return xp.add.reduce(x, axis, None, None, keepdims)


_SUM = register(
    Op(
        "sum",
        sum_over,
        per_input(lambda g, outs, x, axis, keepdims: spread(g, x.shape, axis)),
        _meta("sum"),
        per_sample=behind_batch_axis,
        samples=_reduction_samples,
        doc="Return the sum over axes.",
    )
)


@public()
def sum(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the sum over ``axis`` (all axes by default); of nothing it is 0.

    >>> sum([[1.0, 2.0], [3.0, 4.0]], axis=0).tolist()
    [4.0, 6.0]
    """
    (tensor,) = lift((x,))
    return apply(_SUM, tensor, axis=normalise_axes(axis, tensor.ndim), keepdims=keepdims)


def _prod_rule(g: Tensor, outs: Any, x: Tensor, axis: tuple[int, ...], keepdims: bool) -> Tensor:
    """Multiply by the product of all others, which is right with zeros, to any order."""
    kept = tuple(k for k in range(x.ndim) if k not in axis)
    order = (*kept, *axis)
    moved = transpose(x, order)
    flat = reshape(moved, (*moved.shape[: len(kept)], -1)) if x.numel() else moved
    others = _others(flat) if x.numel() else moved
    back = tuple(int(k) for k in np.argsort(order))
    by_axis = transpose(reshape(others, moved.shape), back)
    return expand(g, x.shape, axis) * conj_of(by_axis)


def _others(x: Tensor) -> Tensor:
    """Return, along the last axis, the product of all other elements.

    By a tree: the others of an element are its neighbour and the others of the pair. O(n) work in
    O(log n) steps, where products of prefixes and suffixes would take O(n) steps.
    """
    lead, n = x.shape[:-1], x.shape[-1]
    one = where(True, 1, x[..., :1])
    if n == 1:
        return one
    even = concatenate((x, one), axis=-1) if n % 2 else x
    pairs = reshape(even, (*lead, -1, 2))
    rest = _others(pairs[..., 0] * pairs[..., 1])
    return reshape(rest[..., None] * pairs[..., ::-1], (*lead, -1))[..., :n]


_PROD = register(
    Op(
        "prod",
        lambda xp, x, axis, keepdims: xp.prod(x, axis=axis, keepdims=keepdims),
        per_input(_prod_rule),
        _meta("prod"),
        per_sample=behind_batch_axis,
        samples=_reduction_samples,
        doc="Return the product over axes.",
    )
)


@public()
def prod(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the product over ``axis`` (all axes by default); of nothing it is 1.

    The gradient is the product of all other elements: exact where elements are 0, to any order.

    >>> prod([2.0, 3.0, 4.0]).item()
    24.0
    """
    (tensor,) = lift((x,))
    return apply(_PROD, tensor, axis=normalise_axes(axis, tensor.ndim), keepdims=keepdims)


_CUMSUM = register(
    Op(
        "cumsum",
        lambda xp, x, axis: xp.cumsum(x, axis=axis),
        per_input(lambda g, outs, x, axis: _sum_behind_batch_axis(g, axis)),
        lambda x, axis: ((x[0], np.cumsum(np.empty(0, x[1])).dtype),),
        per_sample=behind_batch_axis,
        samples=lambda draw: [
            ((draw(3),), {"axis": 0}),
            ((draw(2, 3, 2),), {"axis": 1}),
            ((draw(0, 3),), {"axis": 0}),
        ],
        doc="Return the running sums along an axis.",
    )
)


def _sum_behind_batch_axis(g: Tensor, axis: int) -> Tensor:
    return flip(cumsum(flip(g, axis), axis), axis)


@public()
def cumsum(x: Operand, axis: int | None = None) -> Tensor:
    """Return the running sums along ``axis``; by default those of the flattened tensor.

    >>> cumsum([1.0, 2.0, 3.0]).tolist()
    [1.0, 3.0, 6.0]
    """
    (tensor,) = lift((x,))
    if axis is None:
        tensor, axis = reshape(tensor, (tensor.numel(),)), 0
    return apply(_CUMSUM, tensor, axis=one_axis(axis, tensor.ndim))


_ALL = register(
    Op(
        "all",
        lambda xp, x, axis, keepdims: xp.all(x, axis=axis, keepdims=keepdims),
        None,
        _meta("all"),
        per_sample=behind_batch_axis,
        samples=_reduction_samples,
        doc="Return whether every element is non-zero.",
    )
)


@public()
def all(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return whether every element over ``axis`` is non-zero; of none it is True. No gradient.

    >>> all([True, False]).item()
    False
    """
    (tensor,) = lift((x,))
    return apply(_ALL, tensor, axis=normalise_axes(axis, tensor.ndim), keepdims=keepdims)


_ANY = register(
    Op(
        "any",
        lambda xp, x, axis, keepdims: xp.any(x, axis=axis, keepdims=keepdims),
        None,
        _meta("any"),
        per_sample=behind_batch_axis,
        samples=_reduction_samples,
        doc="Return whether an element is non-zero.",
    )
)


@public()
def any(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return whether an element over ``axis`` is non-zero; of none it is False. No gradient.

    >>> any([True, False]).item()
    True
    """
    (tensor,) = lift((x,))
    return apply(_ANY, tensor, axis=normalise_axes(axis, tensor.ndim), keepdims=keepdims)
