"""Mean, variance and standard deviation over axes.

Integers are taken as float64, as NumPy takes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff.dispatch import apply, lift
from autodiff.dtypes import real_dtype
from autodiff.errors import ShapeError
from autodiff.node import Meta, Op
from autodiff.ops.axes import (
    Axis,
    behind_batch_axis,
    count,
    normalise_axes,
    reduced_shape,
    reduction_samples,
    require_elements,
)
from autodiff.ops.cast import as_inexact
from autodiff.ops.complex import without_zeros
from autodiff.ops.declare import per_input, public, register
from autodiff.ops.reduce import expand, spread, sum_over
from autodiff.tensors import Operand, Tensor

# Any in this file: test arrays, a backend's arrays and modules.


def _mean(xp: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """Return what x.mean does, in half its time."""
    return sum_over(xp, x, axis, keepdims) / count(x.shape, axis)


_MEAN = register(
    Op(
        "mean",
        _mean,
        per_input(
            lambda g, outs, x, axis, keepdims: spread(g, x.shape, axis, count(x.shape, axis))
        ),
        lambda x, axis, keepdims: ((reduced_shape(x[0], axis, keepdims), x[1]),),
        per_sample=behind_batch_axis,
        samples=reduction_samples,
        doc="Return the mean over axes.",
    )
)


@public()
def mean(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the mean over ``axis`` (all axes by default).

    Raises:
        ShapeError: no element along the axes.

    >>> mean([[1.0, 2.0], [3.0, 4.0]], axis=1).tolist()
    [1.5, 3.5]
    """
    (tensor,) = lift((x,))
    tensor = as_inexact("mean", tensor)
    axes = normalise_axes(axis, tensor.ndim)
    require_elements("mean", tensor.shape, axes)
    return apply(_MEAN, tensor, axis=axes, keepdims=keepdims)


def _var(xp: Any, x: Any, axis: tuple[int, ...], ddof: int, keepdims: bool) -> Any:
    return xp.var(x, axis=axis, ddof=ddof, keepdims=keepdims)


def _std(xp: Any, x: Any, axis: tuple[int, ...], ddof: int, keepdims: bool) -> Any:
    return xp.std(x, axis=axis, ddof=ddof, keepdims=keepdims)


def _spread_meta(x: Meta, axis: tuple[int, ...], ddof: int, keepdims: bool) -> tuple[Meta, ...]:
    return ((reduced_shape(x[0], axis, keepdims), real_dtype(x[1])),)


def _deviation(x: Tensor, axis: tuple[int, ...], ddof: int) -> Tensor:
    """(x - mean) / (n - ddof): that the mean moves too cancels, as deviations sum to 0."""
    return (x - mean(x, axis, keepdims=True)) / (count(x.shape, axis) - ddof)


def _var_rule(
    g: Tensor, outs: Sequence[Tensor], x: Tensor, axis: tuple[int, ...], ddof: int, keepdims: bool
) -> Tensor:
    return 2 * expand(g, x.shape, axis) * _deviation(x, axis, ddof)


def _std_rule(
    g: Tensor, outs: Sequence[Tensor], x: Tensor, axis: tuple[int, ...], ddof: int, keepdims: bool
) -> Tensor:
    return expand(g / without_zeros(outs[0]), x.shape, axis) * _deviation(x, axis, ddof)


_VAR = register(
    Op(
        "var",
        _var,
        per_input(_var_rule),
        _spread_meta,
        per_sample=behind_batch_axis,
        samples=lambda draw: reduction_samples(draw, ddof=1),
        doc="Return the variance over axes.",
    )
)

_STD = register(
    Op(
        "std",
        _std,
        per_input(_std_rule),
        _spread_meta,
        reads_outputs=True,
        per_sample=behind_batch_axis,
        samples=lambda draw: reduction_samples(draw, ddof=0),
        doc="Return the standard deviation over axes.",
    )
)


@public()
def var(x: Operand, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the variance sum |x - mean|**2 / (n - ddof) over ``axis``, real for complex x too.

    ``ddof`` is 0 as in NumPy; PyTorch's default is 1.

    Raises:
        ShapeError: not more than ``ddof`` elements along the axes.

    >>> var([1.0, 3.0]).item()
    1.0
    """
    return _spread(_VAR, x, axis, ddof, keepdims)


@public()
def std(x: Operand, axis: Axis = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Return the standard deviation sqrt(var) over ``axis``, real for complex x too.

    ``ddof`` is 0 as in NumPy; PyTorch's default is 1. Where all elements are equal the gradient is
    0 by convention.

    Raises:
        ShapeError: not more than ``ddof`` elements along the axes.

    >>> std([1.0, 3.0]).item()
    1.0
    """
    return _spread(_STD, x, axis, ddof, keepdims)


def _spread(op: Op, x: Operand, axis: Axis, ddof: int, keepdims: bool) -> Tensor:
    (tensor,) = lift((x,))
    tensor = as_inexact(op.name, tensor)
    axes = normalise_axes(axis, tensor.ndim)
    if count(tensor.shape, axes) <= ddof:
        raise ShapeError(
            f"{op.name} needs more than ddof={ddof} elements along its axes, got shape "
            f"{tensor.shape} and axis {axes}. Choose other axes or a smaller ddof."
        )
    spread: Tensor = apply(op, tensor, axis=axes, ddof=ddof, keepdims=keepdims)
    return spread
