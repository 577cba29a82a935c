"""Faults of ``sample.cu``: one of every kind that the checks are for."""

from __future__ import annotations

import mmap

import numpy as np
from mutants import Mutant, MutantSet, scenario_checks
from sample_kernels import KERNELS

from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.host_modules import Schedule
from autodiff.backends.raw_modules import Source

INSTANCES = tuple(name for name in KERNELS.instances if "double" in name)
MAP_NORESERVE = 0x4000


def scenario(backend: EmulatedBackend, source: Source) -> None:
    """Every kernel once, on data whose sizes divide nothing."""
    rng = np.random.default_rng(5)
    module = backend.raw_module(source, INSTANCES)
    values = rng.normal(size=301)
    scaled = values.copy()
    arguments = (scaled, np.uint64(301), np.float64(3))
    module.launch("scale<double>", (2, 1, 1), (64, 1, 1), arguments)
    np.testing.assert_array_equal(scaled, 3 * values)
    given = rng.normal(size=70) + 1j * rng.normal(size=70)
    result = np.zeros(70, complex)
    module.launch("conjugate<double>", (2, 1, 1), (40, 1, 1), (given, result, np.int32(70)))
    np.testing.assert_array_equal(result, given.conj())
    rows, totals = rng.normal(size=(3, 130)), np.zeros(3)
    module.launch("row_sums<double>", (2, 3, 1), (64, 1, 1), (rows, totals, np.int32(130)))
    np.testing.assert_allclose(totals, rows.sum(axis=1), rtol=0, atol=1e-12)
    tiles = rng.normal(size=192)
    expected = tiles.reshape(3, 64)[:, ::-1].reshape(-1)
    module.launch("reverse_tiles<double>", (3, 1, 1), (64, 1, 1), (tiles,), 512)
    np.testing.assert_array_equal(tiles, expected)


def check_large(source: Source) -> None:
    """The last block of 2^34 numbers, of which the machine holds a page."""
    size = 1 << 34
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    values = np.frombuffer(mmap.mmap(-1, 4 * size, flags=flags), np.float32)
    values[-256:] = 3
    backend = EmulatedBackend()
    blocks = size // 256
    backend.kernels.schedule = Schedule(first=blocks - 1, count=1)
    arguments = (values, np.uint64(size), np.float32(2))
    module = backend.raw_module(source, ("scale<float>",))
    module.launch("scale<float>", (blocks, 1, 1), (256, 1, 1), arguments)
    np.testing.assert_array_equal(values[-256:], 6)


MUTANTS = MutantSet(
    KERNELS.source,
    (
        Mutant(
            "a missing barrier",
            r"(tile\[threadIdx.x\] = .*\n)  __syncthreads\(\);\n",
            r"\1",
            "values",
        ),
        Mutant(
            "a race between threads of a block",
            r"(tile\[threadIdx.x\] = .*\n)  __syncthreads\(\);\n",
            r"\1",
            "thread",
            "data race",
        ),
        Mutant(
            "a race between blocks",
            r"atomicAdd\(&totals\[blockIdx.y\], sum\)",
            "totals[blockIdx.y] += sum",
            "thread",
            "data race",
        ),
        Mutant(
            "a barrier for some threads",
            r"(tile\[threadIdx.x\] = .*\n)  __sync",
            r"\1  if (threadIdx.x < 40) __sync",
            "values",
            "__syncthreads needs every thread of the block",
        ),
        Mutant(
            "barriers at two lines",
            r"(parts\[warp\] = value;\n)  __sync",
            r"\1  if (threadIdx.x < 32) __sync",
            "values",
            r"threads wait at different __syncthreads: lines \(35, 38\)",
        ),
        Mutant(
            "a shuffle for some lanes",
            r"if \(warp == 0\) value",
            "if (threadIdx.x < 8) value",
            "values",
            "every lane of its warp",
        ),
        Mutant("an index too far", r"i < size; i \+= step", "i <= size; i += step", "address"),
        Mutant(
            "an index too far in shared memory",
            r"blockDim.x - 1 - threadIdx.x",
            "blockDim.x - threadIdx.x",
            "address",
            "heap-buffer-overflow",
        ),
        Mutant(
            "shared memory that nobody wrote",
            r"tile\[threadIdx.x\] = values",
            "if (threadIdx.x) tile[threadIdx.x] = values",
            "values",
        ),
        Mutant("a missing conjugate", r"-given\[i\].y", "given[i].y", "values"),
        Mutant("a wrong reduction", r"distance = 16", "distance = 8", "values"),
        Mutant(
            "a 32-bit index",
            r"i = static_cast<u64>\(blockIdx.x\) \* blockDim.x \+ threadIdx.x; i < size",
            "i = blockIdx.x * blockDim.x + threadIdx.x; i < size",
            "large",
        ),
        Mutant(
            "undefined arithmetic",
            r"value = warp_sum\(value\);\n  if",
            "value = warp_sum(value);\n  if (1 << (lane + 1) == 0) value = 0;\n  if",
            "address",
            "shift",
        ),
    ),
    {**scenario_checks(KERNELS.source, scenario), "large": check_large},
)
