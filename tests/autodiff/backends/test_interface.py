"""What every backend has to offer."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from sample_kernels import KERNELS

from autodiff import DeviceUnavailable
from autodiff.backends.cupy_backend import CupyBackend
from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.interface import Backend, Stats
from autodiff.backends.numpy_backend import NumpyBackend

KERNEL_METHODS = {
    "raw_module": lambda b: b.raw_module(KERNELS.source, KERNELS.instances),
    "capture": lambda b: b.capture(),
    "empty": lambda b: b.empty((1,), np.dtype(float)),
    "receive": lambda b: b.receive(np.ones(1)),
    "overwrite": lambda b: b.overwrite(np.ones(1), np.ones(1)),
    "address": lambda b: b.address(np.ones(1)),
}


@pytest.mark.parametrize("name", KERNEL_METHODS)
def test_cpu_runs_no_kernels(name: str) -> None:
    with pytest.raises(DeviceUnavailable, match=r"raw modules need a device that .*, got 'cpu'. T"):
        KERNEL_METHODS[name](NumpyBackend())
    for question in ("limits", "free_bytes"):
        with pytest.raises(DeviceUnavailable, match="got 'cpu'"):
            getattr(NumpyBackend(), question)


def test_counters_add_up_and_go_back_to_zero() -> None:
    stats = Stats()
    stats.add(kernels=2, argument_bytes=10)
    stats.add(kernels=1)
    assert (stats.kernels, stats.argument_bytes, stats.launches) == (3, 10, 0)
    stats.reset()
    assert stats == Stats()


def test_interface_alone_is_no_backend() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Backend()  # type: ignore[abstract]


@pytest.mark.parametrize("backend", [NumpyBackend, EmulatedBackend, CupyBackend])
def test_backend_takes_the_arguments_of_the_interface(backend: type[Backend]) -> None:
    for name in (*Backend.__abstractmethods__, *KERNEL_METHODS, "send"):
        ours, theirs = (inspect.signature(getattr(c, name)) for c in (backend, Backend))
        assert list(ours.parameters) == list(theirs.parameters), name
    for name in ("family", "storage_classes"):
        assert hasattr(backend, name), name
