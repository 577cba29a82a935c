"""The vector operations, each on random lanes, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from circuits.engines import numba_simd as simd
from circuits.engines.numba_simd import (
    atomic_add,
    compiled,
    compiled_driver,
    flip_by_bits,
    fma,
    fms,
    popcount,
    vadd,
    vdiffer,
    vevens,
    vfill,
    vflip,
    vlen,
    vload,
    vmul,
    vodds,
    vpick,
    vround,
    vsplat,
    vstore,
    vsub,
    vsum,
    vzero,
    vzip_high,
    vzip_low,
)


@compiled_driver
def every_operation(a: Any, b: Any, c: Any, out: Any, total: Any, counter: Any) -> None:
    """Write the result of every operation to a row of ``out``."""
    x, y, z, V = vload(a, 0), vload(b, 0), vload(c, 0), vlen(a)
    vstore(out[0], 0, fma(x, y, z))
    vstore(out[1], 0, fms(x, y, z))
    vstore(out[2], 0, vadd(x, y))
    vstore(out[3], 0, vsub(x, y))
    vstore(out[4], 0, vmul(x, y))
    vstore(out[5], 0, vround(x))
    vstore(out[6], 0, vpick(x, y, z))
    vstore(out[7], 0, vevens(x, y))
    vstore(out[8], 0, vodds(x, y))
    vstore(out[9], 0, vzip_low(x, y))
    vstore(out[10], 0, vzip_high(x, y))
    vstore(out[11], 0, vsplat(a[1]))
    vstore(out[12], 0, vfill(a, 0.25))
    vstore(out[13], 0, vzero(a))
    for bits in range(V):
        vstore(out[14 + bits], 0, vflip(x, bits))
        vstore(out[14 + V + bits], 0, flip_by_bits(x, bits))
    vstore(out[14 + 2 * V], 0, vdiffer(x, x, vzero(a)))
    vstore(out[15 + 2 * V], 0, vdiffer(x, x, y))
    vstore(out[16 + 2 * V], 0, vdiffer(x, vsub(vzero(a), x), y))
    total[0] = vsum(x)
    counter[1] = popcount(counter[0])
    counter[2] = atomic_add(counter, 0, 5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_operation(dtype: type[np.floating]) -> None:
    lanes = simd.VECTOR_BYTES // np.dtype(dtype).itemsize
    a, b, c = (3 * np.random.default_rng(0).normal(size=(3, lanes))).astype(dtype)
    out, total = np.full((17 + 2 * lanes, lanes), np.nan, dtype), np.zeros(1)
    counter = np.array([0b1011, 0, 0])
    every_operation(a, b, c, out, total, counter)
    pairs, zipped = np.concatenate([a, b]), np.stack([a, b], axis=1).ravel()
    flipped = [a[np.arange(lanes) ^ bits] for bits in range(lanes)]
    expected = [
        *(a * b + c, c - a * b, a + b, a - b, a * b, np.rint(a), np.where(a > 0, b, c)),
        *(pairs[0::2], pairs[1::2], zipped[:lanes], zipped[lanes:]),
        *(np.full(lanes, a[1]), np.full(lanes, 0.25), np.zeros(lanes)),
        *(flipped + flipped),
        *(np.zeros(lanes), b, np.ones(lanes)),
    ]
    # One rounding where NumPy has two: a sum that cancels keeps the error of its terms, up to 10.
    tolerance = 10 * np.finfo(dtype).eps
    np.testing.assert_allclose(out, np.array(expected), rtol=tolerance, atol=tolerance)
    assert total[0] == pytest.approx(a.sum(dtype=np.float64))
    assert counter.tolist() == [0b1011 + 5, 3, 0b1011]


def test_cache_folder_depends_on_every_kernel_file(monkeypatch: pytest.MonkeyPatch) -> None:
    before = simd._cache_folder()
    assert before == simd._FOLDER
    read = simd.Path.read_bytes
    for file in simd.Path(simd.__file__).parent.glob("numba_kernels*.py"):
        changed = {file: b"# edited"}
        monkeypatch.setattr(simd.Path, "read_bytes", lambda p, c=changed: read(p) + c.get(p, b""))
        assert simd._cache_folder() != before


def test_setting_of_the_cache_folder_is_left_as_it_was() -> None:
    from numba import config

    before = config.CACHE_DIR
    compiled_driver(lambda x: x)
    assert before == config.CACHE_DIR


@compiled
def _doubled(a: Any) -> None:
    for start in range(0, a.shape[0], vlen(a)):
        vstore(a, start, vadd(vload(a, start), vload(a, start)))


@compiled_driver
def calls_with_arrays(a: Any) -> None:
    """Hand an array and a part of it to other compiled functions."""
    _doubled(a)
    _doubled(a[vlen(a) :])


def test_kernels_count_no_references() -> None:
    lanes = simd.VECTOR_BYTES // 8
    a = np.ones(2 * lanes)
    calls_with_arrays(a)
    np.testing.assert_array_equal(a, np.repeat([2.0, 4.0], lanes))
    calls_with_arrays.recompile()  # what comes from the cache cannot be looked at
    (code,) = calls_with_arrays.inspect_asm().values()
    assert "NRT_incref" not in code
