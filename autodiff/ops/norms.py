"""Norms of vectors, and the Frobenius norm of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff.dispatch import apply, lift
from autodiff.dtypes import real_dtype
from autodiff.errors import ShapeError
from autodiff.node import Attrs, Meta, Op
from autodiff.ops.axes import Axis, normalise_axes, reduced_shape
from autodiff.ops.cast import as_inexact
from autodiff.ops.complex import abs as modulus
from autodiff.ops.complex import without_zeros
from autodiff.ops.declare import per_input, public, register, unchanged
from autodiff.ops.extremes import max as largest
from autodiff.ops.reduce import sum as total
from autodiff.ops.shape import expand_dims
from autodiff.tensors import Operand, Tensor

# Any in this file: a backend's module and arrays.


def _norm(xp: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    squares = xp.real(x) ** 2 + xp.imag(x) ** 2 if x.dtype.kind == "c" else x * x
    return xp.sqrt(xp.sum(squares, axis=axis, keepdims=keepdims))


def _norm_rule(
    g: Tensor, outs: Sequence[Tensor], x: Tensor, axis: tuple[int, ...], keepdims: bool
) -> Tensor:
    """Return g x/|x|, and 0 for x = 0."""
    scale = g / without_zeros(outs[0])
    return x * (scale if keepdims else expand_dims(scale, axis))


def _norm_meta(x: Meta, axis: tuple[int, ...], keepdims: bool) -> tuple[Meta, ...]:
    shape = reduced_shape(x[0], normalise_axes(axis, len(x[0])), keepdims)
    return ((shape, real_dtype(x[1])),)


def _samples(draw: Any) -> list[tuple[tuple[Any, ...], Attrs]]:
    return [
        ((draw(2, 3),), {"axis": (-2, -1), "keepdims": False}),
        ((draw(2, 3, 2),), {"axis": (-2,), "keepdims": True}),
        ((draw(2, 3, 2),), {"axis": (-2,), "keepdims": False}),
        ((draw(2, 0),), {"axis": (-2,), "keepdims": False}),
    ]


_NORM = register(
    Op(
        "norm",
        _norm,
        per_input(_norm_rule),
        _norm_meta,
        reads_outputs=True,
        per_sample=unchanged,
        samples=_samples,
        doc="Return the square root of the sum of |x|**2 over axes.",
    )
)


@public()
def norm(
    x: Operand, ord: float | str | None = None, axis: Axis = None, keepdims: bool = False
) -> Tensor:
    """Return the norm of x over ``axis`` (all axes by default), real and of x's precision.

    The gradient of the 2-norm and the Frobenius norm is x/|x|, and by convention 0 at 0.

    Args:
        x: any tensor; integers are taken as float64.
        ord: None for the square root of the sum of |x|**2 over any number of axes; "fro" for the
            same over two axes; 1, 2 or inf for the sum, the root of the sum of squares, or the
            maximum of the moduli over a single axis.
        axis: one or several axes.
        keepdims: whether to keep the axes with length 1.

    Raises:
        ShapeError: another ``ord`` (spectral and nuclear norms among them), or a bad axis.

    >>> norm([3.0, 4.0]).item()
    5.0
    """
    (tensor,) = lift((x,))
    tensor = as_inexact("norm", tensor)
    axes = tuple(a - tensor.ndim for a in normalise_axes(axis, tensor.ndim))
    allowed = {1: (None, 1, 2, float("inf")), 2: (None, "fro")}.get(len(axes), (None,))
    if ord not in allowed:
        raise ShapeError(
            f"norm needs ord None, 'fro' over two axes, or 1, 2 or inf over one axis, got {ord!r} "
            f"over {len(axes)} axes of shape {tensor.shape}. Name one axis, or leave ord out."
        )
    if ord == 1:
        return total(modulus(tensor), axes, keepdims)
    if ord == float("inf"):
        return largest(modulus(tensor), axes, keepdims)
    result: Tensor = apply(_NORM, tensor, axis=axes, keepdims=keepdims)
    return result
