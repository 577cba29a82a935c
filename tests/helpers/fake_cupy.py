"""A stand-in for the module ``cupy`` built on NumPy, for the logic of what drives it.

It has what the backend and the op table use, under CuPy's names and rules: its arrays are not
NumPy's and become such only by ``asnumpy``; functions refuse arrays of the host; an array made of
a pointer owns its memory as far as its flags say. It is stricter where CuPy would copy in silence:
``float(x)``, ``bool(x)`` and NumPy's functions are refused, and so are arrays, lists and numbers of
the host that a forward has uploaded behind the backend's back, which counts what it uploads.

    fake_cupy.install(monkeypatch)  # in a test: "cuda" and "cuda:1" are there
"""

from __future__ import annotations

import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from functools import cache, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from fake_cupy_arrays import Namespace, current, ndarray, uploads_counted, wrap

from autodiff import device, queue_run
from autodiff.backends import cupy_backend
from autodiff.backends.cupy_backend import CupyBackend
from autodiff.backends.host_modules import HostLibrary, Schedule
from autodiff.backends.raw_modules import KernelError, Source
from autodiff.keys import Recent
from circuits.engines import registry

# Any in this file: what NumPy takes and gives.

SHARED, OPTIN = 48 << 10, 227 << 10


class RuntimeFailure(RuntimeError):
    """cupy.cuda.runtime.CUDARuntimeError."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(text or f"cudaError {status}")
        self.status = status


class OutOfMemory(MemoryError):
    """cupy.cuda.memory.OutOfMemoryError."""


class CompileFailure(Exception):
    """cupy.cuda.compiler.CompileException."""


# -- cupy.cuda -------------------------------------------------------------------------------------


class Device:
    """cupy.cuda.Device as a context."""

    def __init__(self, ordinal: int) -> None:
        self.id = ordinal

    def __enter__(self) -> Device:
        current.append(self.id)
        return self

    def __exit__(self, *_: object) -> None:
        current.pop()


class Stream:
    """cupy.cuda.Stream as a context, with capture."""

    capturing: list[Callable[[], None]] | None = None

    def __init__(self, non_blocking: bool = False) -> None:
        self.non_blocking = non_blocking

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None: ...

    def begin_capture(self) -> None:
        assert self.non_blocking, "the legacy default stream cannot capture"
        Stream.capturing = []

    def end_capture(self) -> Any:
        nodes, Stream.capturing = Stream.capturing, None
        assert nodes is not None

        def launch() -> None:
            for node in nodes:
                node()

        return SimpleNamespace(launch=launch)


class _Text(Source):
    """A source that is a text."""

    def __init__(self, text: str) -> None:
        super().__init__(Path("fake.cu"))
        object.__setattr__(self, "_text", text)

    def text(self) -> str:
        return str(self.__dict__["_text"])


class RawModule:
    """cupy.RawModule, built when a function is asked for."""

    def __init__(
        self, code: str, options: Sequence[str] = (), name_expressions: Sequence[str] = ("probe",)
    ) -> None:
        self.code, self.options, self.names = code, options, tuple(name_expressions)

    def get_function(self, name: str) -> Kernel:
        try:
            return Kernel(HostLibrary(_Text(self.code), self.names), name)
        except KernelError as error:
            raise CompileFailure(str(error)) from error


class Kernel:
    """cupy.RawKernel."""

    shared_size_bytes = 0
    max_dynamic_shared_size_bytes = SHARED

    def __init__(self, library: HostLibrary, name: str) -> None:
        self._library, self._name = library, name

    def __call__(self, grid: Any, block: Any, args: Any, shared_mem: int = 0) -> None:
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise RuntimeFailure(1, "cudaErrorInvalidValue")
        values = [self._value(x) for x in args]
        packed = self._library.pack(self._name, values)
        extents = [(*given, 1, 1)[:3] for given in (grid, block)]

        def run() -> None:
            self._library.launch(self._name, *extents, packed, shared_mem, OPTIN, Schedule())

        if Stream.capturing is None:
            run()
        else:
            Stream.capturing.append(run)

    @staticmethod
    def _value(x: Any) -> Any:
        if isinstance(x, ndarray):
            return x._array
        if isinstance(x, np.ndarray) and x.size == 1:
            return x[0]  # by value
        if isinstance(x, np.generic) and not isinstance(x, np.void):
            return x
        raise TypeError(f"Unsupported type {type(x)}")


class FakeCupy(Namespace):
    """The module.

    Attributes:
        devices: how many there are.
        free: bytes that can be allocated.
        driver: the status with which counting devices fails, or 0.
    """

    def __init__(self, devices: int = 2, free: int = 1 << 30, driver: int = 0) -> None:
        super().__init__("cupy")
        self.__spec__ = importlib.machinery.ModuleSpec("cupy", None)
        self._numpy = np
        self.devices, self.free, self.driver = devices, free, driver
        self.ndarray, self.RawModule = ndarray, RawModule
        self.cuda = SimpleNamespace(
            Device=Device,
            Stream=Stream,
            compiler=SimpleNamespace(CompileException=CompileFailure),
            memory=SimpleNamespace(OutOfMemoryError=OutOfMemory),
            runtime=SimpleNamespace(
                CUDARuntimeError=RuntimeFailure,
                getDeviceCount=self._count,
                getDeviceProperties=self._properties,
                memGetInfo=lambda: (self.free, 1 << 31),
                driverGetVersion=lambda: 13000,
                runtimeGetVersion=lambda: 13000,
            ),
        )

    def _count(self) -> int:
        if self.driver:
            raise RuntimeFailure(self.driver)
        return self.devices

    def _properties(self, ordinal: int) -> dict[str, int | bytes]:
        assert 0 <= ordinal < self.devices
        return {
            "name": b"a stand-in",
            "sharedMemPerBlock": SHARED,
            "sharedMemPerBlockOptin": OPTIN,
            "multiProcessorCount": 3,
            "warpSize": 32,
        }

    def empty(self, shape: Any, dtype: Any = float) -> Any:
        """Allocate, within ``free``."""
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if nbytes > self.free:
            raise OutOfMemory(f"Out of memory allocating {nbytes:,} bytes")
        return wrap(np.empty(shape, dtype))

    @staticmethod
    def asnumpy(array: Any, order: str = "C") -> Any:
        """Copy to the host."""
        return np.array(array._array, order=order)  # type: ignore[call-overload]

    @staticmethod
    def get_default_memory_pool() -> Any:
        """Return the pool, with 1000 bytes unused."""
        return SimpleNamespace(free_bytes=lambda: 1000)


def _counted(upload: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of the backend that uploads, and counts that."""

    @wraps(upload)
    def counted(*args: Any) -> Any:
        with uploads_counted(upload.__name__):
            return upload(*args)

    return counted


def install(monkeypatch: Any) -> FakeCupy:
    """Make the stand-in ``"cuda"`` for one test: nothing made of it outlives that."""
    module = FakeCupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(device, "_BACKENDS", dict(device._BACKENDS))
    monkeypatch.setattr(queue_run, "prepared", Recent(64))
    for name in ("from_host", "overwrite"):
        monkeypatch.setattr(CupyBackend, name, _counted(getattr(CupyBackend, name)))
    for owner in (cupy_backend, queue_run, registry):
        for name, function in [*vars(owner).items()]:
            if hasattr(function, "cache_clear"):
                monkeypatch.setattr(owner, name, cache(function.__wrapped__))
    return module
