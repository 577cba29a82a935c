"""Tables in one array: what is packed comes out again, in Python and in compiled code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from circuits.engines.numba_kernels_packing import PART, packed, part, part_planes, part_rows
from circuits.engines.numba_simd import compiled, compiled_driver

FIRST = np.array([7, -8, 9])


@compiled
def _copy(source: Any, out: Any) -> None:
    for i in range(out.size):
        out.flat[i] = source.flat[i]


@compiled_driver
def copied(room: Any, line: Any, rows: Any, planes: Any, reals: Any) -> None:
    """Copy the parts of a packed array."""
    _copy(part(room, len(FIRST), room), line)
    _copy(part_rows(room, len(FIRST) + PART, room), rows)
    _copy(part(room, len(FIRST) + 2 * PART, reals), reals)
    _copy(part_planes(room, len(FIRST) + 3 * PART, room), planes)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_parts_come_out_again(dtype: type[np.floating], count: int) -> None:
    line, rows = np.arange(count), np.arange(6 * count).reshape(2 * count, 3)
    planes = -np.arange(8 * count).reshape(count, 2, 4)
    reals = np.random.default_rng(0).normal(size=count).astype(dtype)
    parts = [line, rows, reals, planes]
    room, views = packed(FIRST, parts)
    assert room[: len(FIRST)].tolist() == FIRST.tolist()
    found = [np.empty_like(p) for p in parts]
    copied(room, found[0], found[1], found[3], found[2])
    for given, view, out in zip(parts, views, found, strict=True):
        assert np.shares_memory(view, room) or not count
        for array in (view, out):
            assert (array.dtype, array.shape) == (given.dtype, given.shape)
            np.testing.assert_array_equal(array, given)
