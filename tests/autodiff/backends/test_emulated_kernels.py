"""Raw modules of the emulated device: counted, recorded, captured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sample_kernels import KERNELS

from autodiff.backends.emulated_backend import EmulatedBackend, EmulatedFailure
from autodiff.backends.host_modules import Schedule
from autodiff.backends.raw_modules import KernelArgumentError, KernelError


@pytest.fixture
def backend() -> EmulatedBackend:
    return EmulatedBackend()


def scale(backend: EmulatedBackend, array: Any, factor: float, threads: int = 32) -> None:
    module = backend.raw_module(KERNELS.source, KERNELS.instances)
    arguments = (array, np.uint64(array.size), np.float64(factor))
    module.launch("scale<double>", (1, 1, 1), (threads, 1, 1), arguments)


def test_module_is_made_once(backend: EmulatedBackend) -> None:
    made = [backend.raw_module(KERNELS.source, KERNELS.instances) for _ in range(2)]
    assert made[0] is made[1]
    assert backend.raw_module(KERNELS.source, ("scale<float>",)) is not made[0]


def test_refused_launch_counts_nothing(backend: EmulatedBackend) -> None:
    for array, threads in ((np.ones(4)[::2], 32), (np.ones(2, np.float32), 32), (np.ones(2), 2048)):
        with pytest.raises((KernelArgumentError, KernelError)):
            scale(backend, array, 2, threads)
    with pytest.raises(KernelArgumentError, match="needs a NumPy scalar or an array of the device"):
        scale(backend, backend.from_host(np.ones(2)), 2)
    assert (backend.stats.kernels, backend.kernel_launches) == (0, {})


def test_planned_failure_comes_before_the_kernel(backend: EmulatedBackend) -> None:
    array = np.ones(2)
    backend.fail("kernel")
    with pytest.raises(EmulatedFailure):
        scale(backend, array, 2)
    assert array.tolist() == [1.0, 1.0]


def test_schedule_reaches_the_kernel(backend: EmulatedBackend) -> None:
    array = np.ones(96)
    backend.kernels.schedule = Schedule(first=1, count=1)
    module = backend.raw_module(KERNELS.source, KERNELS.instances)
    arguments = (array, np.uint64(96), np.float64(2))
    module.launch("scale<double>", (3, 1, 1), (32, 1, 1), arguments)
    assert np.flatnonzero(array == 2).tolist() == list(range(32, 64))


# -- records ---------------------------------------------------------------------------------------


def test_launches_are_recorded_inside_the_block_only(backend: EmulatedBackend) -> None:
    array = np.ones(2)
    scale(backend, array, 2)
    with backend.kernels.record() as launches:
        scale(backend, array, 3)
        scale(backend, array, 5)
    scale(backend, array, 7)
    assert [launch.instance for launch in launches] == ["scale<double>"] * 2
    first = launches[0]
    assert (first.grid, first.block, first.shared_bytes) == ((1, 1, 1), (32, 1, 1), 0)
    assert first.values(first.before)[0].tolist() == [2.0, 2.0]
    assert first.values(first.after)[0].tolist() == [6.0, 6.0]
    assert first.values(first.before)[1:] == [np.uint64(2), np.float64(3)]
    assert launches[1].values(launches[1].after)[0].tolist() == [30.0, 30.0]


# -- graphs ----------------------------------------------------------------------------------------


def test_graph_freezes_numbers_and_reads_arrays_anew(backend: EmulatedBackend) -> None:
    array, factor = np.ones(2), 2.0
    with backend.capture() as graph:
        scale(backend, array, factor)
        scale(backend, array, 3)
        factor = 100.0
    assert array.tolist() == [1.0, 1.0]
    assert (backend.stats.kernels, backend.stats.graphs) == (0, 0)
    graph.launch()
    assert array.tolist() == [6.0, 6.0]
    array[:] = [1.0, 2.0]
    graph.launch()
    assert array.tolist() == [6.0, 12.0]
    assert (backend.stats.kernels, backend.stats.graphs) == (4, 2)


FORBIDDEN: dict[str, Callable[[EmulatedBackend], object]] = {
    "an allocation": lambda b: b.empty((2,), np.dtype(float)),
    "an upload": lambda b: b.send(np.ones(2)),
    "a download": lambda b: b.receive(np.ones(2)),
    "another capture": lambda b: b.capture().__enter__(),
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_capture_takes_launches_only(what: str, backend: EmulatedBackend) -> None:
    match = rf"capturing a graph needs launches of raw modules and nothing else, got {what}"
    with pytest.raises(KernelError, match=match), backend.capture():
        FORBIDDEN[what](backend)
    array = np.ones(2)
    scale(backend, array, 2)  # the capture is over
    assert array.tolist() == [2.0, 2.0]


def test_capture_belongs_to_its_thread(backend: EmulatedBackend) -> None:
    array = np.ones(2)
    with backend.capture():
        other = threading.Thread(target=scale, args=(backend, array, 2))
        other.start()
        other.join(timeout=60)
    assert array.tolist() == [2.0, 2.0]
