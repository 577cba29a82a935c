"""States in and out of tiles: rows by their order, samples by lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from circuits.engines.numba_instructions import Place
from circuits.engines.numba_kernels_states import image, load_block, store_block
from circuits.engines.numba_program import row_order, tile_rows
from circuits.engines.numba_simd import VECTOR_BYTES, compiled_driver
from circuits.engines.numba_stages import tile_order

DTYPES = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@compiled_driver
def loaded(states: Any, sample: int, lanes: int, k: int, order: Any, b: Any, scratch: Any) -> None:
    """Read a block with samples in the lanes."""
    load_block(states, sample, 1, lanes, b, k, order, scratch)


@compiled_driver
def stored(states: Any, sample: int, lanes: int, k: int, order: Any, b: Any, scratch: Any) -> None:
    """Write a block with samples in the lanes."""
    store_block(states, sample, 1, lanes, b, k, order, scratch)


def places_after_gates(k: int) -> list[Place]:
    """Places after CX between neighbours: flips and masks that are no longer single bits."""
    flips, masks = [1 << q for q in range(k)], [1 << q for q in range(k)]
    for q in range(k - 1):
        flips[q], masks[q + 1] = flips[q] ^ flips[q + 1], masks[q + 1] ^ masks[q]
    return [Place(flip=f, mask=m) for f, m in zip(flips, masks, strict=True)]


def test_rows_follow_their_columns() -> None:
    columns = [1 << k for k in (3, 0, 7, 1, 2, 6, 4, 5)]
    order = tile_order(columns)
    for row in (0, 1, 77, 255):
        wanted = sum(c for k, c in enumerate(columns) if (row >> k) & 1)
        assert image.py_func(row, order) == wanted


@pytest.mark.parametrize("k", [1, 5, 8])
def test_orders_are_inverse(k: int) -> None:
    places = places_after_gates(k)
    there, back = row_order(places), tile_rows(places)
    rows = [image.py_func(image.py_func(row, there), back) for row in range(1 << k)]
    assert rows == list(range(1 << k))


@DTYPES
@pytest.mark.parametrize("k", [1, 2, 3, 4, 8])
def test_samples_in_the_lanes(dtype: type[np.floating], k: int) -> None:
    lanes = VECTOR_BYTES // np.dtype(dtype).itemsize
    order, rng = tile_rows(places_after_gates(k)), np.random.default_rng(0)
    batch, scratch = 2 * lanes, np.full(64 * lanes, np.nan, dtype)
    states = rng.normal(size=(batch, 2 << k)).astype(dtype)
    rows = [image.py_func(row, order) for row in range(1 << k)]
    for sample, used in [(0, lanes), (lanes, lanes), (lanes, 1), (lanes - 1, lanes - 1)]:
        b = np.full((1 << k, 2, lanes), np.nan, dtype)
        loaded(states, sample, used, k, order, b.reshape(-1), scratch)
        numbers = sample + np.minimum(np.arange(lanes), used - 1)
        expected = states[numbers].reshape(lanes, 1 << k, 2).transpose(1, 2, 0)
        np.testing.assert_array_equal(b[rows], expected)
        out = np.zeros_like(states)
        stored(out, sample, used, k, order, b.reshape(-1), scratch)
        expected = np.zeros_like(states)
        expected[sample : sample + used] = states[sample : sample + used]
        np.testing.assert_array_equal(out, expected)


@DTYPES
@pytest.mark.parametrize("count", [1, 2, 3, 20])
def test_samples_take_fewer_states_in_turn(dtype: type[np.floating], count: int) -> None:
    lanes, k = VECTOR_BYTES // np.dtype(dtype).itemsize, 3
    order, rng = tile_rows(places_after_gates(k)), np.random.default_rng(0)
    scratch = np.full(64 * lanes, np.nan, dtype)
    states = rng.normal(size=(count, 2 << k)).astype(dtype)
    rows = [image.py_func(row, order) for row in range(1 << k)]
    for sample in (0, lanes, 2 * lanes):
        b = np.full((1 << k, 2, lanes), np.nan, dtype)
        loaded(states, sample, lanes, k, order, b.reshape(-1), scratch)
        numbers = (sample + np.arange(lanes)) % count
        expected = states[numbers].reshape(lanes, 1 << k, 2).transpose(1, 2, 0)
        np.testing.assert_array_equal(b[rows], expected)
