"""Which dtypes carry gradients, and how they are converted to each other."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import C64, C128, F32, F64, complex64, complex128, dtypes, float32, float64

LONG = (float32, float64, complex64, complex128)


def test_short_names_count_the_whole_element() -> None:
    assert [d.itemsize for d in (F32, F64, C64, C128)] == [4, 8, 8, 16]
    for short, long in zip((F32, F64, C64, C128), LONG, strict=True):
        assert short is long


def test_names_are_numpy_dtype_objects() -> None:
    assert all(isinstance(d, np.dtype) for d in dtypes.DIFFERENTIABLE)
    assert np.dtype(np.float64) in dtypes.DIFFERENTIABLE


@pytest.mark.parametrize(
    ("given", "real", "complex_"),
    [(F32, F32, C64), (F64, F64, C128), (C64, F32, C64), (C128, F64, C128), ("int", "int", C128)],
)
def test_conversion_keeps_the_precision(given: object, real: object, complex_: object) -> None:
    assert dtypes.real_dtype(given) == np.dtype(real)
    assert dtypes.complex_dtype(given) == np.dtype(complex_)
    assert dtypes.is_complex(np.dtype(complex_))
    assert not dtypes.is_complex(np.dtype(real))
