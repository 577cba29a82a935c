"""Changes of representation: dtype, copies, and what has another's shape and dtype."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from autodiff.dispatch import apply, lift
from autodiff.dtypes import DIFFERENTIABLE, float64
from autodiff.errors import DTypeError
from autodiff.node import Op
from autodiff.ops.declare import broadcasting, per_input, public, register, unchanged
from autodiff.tensors import Operand, Tensor

_ASTYPE = register(
    Op(
        "astype",
        lambda xp, x, dtype: x.astype(dtype),
        per_input(lambda g, outs, x, dtype: g),  # ``fit`` restores the operand's dtype
        lambda meta, dtype: ((meta[0], dtype),),
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(2, 3),), {"dtype": np.dtype(np.complex128)}),
            ((draw(0),), {"dtype": np.dtype(np.complex64)}),
        ],
        doc="Return x converted to another dtype.",
    )
)


@public()
def astype(x: Operand, dtype: DTypeLike) -> Tensor:
    """Return x converted to another dtype; its gradient comes back in x's own.

    Args:
        x: any tensor.
        dtype: a NumPy dtype. Complex to real is refused: take ``real`` and say so.

    Raises:
        DTypeError: complex to real, or not numeric.

    >>> astype(1.5, "float32").dtype
    dtype('float32')
    """
    (tensor,) = lift((x,))
    target = np.dtype(dtype)
    if target.kind not in "biufc" or (tensor.dtype.kind == "c" and target.kind != "c"):
        raise DTypeError(
            f"astype needs a numeric dtype that can hold {tensor.dtype}, got {target}. "
            "Take .real or abs first."
        )
    return tensor if target == tensor.dtype else apply(_ASTYPE, tensor, dtype=target)


def as_inexact(name: str, x: Tensor) -> Tensor:
    """Return x for an op that computes in floating point only: integers become float64.

    Raises:
        DTypeError: a floating dtype that has no such op, as float16.
    """
    if x.dtype.kind in "biu":
        return astype(x, float64)
    if x.dtype not in DIFFERENTIABLE:
        raise DTypeError(
            f"{name} needs dtype float32, float64, complex64, complex128 or an integer dtype, got "
            f"{x.dtype} of shape {x.shape}. Convert it with astype."
        )
    return x


copy = broadcasting(
    "copy",
    lambda xp, x: xp.array(x),
    rules=(lambda g, outs, x: g,),
    doc="""Return a differentiable copy with its own storage.

    >>> copy(1.0).item()
    1.0
    """,
)

ones_like = broadcasting(
    "ones_like",
    lambda xp, x: xp.ones(x.shape, x.dtype),
    None,
    doc="""Return ones of the shape, dtype and device of x.

    >>> ones_like([2.0, 3.0]).tolist()
    [1.0, 1.0]
    """,
)

zeros_like = broadcasting(
    "zeros_like",
    lambda xp, x: xp.zeros(x.shape, x.dtype),
    None,
    doc="""Return zeros of the shape, dtype and device of x.

    >>> zeros_like([2.0, 3.0]).tolist()
    [0.0, 0.0]
    """,
)
