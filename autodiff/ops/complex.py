"""Between real and complex: parts, polar form, conjugation, assembly.

Under <a, b> = Re sum conj(a) b the adjoint of Re is the embedding of the reals, and that of Im is
multiplication by i: g -> i g. ``fit`` projects where the operand is real.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff.dtypes import complex_dtype
from autodiff.ops.declare import Function, broadcasting, conj_of
from autodiff.ops.piecewise import where, zero_like
from autodiff.tensors import Tensor

real = broadcasting(
    "real",
    lambda xp, x: xp.real(x),
    rules=(lambda g, outs, x: g,),
    method=False,
    doc="""Return the real part (of real x: x itself).

    >>> real(1 + 2j).item()
    1.0
    """,
)

imag = broadcasting(
    "imag",
    lambda xp, x: xp.imag(x),
    rules=(lambda g, outs, x: g * 1j,),
    method=False,
    doc="""Return the imaginary part (of real x: zeros).

    >>> imag(1 + 2j).item()
    2.0
    """,
)

conj = broadcasting(
    "conj",
    lambda xp, x: xp.conj(x),
    rules=(lambda g, outs, x: conj_of(g),),
    aliases=("conjugate",),
    doc="""Return the complex conjugate.

    >>> conj(1 + 2j).item()
    (1-2j)
    """,
)


def _assemble(xp: Any, re: Any, im: Any) -> Any:  # Any: a backend's module and arrays
    """Write the parts side by side; re + 1j * im would make NaN of infinite parts."""
    re, im = xp.broadcast_arrays(re, im)
    result = xp.empty(re.shape, complex_dtype(np.result_type(re.dtype, im.dtype)))
    result.real = re
    result.imag = im
    return result


make_complex = broadcasting(
    "make_complex",
    _assemble,
    rules=(lambda g, outs, re, im: g, lambda g, outs, re, im: g * -1j),
    method=False,
    takes_complex=False,
    doc="""Return re + i im of two real operands; the gradients are dL/dRe and dL/dIm.

    >>> make_complex(1.0, 2.0).item()
    (1+2j)
    """,
)


def without_zeros(r: Tensor) -> Tensor:
    """Return r with inf for 0: dividing by it gives 0 there, as the conventions at 0 want it."""
    return where(r == 0, float("inf"), r)


def _sign_rule(g: Tensor, outs: Sequence[Tensor], x: Tensor) -> Tensor:
    """With s = x/|x|: the component of g across the direction s, over the modulus."""
    if x.dtype.kind != "c":
        return zero_like(g)
    s = outs[0]
    return (g - s * real(conj(s) * g)) / without_zeros(abs(x))


abs = broadcasting(
    "abs",
    lambda xp, x: xp.abs(x),
    rules=(lambda g, outs, x: g * sign(x),),
    aliases=("absolute",),
    doc="""Return the modulus |x|, without overflow or underflow of |x|**2.

    The gradient is x/|x|, and by convention 0 at 0.

    >>> abs(3 + 4j).item()
    5.0
    """,
)

sign: Function = broadcasting(
    "sign",
    lambda xp, x: xp.sign(x),
    rules=(_sign_rule,),
    reads_outputs=True,
    aliases=("sgn",),
    domain=(0.5, 2.0),
    doc="""Return s = x/|x|, and 0 at 0: the sign of real x, the phase factor of complex x.

    The gradient is 0 for real x; for complex x it is (g - s Re(conj(s) g)) / |x|, and by convention
    0 at 0.

    >>> sign([-2.0, 0.0, 3.0]).tolist()
    [-1.0, 0.0, 1.0]
    """,
)

angle = broadcasting(
    "angle",
    lambda xp, x: xp.angle(x),
    rules=(lambda g, outs, x: g * (1j * (sign(x) / without_zeros(abs(x)))),),
    domain=(0.5, 2.0),
    doc="""Return the phase in (-pi, pi] in radians, for real x 0 or pi.

    The gradient is i x/|x|**2 (0 for real x), and by convention 0 at 0.

    >>> angle(2j).item() == np.pi / 2
    True
    """,
)
