"""Sines and cosines, in vectors, against the C library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from circuits.engines.numba_kernels_tables import fill_operands, image
from circuits.engines.numba_simd import VECTOR_BYTES, compiled_driver
from circuits.engines.numba_stages import tile_order


@compiled_driver
def operands(angles: Any, columns: Any, wide: int, L: Any) -> None:
    """Call the compiled function."""
    fill_operands(angles, columns, wide - wide, wide, angles.shape[0], L)


def tables(angles: np.ndarray[Any, Any], wide: int) -> np.ndarray[Any, Any]:
    """Angles, cosines and sines of halves, then two columns, a vector each."""
    lanes = VECTOR_BYTES // angles.itemsize
    columns = np.arange(2.0 * len(angles)).reshape(-1, 2).astype(angles.dtype)
    L = np.full((3 * angles.shape[1] + 2) * lanes, np.nan, angles.dtype)
    operands(angles, columns, np.int64(wide), L)
    return L.reshape(-1, lanes)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 30.0, 4000.0, 1e7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sines_and_cosines(dtype: type[np.floating], scale: float) -> None:
    angles = (scale * np.random.default_rng(0).normal(size=(1, 500))).astype(dtype)
    found = tables(angles, 0)
    exact = angles[0].astype(np.float64)
    tolerance = 2e-15 if dtype is np.float64 else 2e-7
    for lane in found.T:
        np.testing.assert_array_equal(lane[:500], angles[0])
        np.testing.assert_allclose(lane[500:1000], np.cos(exact / 2), rtol=0, atol=tolerance)
        np.testing.assert_allclose(lane[1000:1500], np.sin(exact / 2), rtol=0, atol=tolerance)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_angle_gives_nan_in_its_lane_only(bad: float) -> None:
    angles = np.full((4, 1), 0.5)
    angles[2] = bad
    found = tables(angles, 1)
    assert np.isnan(found[1:3, 2]).all()
    assert np.isfinite(np.delete(found[1:3], 2, axis=1)).all()


def test_lanes_are_samples_and_the_last_one_repeats() -> None:
    found = tables(np.array([[0.1], [0.2], [0.3]]), 1)
    repeats = found.shape[1] - 2
    np.testing.assert_array_equal(found[0], [0.1, 0.2, *[0.3] * repeats])
    np.testing.assert_array_equal(found[3:], [[0, 2, *[4] * repeats], [1, 3, *[5] * repeats]])


def test_rows_follow_their_columns() -> None:
    columns = [1 << k for k in (3, 0, 7, 1, 2, 6, 4, 5)]
    order = tile_order(columns)
    for row in (0, 1, 77, 255):
        wanted = sum(c for k, c in enumerate(columns) if (row >> k) & 1)
        assert image.py_func(row, order) == wanted
