"""Kernels on the CPU: built once, checked arguments, and what no GPU would tell."""

from __future__ import annotations

import mmap
import subprocess
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from sample_kernels import KERNELS

from autodiff.backends import host_modules
from autodiff.backends.host_modules import (
    ORDERS,
    CompilerMissing,
    HostLibrary,
    Schedule,
    compile_text,
    host_text,
    translation_unit,
)
from autodiff.backends.raw_modules import KernelArgumentError, KernelError, Source

LIMIT = 227 << 10
MAP_NORESERVE = 0x4000  # in the module mmap only from Python 3.12 on
FORWARD = Schedule()
SCHEDULES = [Schedule(order, seed) for order in ORDERS for seed in (1, 2)]
SAMPLE = HostLibrary(KERNELS.source, KERNELS.instances)


def run(
    library: HostLibrary,
    instance: str,
    grid: tuple[int, int, int],
    threads: int,
    *arguments: object,
    shared: int = 0,
    schedule: Schedule = FORWARD,
) -> None:
    packed = library.pack(instance, arguments)
    library.launch(instance, grid, (threads, 1, 1), packed, shared, LIMIT, schedule)


def library_of(folder: Path, text: str, *instances: str) -> HostLibrary:
    path = folder / "kernel.cu"
    path.write_text(text, encoding="utf-8")
    return HostLibrary(Source(path), instances)


# -- kernels that are right ------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_grid_blocks_and_warps_work_together(dtype: type, schedule: Schedule) -> None:
    real = "float" if dtype == np.float32 else "double"
    rows = np.random.default_rng(1).normal(size=(5, 333)).astype(dtype)
    totals = np.zeros(5, dtype)
    name = f"row_sums<{real}>"
    run(SAMPLE, name, (3, 5, 1), 96, rows, totals, np.int32(333), schedule=schedule)
    np.testing.assert_allclose(totals, rows.sum(axis=1), atol=1e-4 if real == "float" else 1e-12)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_shared_memory_is_the_blocks(schedule: Schedule) -> None:
    values = np.arange(256, dtype=np.float32)
    run(SAMPLE, "reverse_tiles<float>", (4, 1, 1), 64, values, shared=256, schedule=schedule)
    assert np.array_equal(values, np.arange(256).reshape(4, 64)[:, ::-1].reshape(-1))


def test_structures_are_passed_as_complex_numbers() -> None:
    given = np.array([1 + 2j, 3 - 4j])
    result = np.zeros(2, complex)
    run(SAMPLE, "conjugate<double>", (1, 1, 1), 32, given, result, np.int32(2))
    assert np.array_equal(result, given.conj())


def test_some_blocks_may_run_alone() -> None:
    values = np.ones(40)
    arguments = (values, np.uint64(40), np.float64(2))
    run(SAMPLE, "scale<double>", (10, 1, 1), 4, *arguments, schedule=Schedule(first=3, count=2))
    assert np.flatnonzero(values == 2).tolist() == list(range(12, 20))


def test_indices_beyond_32_bits_are_reached() -> None:
    """2^34 single-precision numbers, of which only the last block's are ever touched."""
    size = 1 << 34
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    values = np.frombuffer(mmap.mmap(-1, 4 * size, flags=flags), np.float32)
    values[-256:] = 3
    arguments = (values, np.uint64(size), np.float32(2))
    blocks = size // 256
    schedule = Schedule(first=blocks - 1, count=1)
    run(SAMPLE, "scale<float>", (blocks, 1, 1), 256, *arguments, schedule=schedule)
    assert np.array_equal(values[-512:], np.repeat([0, 6], 256))


# -- kernels that are wrong ------------------------------------------------------------------------

KERNEL = "__global__ void f(int *x) {\n  const unsigned t = threadIdx.x;\n"

WRONG = {
    "some threads at a barrier": (
        "if (t < 40) __syncthreads();",
        r"__syncthreads needs every thread of the block: waiting, line \(40, 3\)",
    ),
    "barriers at two lines": (
        "if (t < 32) {\n__syncthreads();\n} else {\n__syncthreads();\n}",
        r"wait at different __syncthreads: lines \(4, 6\)",
    ),
    "threads that have returned": (
        "if (t == 63) return;\n__syncthreads();",
        r"every thread of the block: waiting, line \(63, 4\)",
    ),
    "some lanes at a shuffle": (
        "if (t % 2) x[t] = __shfl_xor_sync(0xffffffffu, 1, 2);",
        r"every lane of its warp: lanes there, line \(16, 3\)",
    ),
    "shuffles at two lines": (
        "if (t % 2)\nx[t] = __shfl_sync(0xffffffffu, 1, 2);\nelse __syncwarp();",
        r"lanes of a warp wait at different collectives: lines \(5, 4\)",
    ),
    "a partial mask": (
        "x[t] = __shfl_down_sync(0xffffu, 1, 2);",
        r"needs a full mask: mask, line \(65535, 3\)",
    ),
    "too much shared memory": (
        "__shared__ double a[30000];\na[t] = 1;\nx[t] = static_cast<int>(a[t]);",
        r"too much shared memory: bytes, limit \(240000, 232448\)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_gpu_leaves_undefined_is_refused(name: str, tmp_path: Path) -> None:
    text, message = WRONG[name]
    library = library_of(tmp_path, f"{KERNEL}{text}\n}}\n", "f")
    for schedule in SCHEDULES:
        with pytest.raises(KernelError, match=f"f needs to run on a GPU, got .*{message}"):
            run(library, "f", (1, 1, 1), 64, np.zeros(64, np.int32), schedule=schedule)
    # The next launch starts afresh.
    run(SAMPLE, "scale<float>", (1, 1, 1), 32, np.ones(3, np.float32), np.uint64(3), np.float32(2))


SHUFFLES = {
    "__shfl_sync(m, t, 5)": [5] * 32,
    "__shfl_sync(m, t, t + 1)": [*range(1, 32), 0],
    "__shfl_xor_sync(m, t, 3)": [t ^ 3 for t in range(32)],
    "__shfl_up_sync(m, t, 2)": [0, 1, *range(30)],
    "__shfl_down_sync(m, t, 2)": [*range(2, 32), 30, 31],
}


@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_shuffles_are_those_of_cuda(shuffle: str, tmp_path: Path) -> None:
    text = f"{KERNEL}const unsigned m = 0xffffffffu;\nx[t] = {shuffle};\n}}\n"
    result = np.zeros(64, np.int32)
    run(library_of(tmp_path, text, "f"), "f", (1, 1, 1), 64, result)
    expected = np.array(SHUFFLES[shuffle])
    assert np.array_equal(result, [*expected, *(expected + 32)])


def test_shared_memory_that_nobody_wrote_is_nan(tmp_path: Path) -> None:
    text = (
        "template <class R> __device__ R peek(R v) {\n  __shared__ R own[2];\n"
        "  if (v > 0) own[0] = v;\n  return own[v > 0 ? 0 : 1];\n}\n"
        "__global__ void f(float *x, double *y) {\n  extern __shared__ float more[];\n"
        "  x[0] = peek(1.0f); y[0] = peek(2.0); x[1] = peek(-1.0f); x[2] = more[0];\n}\n"
    )
    x, y = np.zeros(3, np.float32), np.zeros(1)
    library = library_of(tmp_path, text, "f")
    for _ in range(2):
        run(library, "f", (1, 1, 1), 1, x, y, shared=8)
        # Each instance of a template has arrays of its own.
        assert (x[0], y[0]) == (1.0, 2.0)
        assert np.isnan(x[1:]).all()


# -- arguments -------------------------------------------------------------------------------------

READ_ONLY = np.ones(2, np.float32)
READ_ONLY.setflags(write=False)

REFUSED = {
    "number": ((np.ones(2, np.float32), np.uint64(2)), r"scale<float> needs 3 arguments, got 2"),
    "width": (
        (np.ones(2, np.float32), np.uint32(2), np.float32(1)),
        r"argument 1 needs a NumPy scalar of u8, got a scalar of uint32 \(u4\)",
    ),
    "sign": (
        (np.ones(2, np.float32), np.int64(2), np.float32(1)),
        r"argument 1 needs a NumPy scalar of u8, got a scalar of int64 \(i8\)",
    ),
    "kind": (
        (np.ones(2, np.float32), np.uint64(2), np.int32(1)),
        r"argument 2 needs a NumPy scalar of f4, got a scalar of int32 \(i4\)",
    ),
    "precision of an array": (
        (np.ones(2), np.uint64(2), np.float32(1)),
        r"argument 0 needs an array of f4, got an array of float64 \(f8\)",
    ),
    "an array for a number": (
        (np.ones(2, np.float32), np.ones(1, np.uint64), np.float32(1)),
        r"argument 1 needs a NumPy scalar of u8, got an array of uint64",
    ),
    "a number for an array": (
        (np.float32(1), np.uint64(2), np.float32(1)),
        r"argument 0 needs an array of f4, got a scalar of float32",
    ),
    "read-only": (
        (READ_ONLY, np.uint64(2), np.float32(1)),
        r"argument 0 needs an array that the kernel may write, got a read-only",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_argument_that_does_not_fit_is_refused(name: str) -> None:
    arguments, message = REFUSED[name]
    with pytest.raises(KernelArgumentError, match=message):
        SAMPLE.pack("scale<float>", arguments)


def test_pointer_to_const_takes_what_must_not_change(tmp_path: Path) -> None:
    given = np.array([1j])
    given.setflags(write=False)
    result = np.zeros(1, complex)
    SAMPLE.pack("conjugate<double>", (given, result, np.int32(1)))
    with pytest.raises(KernelArgumentError, match="argument 0 needs an array of V16, got"):
        SAMPLE.pack("conjugate<double>", (given.real, result, np.int32(1)))
    SAMPLE.pack("conjugate<double>", (np.zeros(32, np.uint8), result, np.int32(1)))
    with pytest.raises(KernelArgumentError, match="argument 0 needs an array of V16, got"):
        SAMPLE.pack("conjugate<double>", (np.zeros(31, np.uint8), result, np.int32(1)))
    anything = library_of(tmp_path, "__global__ void f(const void *, bool) {}\n", "f")
    for array in (given, np.ones(1, np.int8)):
        anything.pack("f", (array, np.True_))


# -- building --------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path / "host-modules"


def test_kernels_are_built_once_for_each_text(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'extern "C" int one() { return 1; }\n'
    path = compile_text(text, ["-shared"], ".so")
    assert [path] == list(cache.iterdir())
    others = [compile_text(text + "//", ["-shared"], ".so"), compile_text(text, ["-c"], ".o")]
    assert len({path, *others}) == 3
    monkeypatch.setattr(subprocess, "run", None)  # nothing is built any more
    assert compile_text(text, ["-shared"], ".so") == path


def test_unfinished_build_is_never_seen(cache: Path) -> None:
    with pytest.raises(KernelError, match=r"source that compiles, got [\s\S]*no_such_thing"):
        compile_text("int x = no_such_thing;\n", ["-c"], ".o")
    assert list(cache.iterdir()) == []


def test_missing_compiler_says_what_to_do(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(cache))
    with pytest.raises(CompilerMissing, match=r"need g\+\+, got none on PATH. Install it \(apt-ge"):
        compile_text("int x;\n", ["-c"], ".o")


def test_cache_that_cannot_be_written_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(KernelError, match=r"a folder that can be written, got .* Set NUMBA_CACHE"):
        host_modules.cache_folder()


def test_errors_name_the_files_line(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"kernel.cu:2:\d+: error"):
        library_of(tmp_path, "\nint x = no_such_thing;\n", "f")


def test_shim_and_sample_compile_without_a_warning(cache: Path) -> None:
    text = translation_unit(KERNELS.source, KERNELS.instances)
    strict = ["-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-function"]
    compile_text(text, [*strict, "-Wno-unused-variable", "-c"], ".o")


def test_host_text_is_the_device_text_but_for_shared_declarations() -> None:
    """Undo the two substitutions in what g++ gets: the hash of the file comes out."""
    given = KERNELS.source.text()
    lines = host_text(given).splitlines(keepends=True)
    changed = [k for k, line in enumerate(given.splitlines(keepends=True)) if lines[k] != line]
    assert len(changed) == 2
    for k in changed:
        original = given.splitlines(keepends=True)[k]
        assert "__shared__" in original
        assert "host_shim::" in lines[k]
        lines[k] = original
    assert sha256("".join(lines).encode()).digest() == sha256(given.encode()).digest()
    assert host_text(given) in translation_unit(KERNELS.source, KERNELS.instances)
