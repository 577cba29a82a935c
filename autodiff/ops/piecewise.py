"""Ops that choose between operands, and ops that are constant in between.

At a point where a derivative jumps the rules take what the docstrings say; elsewhere the operand
that was not chosen gets an exact 0, whatever the cotangent is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.ops.declare import broadcasting, elementwise_op, explain, public, require_real
from autodiff.tensors import Operand, Tensor

_WHERE = elementwise_op(
    "where",
    lambda xp, condition, x, y: xp.where(condition, x, y),
    rules=(
        lambda g, outs, condition, x, y: None,
        lambda g, outs, condition, x, y: _masked(condition, g, 0),
        lambda g, outs, condition, x, y: _masked(condition, 0, g),
    ),
    samples=lambda draw: [
        ((draw(2, 3).real > 0, draw(2, 3), draw(2, 3)), {}),
        ((draw(3).real > 0, draw(2, 1), draw()), {}),
        ((draw(0, 1).real > 0, draw(2), draw(1, 1)), {}),
    ],
    doc="Return x where a condition holds, else y.",
)


@public(method=False)
def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """Return ``x`` where ``condition`` holds, else ``y``; all three broadcast.

    The operand that was not chosen gets the cotangent 0. What that operand was computed from may
    still receive 0 * inf = NaN: for ``where(t > 0, sqrt(t), 0)`` at t = 0 write
    ``where(t > 0, sqrt(where(t > 0, t, 1)), 0)``.

    >>> where([True, False], [1.0, 2.0], 0.0).tolist()
    [1.0, 0.0]
    """
    try:
        return _masked(condition, x, y)
    except (TypeError, ValueError) as error:
        explain(_WHERE, (condition, x, y), error)
        raise


def _masked(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """Lift the condition alone: its dtype says nothing about the result's."""
    values: Tensor = apply(_WHERE, *lift((condition,)), *lift((x, y)))
    return values


maximum = broadcasting(
    "maximum",
    lambda xp, x, y: xp.maximum(x, y),
    rules=(
        lambda g, outs, x, y: _share(g, x < y, x == y),
        lambda g, outs, x, y: _share(g, y < x, x == y),
    ),
    takes_complex=False,
    doc="""Return the larger of two elements, for real operands; NaN if one of them is.

    The larger operand gets the gradient, and each gets half where they are equal. Where the result
    is NaN both get it.

    >>> maximum([1.0, 5.0], 3.0).tolist()
    [3.0, 5.0]
    """,
)

minimum = broadcasting(
    "minimum",
    lambda xp, x, y: xp.minimum(x, y),
    rules=(
        lambda g, outs, x, y: _share(g, x > y, x == y),
        lambda g, outs, x, y: _share(g, y > x, x == y),
    ),
    takes_complex=False,
    doc="""Return the smaller of two elements, for real operands; NaN if one of them is.

    The smaller operand gets the gradient, and each gets half where they are equal. Where the result
    is NaN both get it.

    >>> minimum([1.0, 5.0], 3.0).tolist()
    [1.0, 3.0]
    """,
)


def _share(g: Tensor, loses: Tensor, ties: Tensor) -> Tensor:
    return where(loses, 0, where(ties, 0.5 * g, g))


_CLIP = elementwise_op(
    "clip",
    lambda xp, x, low, high: xp.minimum(xp.maximum(x, low), high),
    rules=(
        lambda g, outs, x, low, high: where(x < low, 0, where(x > high, 0, g)),
        lambda g, outs, x, low, high: where(x < low, where(low > high, 0, g), 0),
        lambda g, outs, x, low, high: where(x > high, g, where(low > high, g, 0)),
    ),
    takes_complex=False,
    samples=lambda draw: [
        ((draw(2, 3), -0.7, 0.8), {}),
        ((draw(3), draw(2, 1) - 1, draw() + 1), {}),
        ((draw(0, 2), draw(2) - 3, draw(1, 1) + 3), {}),
    ],
    doc="Return x limited to [low, high].",
)


@public("clamp")
def clip(x: Operand, low: Operand | None = None, high: Operand | None = None) -> Tensor:
    """Return x limited to ``[low, high]``, for real operands; None is no limit.

    x gets the gradient where low <= x <= high (the limits included, as in PyTorch), else the limit
    that was taken gets it. Where low > high the result is ``high``.

    >>> clip([-2.0, 0.5, 2.0], -1.0, 1.0).tolist()
    [-1.0, 0.5, 1.0]
    """
    (tensor,) = lift((x,))
    limits = (_limit(tensor, low, -1), _limit(tensor, high, 1))
    operands = lift((tensor, *limits))
    require_real("clip", *operands)
    try:
        limited: Tensor = apply(_CLIP, *operands)
    except (TypeError, ValueError) as error:
        explain(_CLIP, operands, error)
        raise
    return limited


def _limit(x: Tensor, given: Operand | None, sign: int) -> Operand:
    if given is not None:
        return given
    if x.dtype.kind in "iu":
        return int(np.iinfo(x.dtype).max if sign > 0 else np.iinfo(x.dtype).min)
    return sign * float("inf")


def zero_like(g: Tensor) -> Tensor:
    """Return zeros where ``g`` lives, also where ``g`` is infinite or NaN."""
    return where(False, g, 0)


def _step(name: str, doc: str, *aliases: str) -> Any:  # Any: elementwise's function
    return broadcasting(
        name,
        lambda xp, x: getattr(xp, name)(x),
        rules=(lambda g, outs, x: zero_like(g),),
        aliases=aliases,
        takes_complex=False,
        doc=doc,
    )


floor = _step(
    "floor",
    """Return the largest integer <= x, in x's dtype; the gradient is 0 everywhere.

    >>> floor(1.7).item()
    1.0
    """,
)

ceil = _step(
    "ceil",
    """Return the smallest integer >= x, in x's dtype; the gradient is 0 everywhere.

    >>> ceil(1.2).item()
    2.0
    """,
)

trunc = _step(
    "trunc",
    """Return x rounded towards 0, in x's dtype; the gradient is 0 everywhere.

    >>> trunc(-1.7).item()
    -1.0
    """,
)

rint = _step(
    "rint",
    """Return the nearest integer (halves to even), in x's dtype; the gradient is 0 everywhere.

    >>> rint([0.5, 1.7]).tolist()
    [0.0, 2.0]
    """,
    "round",
)
