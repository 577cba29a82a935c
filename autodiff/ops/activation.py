"""Activation functions of neural networks (``tanh`` stands with the hyperbolic functions)."""

from __future__ import annotations

from typing import Any

from autodiff.ops.declare import broadcasting
from autodiff.ops.piecewise import where


def _sigmoid(xp: Any, x: Any) -> Any:  # Any: a backend's module and arrays
    """Use e**x or e**-x: no exponent has a positive real part, so none overflows."""
    negative = x.real < 0
    small = xp.exp(xp.where(negative, x, 0.0 - x))
    return xp.where(negative, small, 1) / (1 + small)


def _softplus(xp: Any, x: Any) -> Any:
    """Compute what NumPy's logaddexp(x, 0) is, several times faster."""
    return xp.maximum(x, 0) + xp.log1p(xp.exp(0.0 - xp.abs(x)))


sigmoid = broadcasting(
    "sigmoid",
    _sigmoid,
    lambda outs, x: outs[0] * (1 - outs[0]),
    reads_outputs=True,
    doc="""Return 1 / (1 + e**-x), without overflow for any x.

    >>> sigmoid(0.0).item()
    0.5
    """,
)

relu = broadcasting(
    "relu",
    lambda xp, x: xp.maximum(x, 0),
    rules=(lambda g, outs, x: where(x <= 0, 0, g),),
    takes_complex=False,
    doc="""Return max(x, 0) for real x; the gradient at 0 is 0.

    >>> relu([-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """,
)

softplus = broadcasting(
    "softplus",
    _softplus,
    lambda outs, x: sigmoid(x),
    takes_complex=False,
    doc="""Return log(1 + e**x) for real x, without overflow for any x; the gradient is sigmoid(x).

    >>> softplus(0.0).item()
    0.6931471805599453
    """,
)
