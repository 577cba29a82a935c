"""Numbers that lie apart in memory, against NumPy's slices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from circuits.engines.numba_kernels_lanes import transpose, vgather, vscatter
from circuits.engines.numba_simd import VECTOR_BYTES, compiled_driver, vload, vstore

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])
STEP, START = 3, 2


@compiled_driver
def gathered(source: Any, start: int, step: int, lanes: int, out: Any) -> None:
    """Gather a vector."""
    vstore(out, 0, vgather(source, start, step, lanes))


@compiled_driver
def scattered(source: Any, start: int, step: int, lanes: int, out: Any) -> None:
    """Scatter a vector."""
    vscatter(out, start, step, lanes, vload(source, 0))


@compiled_driver
def squares(source: Any, rows: int, columns: int, out: Any) -> None:
    """Transpose a square from the middle of one array to the middle of another."""
    transpose(source, 1, source.shape[1], rows, out, 2, out.shape[1], columns)


def lanes_of(dtype: type[np.floating]) -> int:
    return VECTOR_BYTES // np.dtype(dtype).itemsize


@DTYPES
@pytest.mark.parametrize("step", [0, 1, STEP])
def test_lanes_beyond_the_last_repeat_it(dtype: type[np.floating], step: int) -> None:
    lanes = lanes_of(dtype)
    source = np.arange(STEP * lanes + START).astype(dtype)
    for used in range(1, lanes + 1):
        out = np.full(lanes, np.nan, dtype)
        gathered(source, START, step, used, out)
        places = START + step * np.minimum(np.arange(lanes), used - 1)
        np.testing.assert_array_equal(out, source[places])


@DTYPES
def test_only_lanes_in_use_are_written(dtype: type[np.floating]) -> None:
    lanes = lanes_of(dtype)
    source = np.arange(1, lanes + 1).astype(dtype)
    for used in range(lanes + 1):
        out = np.zeros(STEP * lanes + START, dtype)
        scattered(source, START, STEP, used, out)
        expected = np.zeros_like(out)
        expected[START : START + STEP * used : STEP] = source[:used]
        np.testing.assert_array_equal(out, expected)


@DTYPES
def test_squares_are_transposed(dtype: type[np.floating]) -> None:
    lanes = lanes_of(dtype)
    for rows, columns in [(lanes, lanes), (1, lanes), (lanes - 1, 1), (lanes, lanes - 1)]:
        source = np.random.default_rng(0).normal(size=(rows, lanes + 1)).astype(dtype)
        out = np.zeros((columns, lanes + 3), dtype)
        squares(source, rows, columns, out)
        repeated = source[np.minimum(np.arange(lanes), rows - 1), 1:]
        np.testing.assert_array_equal(out[:, 2:-1], repeated.T[:columns])
        np.testing.assert_array_equal(out[:, [0, 1, -1]], 0)
