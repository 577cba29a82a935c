"""Raw modules and graphs of CuPy's backend, on a stand-in for CuPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sample_kernels import KERNELS

from autodiff.backends.cupy_backend import CupyBackend
from autodiff.backends.raw_modules import KernelArgumentError, KernelError, Source


def scale(gpu: CupyBackend, array: Any, factor: float) -> None:
    module = gpu.raw_module(KERNELS.source, KERNELS.instances)
    arguments = (array, np.uint64(array.size), np.float64(factor))
    module.launch("scale<double>", (1, 1, 1), (32, 1, 1), arguments)


def test_kernels_run_and_are_counted(gpu: CupyBackend) -> None:
    array = gpu.send(np.arange(3.0))
    scale(gpu, array, -1)
    assert gpu.receive(array).tolist() == [0.0, -1.0, -2.0]
    assert (gpu.stats.kernels, gpu.stats.argument_bytes) == (1, 24)
    assert gpu.kernel_launches == {"scale<double>": 1}
    same = [gpu.raw_module(KERNELS.source, KERNELS.instances) for _ in range(2)]
    assert same[0] is same[1]


def test_shared_memory_beyond_48_kib_is_asked_for(gpu: CupyBackend) -> None:
    array = gpu.send(np.arange(8.0))
    module = gpu.raw_module(KERNELS.source, KERNELS.instances)
    module.launch("reverse_tiles<double>", (1, 1, 1), (8, 1, 1), (array,), 200 << 10)
    assert gpu.receive(array).tolist() == list(range(8))[::-1]
    with pytest.raises(KernelError, match="at most 232448 bytes of shared memory, got 232449"):
        module.launch("reverse_tiles<double>", (1, 1, 1), (8, 1, 1), (array,), 232449)


def test_structures_are_passed_by_value(gpu: CupyBackend, tmp_path: Any) -> None:
    path = tmp_path / "structure.cu"
    path.write_text("struct P { int a; float b; };\n__global__ void f(float *x, P p) { *x = p.b; }")
    module = gpu.raw_module(Source(path), ("f",))
    array = gpu.send(np.zeros(1, np.float32))
    structure = np.array([(1, 2.5)], [("a", np.int32), ("b", np.float32)])[0]
    module.launch("f", (1, 1, 1), (1, 1, 1), (array, structure))
    assert gpu.receive(array).tolist() == [2.5]


def test_foreign_and_strided_arrays_are_refused(gpu: CupyBackend) -> None:
    array = gpu.send(np.arange(4.0))
    for other in (np.ones(4), CupyBackend(1).send(np.ones(4))):
        with pytest.raises(
            KernelArgumentError, match="argument 0 needs a NumPy scalar or an array"
        ):
            scale(gpu, other, 1)
    with pytest.raises(KernelArgumentError, match="needs a C-contiguous array"):
        scale(gpu, array[::2], 1)
    assert gpu.stats.kernels == 0


def test_source_that_does_not_compile_is_named(gpu: CupyBackend, tmp_path: Any) -> None:
    (tmp_path / "wrong.cu").write_text("int x = y;\n")
    with pytest.raises(KernelError, match=r"source that compiles, got [\s\S]* Correct wrong.cu"):
        gpu.raw_module(Source(tmp_path / "wrong.cu"), ("f",))


def test_graph_freezes_numbers_and_reads_arrays_anew(gpu: CupyBackend) -> None:
    array = gpu.send(np.ones(2))
    scale(gpu, array, 1)  # compiled before
    with gpu.capture() as graph:
        scale(gpu, array, 2)
        scale(gpu, array, 3)
    assert gpu.receive(array).tolist() == [1.0, 1.0]
    graph.launch()
    graph.launch()
    assert gpu.receive(array).tolist() == [36.0, 36.0]
    assert (gpu.stats.kernels, gpu.stats.graphs) == (5, 2)


FORBIDDEN: dict[str, Callable[[CupyBackend], object]] = {
    "an allocation": lambda b: b.empty((2,), np.dtype(float)),
    "an upload": lambda b: b.send(np.ones(2)),
    "a download": lambda b: b.receive(np.ones(2)),
    "another capture": lambda b: b.capture().__enter__(),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_capture_takes_launches_only(what: str, gpu: CupyBackend) -> None:
    with pytest.raises(KernelError, match=f"nothing else, got {what}"), gpu.capture():
        FORBIDDEN[what](gpu)
    array = gpu.send(np.ones(2))  # the capture is over
    scale(gpu, array, 2)
    assert gpu.receive(array).tolist() == [2.0, 2.0]


def test_driver_is_asked_once_what_never_changes(
    gpu: CupyBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    runtime = gpu.xp.cuda.runtime
    for name in ("getDeviceProperties", "memGetInfo"):
        answer = getattr(runtime, name)

        def counted(*args: Any, name: str = name, answer: Any = answer) -> Any:
            asked.append(name)
            return answer(*args)

        monkeypatch.setattr(runtime, name, counted)
    for _ in range(3):
        _ = gpu.limits
    assert sorted(asked) == ["getDeviceProperties", "memGetInfo"]
    assert (gpu.free_bytes, asked[2:]) == ((1 << 30) + 1000, ["memGetInfo"])


def test_limits_are_the_devices(gpu: CupyBackend) -> None:
    limits = gpu.limits
    assert (limits.shared_bytes_per_block, limits.shared_bytes_optin) == (48 << 10, 227 << 10)
    assert (limits.multiprocessors, limits.warp) == (3, 32)
    assert (gpu.free_bytes, limits.total_bytes) == ((1 << 30) + 1000, 1 << 31)
