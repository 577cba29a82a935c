"""The smooth maximum log sum exp, its gradient softmax and the logarithm of that; for real x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.node import Attrs, Meta, Op
from autodiff.ops.axes import (
    Axis,
    behind_batch_axis,
    normalise_axes,
    reduced_shape,
    reduction_samples,
    require_elements,
)
from autodiff.ops.cast import as_inexact
from autodiff.ops.declare import per_input, public, register, require_real
from autodiff.ops.elementwise import exp
from autodiff.ops.piecewise import where
from autodiff.ops.reduce import expand, sum
from autodiff.tensors import Operand, Tensor

# Any in this file: test arrays, a backend's arrays and modules.


def _shifted(xp: Any, x: Any, axis: tuple[int, ...]) -> tuple[Any, Any]:
    """Return x - m and m, the maximum: exp of the former cannot overflow.

    m is kept finite, so that -inf - m is -inf and not NaN.
    """
    limit = float(np.finfo(x.dtype).max)
    largest = xp.clip(xp.max(x, axis=axis, keepdims=True), -limit, limit)
    return x - largest, largest


def _log_of_sum(xp: Any, total: Any) -> Any:
    """log, without a warning for log 0 = -inf."""
    return xp.where(total > 0, xp.log(xp.where(total > 0, total, 1)), -float("inf"))


def _logsumexp(xp: Any, x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    shifted, largest = _shifted(xp, x, axis)
    total = xp.sum(xp.exp(shifted), axis=axis, keepdims=True)
    result = _log_of_sum(xp, total) + largest
    return result if keepdims else xp.squeeze(result, axis=axis)


def _logsumexp_rule(
    g: Tensor, outs: Sequence[Tensor], x: Tensor, axis: tuple[int, ...], keepdims: bool
) -> Tensor:
    """Return g softmax(x), and 0 where all x are -inf.

    e**(x - out) costs an op less, but takes the rounding of a large ``out`` into the weights.
    """
    absent = outs[0] == -float("inf")
    weights = softmax(where(expand(absent, x.shape, axis), 0, x), axis)
    return expand(where(absent, 0, g), x.shape, axis) * weights


_LOGSUMEXP = register(
    Op(
        "logsumexp",
        _logsumexp,
        per_input(_logsumexp_rule),
        lambda x, axis, keepdims: ((reduced_shape(x[0], axis, keepdims), x[1]),),
        reads_outputs=True,
        per_sample=behind_batch_axis,
        samples=reduction_samples,
        takes_complex=False,
        doc="Return log sum exp over axes.",
    )
)


@public()
def logsumexp(x: Operand, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return log(sum(e**x)) over ``axis`` (all axes by default) of real x, without overflow.

    Elements -inf count as absent; of nothing else the result is -inf with gradient 0.

    >>> logsumexp([1000.0, -float("inf")]).item()
    1000.0
    """
    tensor, axes = _operand("logsumexp", x, axis)
    return apply(_LOGSUMEXP, tensor, axis=axes, keepdims=keepdims)


def _softmax(xp: Any, x: Any, axis: tuple[int, ...]) -> Any:
    weights = xp.exp(_shifted(xp, x, axis)[0])
    return weights / xp.sum(weights, axis=axis, keepdims=True)


def _softmax_rule(g: Tensor, outs: Sequence[Tensor], x: Tensor, axis: tuple[int, ...]) -> Tensor:
    weighted = g * outs[0]
    return weighted - outs[0] * sum(weighted, axis, keepdims=True)


def _log_softmax(xp: Any, x: Any, axis: tuple[int, ...]) -> Any:
    shifted, _ = _shifted(xp, x, axis)
    return shifted - _log_of_sum(xp, xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def _log_softmax_rule(
    g: Tensor, outs: Sequence[Tensor], x: Tensor, axis: tuple[int, ...]
) -> Tensor:
    return g - exp(outs[0]) * sum(g, axis, keepdims=True)


def _unchanged_meta(x: Meta, axis: tuple[int, ...]) -> tuple[Meta, ...]:
    return (x,)


def _samples(draw: Any) -> list[tuple[tuple[Any, ...], Attrs]]:
    return [
        ((draw(3),), {"axis": (0,)}),
        ((draw(2, 3, 2),), {"axis": (1,)}),
        ((draw(3, 2),), {"axis": (0, 1)}),
        ((draw(0, 3),), {"axis": (1,)}),
    ]


def _normalised(name: str, forward: Any, rule: Any) -> Op:
    return register(
        Op(
            name,
            forward,
            per_input(rule),
            _unchanged_meta,
            reads_outputs=True,
            per_sample=behind_batch_axis,
            samples=_samples,
            takes_complex=False,
            doc=f"Return {name} over axes.",
        )
    )


_SOFTMAX = _normalised("softmax", _softmax, _softmax_rule)
_LOG_SOFTMAX = _normalised("log_softmax", _log_softmax, _log_softmax_rule)


@public()
def softmax(x: Operand, axis: Axis = -1) -> Tensor:
    """Return e**x / sum(e**x) over ``axis``, the last one by default, of real x, without overflow.

    Elements -inf get weight 0 and gradient 0; of nothing else the weights are NaN.

    >>> softmax([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """
    tensor, axes = _operand("softmax", x, axis)
    return apply(_SOFTMAX, tensor, axis=axes)


@public()
def log_softmax(x: Operand, axis: Axis = -1) -> Tensor:
    """Return x - logsumexp(x) over ``axis``, the last one by default, of real x, without overflow.

    >>> log_softmax([1000.0, 0.0]).tolist()
    [0.0, -1000.0]
    """
    tensor, axes = _operand("log_softmax", x, axis)
    return apply(_LOG_SOFTMAX, tensor, axis=axes)


def _operand(name: str, x: Operand, axis: Axis) -> tuple[Tensor, tuple[int, ...]]:
    (tensor,) = lift((x,))
    tensor = as_inexact(name, tensor)
    require_real(name, tensor)
    axes = normalise_axes(axis, tensor.ndim)
    require_elements(name, tensor.shape, axes)
    return tensor, axes
