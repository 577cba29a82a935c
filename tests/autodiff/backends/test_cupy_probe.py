"""What is said of CUDA where it cannot be used: one message with its remedy a stage."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType
from typing import Any

import fake_cupy
import fake_cupy_arrays
import pytest
from fake_cupy import FakeCupy

from autodiff import DeviceUnavailable, Tensor, device
from autodiff.backends import cupy_backend
from autodiff.backends.cupy_backend import CupyBackend


@pytest.fixture(autouse=True)
def fresh_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_backend, "probe", cache(cupy_backend.probe.__wrapped__))


def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_backend, "find_spec", lambda name: None)


def broken_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> ModuleType:
        raise ValueError("numpy.dtype size changed")

    monkeypatch.setitem(sys.modules, "cupy", FakeCupy())
    monkeypatch.setattr(cupy_backend, "import_module", fail)


def with_cupy(**settings: Any) -> Callable[[pytest.MonkeyPatch], None]:
    def inject(monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cupy", FakeCupy(**settings))

    return inject


def with_kernel(error: Exception | None, total: int = 0) -> Callable[[pytest.MonkeyPatch], None]:
    """A CuPy whose RawModule fails to compile, or whose kernel fails or gives a wrong sum."""

    class Module:
        def __init__(self, code: str) -> None: ...

        def get_function(self, name: str) -> Callable[..., None]:
            if isinstance(error, fake_cupy.CompileFailure | OSError):
                raise error

            def kernel(grid: Any, block: Any, arguments: Any) -> None:
                if error:
                    raise error
                arguments[0][0] = total

            return kernel

    def inject(monkeypatch: pytest.MonkeyPatch) -> None:
        module = FakeCupy()
        module.RawModule = Module
        monkeypatch.setitem(sys.modules, "cupy", module)

    return inject


STAGES: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None], str]] = {
    "not installed": ("not installed", not_installed, r"CuPy, got none installed. Install it: pip"),
    "broken install": (
        "broken install",
        broken_install,
        r".*can be imported, got ValueError\('numpy.dtype size changed'\). Uninstall every cupy",
    ),
    "no driver": (
        "driver",
        with_cupy(driver=35),
        r".*an NVIDIA driver, got cudaError 35. Install a",
    ),
    "no device": (
        "no device",
        with_cupy(driver=100),
        r".*GPU of number 0, got 0 GPUs. See nvidia-",
    ),
    "none visible": (
        "no device",
        with_cupy(devices=0),
        r".*GPU of number 0, got 0 GPUs. See nvidi",
    ),
    "no headers": (
        "compiler",
        with_kernel(OSError("no cuda_fp16.h")),
        r".*NVRTC and the CUDA headers, got OSError\('no cuda_fp16.h'\). Install it: pip",
    ),
    "no compiler": (
        "compiler",
        with_kernel(fake_cupy.CompileFailure("x")),
        r".*NVRTC and the CUDA headers, got CompileFailure",
    ),
    "launch fails": (
        "broken device",
        with_kernel(fake_cupy.RuntimeFailure(700)),
        r".*adds 0 to 31 to 496, got RuntimeFailure\('cudaError 700'\). See nvidia-smi; restart",
    ),
    "wrong result": (
        "broken device",
        with_kernel(None, 7),
        r".*adds 0 to 31 to 496, got 7. See nv",
    ),
}


@pytest.mark.parametrize("case", STAGES)
def test_each_stage_has_its_own_message(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, inject, message = STAGES[case]
    inject(monkeypatch)
    with pytest.raises(DeviceUnavailable, match=f"the device 'cuda' needs {message}"):
        CupyBackend()
    assert cupy_backend.probe().stage == stage


def test_probe_runs_once(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cupy_backend.probe() == cupy_backend.Probe("ready")
    monkeypatch.setattr(cupy_backend, "import_module", None)
    assert cupy_backend.probe().stage == "ready"


def test_every_device_is_probed_by_itself(cupy: FakeCupy) -> None:
    assert [CupyBackend(k).device for k in (0, 1)] == ["cuda", "cuda:1"]
    with pytest.raises(DeviceUnavailable, match="the device 'cuda:2' needs a GPU of number 2, got"):
        CupyBackend(2)
    assert fake_cupy_arrays.current == [0]


def test_cuda_without_a_gpu_is_refused_and_nothing_falls_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    not_installed(monkeypatch)
    x = Tensor([1.0])
    with pytest.raises(DeviceUnavailable, match=r"'cuda' needs CuPy, got none .* Install it: pip"):
        x.to("cuda")
    with pytest.raises(DeviceUnavailable, match=r"'cuda:1' needs CuPy, got none installed"):
        Tensor([1.0], device="cuda:1")
    assert x.device == "cpu"
    assert "cuda" not in device.known_devices()
