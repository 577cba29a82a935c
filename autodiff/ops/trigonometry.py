"""Circular and hyperbolic functions and their inverses; angles in radians.

Of complex operands the inverses are NumPy's principal branches.
"""

from __future__ import annotations

from autodiff.ops.complex import without_zeros
from autodiff.ops.declare import Function, broadcasting
from autodiff.ops.elementwise import hypot, sqrt
from autodiff.tensors import Tensor

# -- circular ------------------------------------------------------------------------------------

sin = broadcasting(
    "sin",
    lambda xp, x: xp.sin(x),
    lambda outs, x: cos(x),
    doc="""Return sin x, x in radians.

    >>> sin(0.0).item()
    0.0
    """,
)

cos: Function = broadcasting(
    "cos",
    lambda xp, x: xp.cos(x),
    lambda outs, x: -sin(x),
    doc="""Return cos x, x in radians.

    >>> cos(0.0).item()
    1.0
    """,
)

tan = broadcasting(
    "tan",
    lambda xp, x: xp.tan(x),
    lambda outs, x: 1 + outs[0] * outs[0],
    reads_outputs=True,
    domain=(-1.0, 1.0),
    doc="""Return tan x, x in radians.

    >>> tan(0.0).item()
    0.0
    """,
)

arcsin = broadcasting(
    "arcsin",
    lambda xp, x: xp.arcsin(x),
    lambda outs, x: 1 / sqrt((1 - x) * (1 + x)),
    aliases=("asin",),
    domain=(-0.8, 0.8),
    doc="""Return the angle in [-pi/2, pi/2] whose sine is x; the gradient at -1 and 1 is infinite.

    >>> arcsin(0.0).item()
    0.0
    """,
)

arccos = broadcasting(
    "arccos",
    lambda xp, x: xp.arccos(x),
    lambda outs, x: -1 / sqrt((1 - x) * (1 + x)),
    aliases=("acos",),
    domain=(-0.8, 0.8),
    doc="""Return the angle in [0, pi] whose cosine is x; the gradient at -1 and 1 is infinite.

    >>> arccos(1.0).item()
    0.0
    """,
)

arctan = broadcasting(
    "arctan",
    lambda xp, x: xp.arctan(x),
    lambda outs, x: 1 / (1 + x * x),
    aliases=("atan",),
    domain=(-0.8, 0.8),
    doc="""Return the angle in [-pi/2, pi/2] whose tangent is x.

    >>> arctan(0.0).item()
    0.0
    """,
)

arctan2 = broadcasting(
    "arctan2",
    lambda xp, y, x: xp.arctan2(y, x),
    lambda outs, y, x: _over_square(x, y, x),
    lambda outs, y, x: -_over_square(y, y, x),
    aliases=("atan2",),
    domain=(0.3, 2.0),
    takes_complex=False,
    doc="""Return the angle in [-pi, pi] of the point (x, y), for real operands; y comes first.

    The gradients are x/r**2 for y and -y/r**2 for x with r = hypot(x, y), and by convention 0 at
    the origin.

    >>> arctan2(0.0, 1.0).item()
    0.0
    """,
)


def _over_square(part: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """Return part / r**2, and 0 at the origin, without the underflow of r**2."""
    r = without_zeros(hypot(x, y))
    return part / r / r


# -- hyperbolic ----------------------------------------------------------------------------------

sinh = broadcasting(
    "sinh",
    lambda xp, x: xp.sinh(x),
    lambda outs, x: cosh(x),
    doc="""Return the hyperbolic sine.

    >>> sinh(0.0).item()
    0.0
    """,
)

cosh: Function = broadcasting(
    "cosh",
    lambda xp, x: xp.cosh(x),
    lambda outs, x: sinh(x),
    doc="""Return the hyperbolic cosine.

    >>> cosh(0.0).item()
    1.0
    """,
)

tanh = broadcasting(
    "tanh",
    lambda xp, x: xp.tanh(x),
    lambda outs, x: 1 - outs[0] * outs[0],
    reads_outputs=True,
    domain=(-1.2, 1.2),
    doc="""Return the hyperbolic tangent.

    >>> tanh(0.0).item()
    0.0
    """,
)

arcsinh = broadcasting(
    "arcsinh",
    lambda xp, x: xp.arcsinh(x),
    lambda outs, x: 1 / sqrt(1 + x * x),
    aliases=("asinh",),
    domain=(-0.8, 0.8),
    doc="""Return the inverse hyperbolic sine.

    >>> arcsinh(0.0).item()
    0.0
    """,
)

arccosh = broadcasting(
    "arccosh",
    lambda xp, x: xp.arccosh(x),
    lambda outs, x: 1 / (sqrt(x - 1) * sqrt(x + 1)),
    aliases=("acosh",),
    domain=(1.2, 3.0),
    doc="""Return the inverse hyperbolic cosine, for real x >= 1 (NaN below).

    The gradient at 1 is infinite.

    >>> arccosh(1.0).item()
    0.0
    """,
)

arctanh = broadcasting(
    "arctanh",
    lambda xp, x: xp.arctanh(x),
    lambda outs, x: 1 / ((1 - x) * (1 + x)),
    aliases=("atanh",),
    domain=(-0.8, 0.8),
    doc="""Return the inverse hyperbolic tangent, for real |x| <= 1 (NaN beyond).

    >>> arctanh(0.0).item()
    0.0
    """,
)
