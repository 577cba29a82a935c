"""Elementwise ops: arithmetic, powers, exponentials. One row each, with the derivative beside it.

Ops and gradients follow IEEE 754 and give inf or NaN without a warning: ``log(0)``, ``1 / 0``.

Rules of holomorphic functions give f'(x); ``declare`` conjugates it and sums over broadcast axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log as log_of_number

from autodiff.dispatch import apply
from autodiff.ops.cast import astype
from autodiff.ops.compare import logical_and
from autodiff.ops.complex import real, without_zeros
from autodiff.ops.declare import broadcasting, conj_of, elementwise_op, explain, public
from autodiff.ops.piecewise import where
from autodiff.tensors import Operand, Tensor

# -- arithmetic ----------------------------------------------------------------------------------

add = broadcasting(
    "add",
    lambda xp, x, y: xp.add(x, y),
    rules=(lambda g, outs, x, y: g, lambda g, outs, x, y: g),
    doc="""Return x + y.

    >>> add(1.0, 2.0).item()
    3.0
    """,
)

subtract = broadcasting(
    "subtract",
    lambda xp, x, y: xp.subtract(x, y),
    rules=(lambda g, outs, x, y: g, lambda g, outs, x, y: -g),
    aliases=("sub",),
    doc="""Return x - y.

    >>> subtract(3.0, 2.0).item()
    1.0
    """,
)


def _product_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor]
) -> tuple[Tensor | None, Tensor | None]:
    """Return g conj(y) and g conj(x); of a tensor with itself their sum, by one product."""
    (g,), (x, y) = gs, inputs
    if x is y:
        half = g * conj_of(x)
        return half + half, None
    return (
        g * conj_of(y) if x._meta.requires_grad else None,
        g * conj_of(x) if y._meta.requires_grad else None,
    )


multiply = broadcasting(
    "multiply",
    lambda xp, x, y: xp.multiply(x, y),
    vjp=_product_rule,
    aliases=("mul",),
    doc="""Return x * y.

    >>> multiply(3.0, 2.0).item()
    6.0
    """,
)

divide = broadcasting(
    "divide",
    lambda xp, x, y: xp.true_divide(x, y),
    rules=(  # g first: 1 / y would be rounded to y's dtype, which may be narrower than the result's
        lambda g, outs, x, y: g / conj_of(y),
        lambda g, outs, x, y: g * conj_of(-(x / y) / y),
    ),
    aliases=("true_divide", "div"),
    domain=(0.5, 2.0),
    doc="""Return x / y; integers divide to float64.

    >>> divide(3.0, 2.0).item()
    1.5
    """,
)

negative = broadcasting(
    "negative",
    lambda xp, x: xp.negative(x),
    rules=(lambda g, outs, x: -g,),
    aliases=("neg",),
    doc="""Return -x.

    >>> negative(2.0).item()
    -2.0
    """,
)

reciprocal = broadcasting(
    "reciprocal",
    lambda xp, x: xp.reciprocal(x),
    lambda outs, x: -outs[0] * outs[0],
    reads_outputs=True,
    domain=(0.5, 2.0),
    doc="""Return 1 / x; of integers the integer part, as NumPy does.

    >>> reciprocal(4.0).item()
    0.25
    """,
)

# -- powers --------------------------------------------------------------------------------------

square = broadcasting(
    "square",
    lambda xp, x: xp.square(x),
    lambda outs, x: 2 * x,
    doc="""Return x**2 (for complex x too: not |x|**2).

    >>> square(3.0).item()
    9.0
    """,
)

sqrt = broadcasting(
    "sqrt",
    lambda xp, x: xp.sqrt(x),
    lambda outs, x: 0.5 / outs[0],
    reads_outputs=True,
    domain=(0.3, 2.0),
    doc="""Return the square root, for complex x its principal branch.

    The gradient at 0 is infinite, as the derivative is; real x < 0 gives NaN.

    >>> sqrt(4.0).item()
    2.0
    """,
)


def _base_rule(g: Tensor, outs: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Return y x**(y-1), and 0 where y = 0: there x**-1 would make 0 * inf of a zero base.

    An exponent that may be differentiated next is only replaced where the base is 0 as well:
    elsewhere the mixed derivative x**(y-1) (1 + y log x) is not 0 at y = 0.
    """
    constant = logical_and(x == 0, y == 0) if y.requires_grad else y == 0
    return g * conj_of(y * power(x, where(constant, 1, y - 1)))


def _exponent_rule(g: Tensor, outs: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Return x**y log x, and 0 where 0**y is constant: for Re y >= 0.

    The logarithm is taken in the result's dtype, as the power is: x may be narrower, or real and
    negative under a complex exponent.
    """
    constant = logical_and(x == 0, real(y) >= 0)
    return g * conj_of(outs[0] * log(astype(where(constant, 1, x), outs[0].dtype)))


_POWER = elementwise_op(
    "power",
    lambda xp, x, y: xp.power(x, y),
    rules=(_base_rule, _exponent_rule),
    reads_outputs=True,
    domain=(0.5, 2.0),
    doc="Return x**y.",
)


@public("pow")
def power(x: Operand, y: Operand) -> Tensor:
    """Return ``x**y`` for real or complex base and exponent, on the principal branch.

    The base gets y x**(y-1), an exponent that requires grad x**y log x. Where y = 0 the base gets
    0, and where x = 0 and Re y >= 0 the exponent gets 0, so that polynomials are right at 0. A
    real negative base with a fractional exponent is NaN, as in NumPy: make the base complex.

    >>> power([2.0, 3.0], 2).tolist()
    [4.0, 9.0]
    """
    if type(y) is int and y == 2:
        return square(x)  # NumPy's general power is many times slower
    try:
        raised: Tensor = apply(_POWER, x, y)
    except (TypeError, ValueError) as error:
        explain(_POWER, (x, y), error)
        raise
    return raised


hypot = broadcasting(
    "hypot",
    lambda xp, x, y: xp.hypot(x, y),
    lambda outs, x, y: x / without_zeros(outs[0]),
    lambda outs, x, y: y / without_zeros(outs[0]),
    reads_outputs=True,
    takes_complex=False,
    doc="""Return sqrt(x**2 + y**2) for real operands, without overflow or underflow of the squares.

    The gradients are x/h and y/h, and by convention 0 where both operands are 0.

    >>> hypot(3.0, 4.0).item()
    5.0
    """,
)

# -- exponentials and logarithms -----------------------------------------------------------------

exp = broadcasting(
    "exp",
    lambda xp, x: xp.exp(x),
    lambda outs, x: outs[0],
    reads_outputs=True,
    doc="""Return e**x.

    >>> exp(0.0).item()
    1.0
    """,
)

expm1 = broadcasting(
    "expm1",
    lambda xp, x: xp.expm1(x),
    lambda outs, x: outs[0] + 1,
    reads_outputs=True,
    doc="""Return e**x - 1, without cancellation near 0.

    >>> expm1(0.0).item()
    0.0
    """,
)

log = broadcasting(
    "log",
    lambda xp, x: xp.log(x),
    lambda outs, x: 1 / x,
    domain=(0.3, 2.0),
    doc="""Return the natural logarithm, for complex x its principal branch.

    At 0 it is -inf with an infinite gradient; real x < 0 gives NaN.

    >>> log(1.0).item()
    0.0
    """,
)

log1p = broadcasting(
    "log1p",
    lambda xp, x: xp.log1p(x),
    lambda outs, x: 1 / (1 + x),
    domain=(-0.5, 2.0),
    doc="""Return log(1 + x), without cancellation near 0.

    >>> log1p(0.0).item()
    0.0
    """,
)

log2 = broadcasting(
    "log2",
    lambda xp, x: xp.log2(x),
    lambda outs, x: 1 / (log_of_number(2) * x),
    domain=(0.3, 2.0),
    doc="""Return the logarithm to base 2, for complex x its principal branch.

    >>> log2(8.0).item()
    3.0
    """,
)

log10 = broadcasting(
    "log10",
    lambda xp, x: xp.log10(x),
    lambda outs, x: 1 / (log_of_number(10) * x),
    domain=(0.3, 2.0),
    doc="""Return the logarithm to base 10, for complex x its principal branch.

    >>> log10(1000.0).item()
    3.0
    """,
)
