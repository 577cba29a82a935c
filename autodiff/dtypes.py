"""The dtypes that carry gradients. All are NumPy dtype objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

DType = np.dtype[Any]  # Any: the scalar type is a run-time property here

float32: DType = np.dtype(np.float32)
float64: DType = np.dtype(np.float64)
complex64: DType = np.dtype(np.complex64)
complex128: DType = np.dtype(np.complex128)

# Short names count the whole element: C128 is two doubles.
F32, F64, C64, C128 = float32, float64, complex64, complex128

DIFFERENTIABLE = frozenset((F32, F64, C64, C128))

_REAL = {C64: F32, C128: F64}
_COMPLEX = {F32: C64, F64: C128}


def is_complex(dtype: DType) -> bool:
    """Whether ``dtype`` is a complex one."""
    return dtype.kind == "c"


def real_dtype(dtype: DTypeLike) -> DType:
    """Return the real dtype of the same precision.

    >>> real_dtype(complex64)
    dtype('float32')
    """
    dtype = np.dtype(dtype)
    return _REAL.get(dtype, dtype)


def complex_dtype(dtype: DTypeLike) -> DType:
    """Return the complex dtype of the same precision; integers become complex128.

    >>> complex_dtype(float32)
    dtype('complex64')
    """
    dtype = np.dtype(dtype)
    return dtype if is_complex(dtype) else _COMPLEX.get(dtype, C128)
