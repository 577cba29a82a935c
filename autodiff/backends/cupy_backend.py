"""CuPy: arrays, launches and kernels on an NVIDIA GPU. The only file that imports CuPy.

Everything is queued on the stream that is current where it is asked for. Memory comes from the pool
that is in use; neither that nor the current device is changed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from autodiff.backends.constants import SentConstants
from autodiff.backends.interface import Backend, HostArray, Stats
from autodiff.backends.launch_scope import LaunchScope
from autodiff.backends.raw_modules import (
    COMPILE_OPTIONS,
    Argument,
    DeviceLimits,
    Extents,
    KernelError,
    KernelGraph,
    OutOfDeviceMemory,
    RawModule,
    Source,
    check_argument,
    refuse_capture,
)
from autodiff.errors import DeviceMismatch, DeviceUnavailable

# Any in this file: CuPy's arrays, and the module itself.

INSTALL = (
    'Install it: pip install "cupy-cuda13x[ctk]" for CUDA 13, or "cupy-cuda12x[ctk]" for CUDA 12'
)
NO_DEVICE = 100  # cudaErrorNoDevice
_PROBE = 'extern "C" __global__ void probe(int *x) { x[threadIdx.x] = threadIdx.x; }'
# What an import of a package that was built against something else has been seen to raise.
_BROKEN_IMPORT = (ImportError, OSError, RuntimeError, AttributeError, TypeError, ValueError)


# -- whether there is a GPU ------------------------------------------------------------------------


@dataclass(frozen=True)
class Probe:
    """Whether a device can be used, and if not, why.

    Attributes:
        stage: ``"ready"``, or what failed: ``"not installed"``, ``"broken install"``,
            ``"driver"``, ``"no device"``, ``"compiler"``, ``"broken device"``.
        reason: what is needed, what was found instead and what to do; empty if it is ready.
    """

    stage: str
    reason: str = ""


@cache
def probe(ordinal: int = 0) -> Probe:
    """Find out, once, whether a GPU can be used: import, driver, device, compiler, result."""
    name = f"cuda:{ordinal}" if ordinal else "cuda"

    def failed(stage: str, needs: str, got: object, remedy: str) -> Probe:
        return Probe(stage, f"the device {name!r} needs {needs}, got {got}. {remedy}.")

    if find_spec("cupy") is None:
        return failed("not installed", "CuPy", "none installed", INSTALL)
    try:
        cp = import_module("cupy")
    except _BROKEN_IMPORT as error:
        remedy = f"Uninstall every cupy package. {INSTALL}"
        return failed("broken install", "a CuPy that can be imported", repr(error), remedy)
    try:
        count = cp.cuda.runtime.getDeviceCount()
    except cp.cuda.runtime.CUDARuntimeError as error:
        if getattr(error, "status", 0) != NO_DEVICE:
            remedy = "Install a driver for the CUDA version that CuPy was built for"
            return failed("driver", "an NVIDIA driver", error, remedy)
        count = 0
    if ordinal >= count:
        remedy = "See nvidia-smi and CUDA_VISIBLE_DEVICES, or take the device 'cpu'"
        return failed("no device", f"a GPU of number {ordinal}", f"{count} GPUs", remedy)
    with cp.cuda.Device(ordinal):
        try:
            kernel = cp.RawModule(code=_PROBE).get_function("probe")
        except (RuntimeError, OSError, ImportError, cp.cuda.compiler.CompileException) as error:
            remedy = f"{INSTALL}; or set CUDA_PATH to a CUDA toolkit"
            return failed("compiler", "NVRTC and the CUDA headers", repr(error), remedy)
        try:
            numbers = cp.zeros(32, np.int32)
            kernel((1,), (32,), (numbers,))
            total: object = int(cp.asnumpy(numbers).sum())
        except RuntimeError as error:
            total = repr(error)
    if total != 496:
        remedy = "See nvidia-smi; restart the machine or take another GPU"
        return failed("broken device", "a GPU that adds 0 to 31 to 496", total, remedy)
    return Probe("ready")


# -- the backend -----------------------------------------------------------------------------------


class CupyBackend(Backend):
    """One GPU.

    Args:
        ordinal: its number.

    Raises:
        DeviceUnavailable: it cannot be used; the message is the probe's.
    """

    family = "cupy"
    storage_classes = ("device",)
    replays = True

    def __init__(self, ordinal: int = 0) -> None:
        found = probe(ordinal)
        if found.stage != "ready":
            raise DeviceUnavailable(found.reason)
        self.xp = import_module("cupy")
        self.device = f"cuda:{ordinal}" if ordinal else "cuda"
        self.ordinal = ordinal
        self.stats = Stats()
        self.kernel_launches: Counter[str] = Counter()
        self._scope = LaunchScope(lambda: self.stats.add(launches=1))
        self._constants = SentConstants(self.send)
        self._modules: dict[tuple[Source, tuple[str, ...]], CupyModule] = {}
        self._captures = threading.local()

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the current device in the block, and name what runs out of memory."""
        with self.xp.cuda.Device(self.ordinal):
            try:
                yield
            except self.xp.cuda.memory.OutOfMemoryError as error:
                free, total = self.xp.cuda.runtime.memGetInfo()
                raise OutOfDeviceMemory(
                    f"{self.device} needs more memory than it has, got {error}; {free} of {total} "
                    "bytes are free outside CuPy's pool. Drop what you no longer use, take fewer "
                    "samples at once, or complex64."
                ) from error

    # -- buffers -----------------------------------------------------------------------------------

    def owns(self, buffer: Any) -> bool:
        return type(buffer) is self.xp.ndarray and buffer.device.id == self.ordinal

    def _own_array(self, buffer: Any) -> Any:
        if not self.owns(buffer):
            raise DeviceMismatch(
                f"{self.device} needs arrays of its own, got {type(buffer).__name__}. "
                f"Move the value with .to({self.device!r})."
            )
        return buffer

    def storage_class(self, buffer: Any) -> str:
        return self.storage_classes[0]

    def from_host(self, array: HostArray) -> Any:
        with self.active():
            buffer = self.xp.array(array, order="C")
        self.stats.add(uploads=1, upload_bytes=buffer.nbytes, allocations=1)
        return buffer

    def place(self, array: HostArray, storage_class: str) -> Any:
        return self.from_host(array)

    def to_host(self, array: Any) -> HostArray:
        with self.active():
            copy: HostArray = self.xp.asnumpy(self._own_array(array), order="C")
        copy.setflags(write=False)
        self.stats.add(downloads=1, download_bytes=copy.nbytes)
        return copy

    def own(self, result: Any) -> Any:
        flags = self._own_array(result).flags
        return result if flags.c_contiguous and flags.owndata else self.writable_copy(result)

    def writable_copy(self, array: Any) -> Any:
        with self.active():
            copy = self._own_array(array).copy(order="C")
        self.stats.add(allocations=1)
        return copy

    def view(
        self,
        base: Any,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: np.dtype[Any],
    ) -> Any:
        size = dtype.itemsize
        steps = tuple(s * size for s in strides)
        with self.active():
            array = self.xp.ndarray(tuple(shape), dtype, base.data + offset * size, steps)
            return array.view()  # one that has a base: it does not own its memory

    def view_of(self, result: Any, base: Any) -> tuple[tuple[int, ...], int] | None:
        if result.data.mem is not base.data.mem or result.dtype != base.dtype or result.size == 0:
            return None
        size = result.dtype.itemsize
        return tuple(s // size for s in result.strides), (result.data.ptr - base.data.ptr) // size

    # -- launches ----------------------------------------------------------------------------------

    def launch(
        self,
        forward: Callable[..., Any],
        operands: Sequence[Any],
        attrs: Mapping[str, Any],
        name: str,
        storage_class: str,
    ) -> Any:
        with self.active(), self.graph():
            arrays = [self._operand(x) for x in operands]
            result = forward(self.xp, *arrays, **self._constants.in_place_of(attrs))
            if isinstance(result, tuple):
                return tuple([self._result(value, arrays) for value in result])
            return self._result(result, arrays)

    def _operand(self, operand: Any) -> Any:
        """A host value of shape () travels with the launch that writes it to the device."""
        if type(operand) is np.ndarray and operand.shape == ():
            return self.xp.full((), operand[()], operand.dtype)
        return self._own_array(operand)

    def _result(self, value: Any, operands: Sequence[Any]) -> Any:
        """Return a result; where it is an operand, as a view of it, so that own() copies it."""
        array = self.xp.asarray(value)
        shares = any(array.data.mem is x.data.mem for x in operands)
        if shares and array.flags.owndata:
            return array.view()
        if not shares:
            self.stats.add(allocations=1)
        return array

    def graph(self) -> AbstractContextManager[None]:
        return self._scope.block()

    # -- raw modules -------------------------------------------------------------------------------

    def raw_module(self, source: Source, instances: tuple[str, ...]) -> RawModule:
        key = (source, instances)
        if key not in self._modules:
            with self.active():
                self._modules[key] = CupyModule(self, source, instances)
        return self._modules[key]

    @cached_property
    def limits(self) -> DeviceLimits:
        # Once: the driver takes longer for these than a small circuit's gradient does.
        with self.active():
            _, total = self.xp.cuda.runtime.memGetInfo()
        properties = self.xp.cuda.runtime.getDeviceProperties(self.ordinal)
        return DeviceLimits(
            properties["sharedMemPerBlock"],
            properties["sharedMemPerBlockOptin"],
            properties["multiProcessorCount"],
            total,
            properties["warpSize"],
        )

    @property
    def free_bytes(self) -> int:
        with self.active():
            free, _ = self.xp.cuda.runtime.memGetInfo()
            return int(free + self.xp.get_default_memory_pool().free_bytes())

    @contextmanager
    def capture(self) -> Iterator[KernelGraph]:
        refuse_capture(self.capturing, "another capture")
        graph = self._captures.graph = CupyGraph(self)
        try:
            with self.active(), self.xp.cuda.Stream(non_blocking=True) as stream:
                stream.begin_capture()
                try:
                    yield graph
                finally:
                    graph.captured = stream.end_capture()
        finally:
            self._captures.graph = None

    @property
    def capturing(self) -> CupyGraph | None:
        """The graph that this thread's launches go to instead of running."""
        graph: CupyGraph | None = getattr(self._captures, "graph", None)
        return graph

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        refuse_capture(self.capturing, "an allocation")
        with self.active():
            array = self.xp.empty(tuple(shape), dtype)
        self.stats.add(allocations=1)
        return array

    def send(self, array: HostArray) -> Any:
        refuse_capture(self.capturing, "an upload")
        return self.from_host(array)

    def overwrite(self, array: Any, values: HostArray) -> None:
        refuse_capture(self.capturing, "an upload")
        with self.active():
            # By way of CuPy's pinned memory; ``set`` would wait for what was queued before.
            array[...] = self.xp.asarray(values)
        self.stats.add(uploads=1, upload_bytes=array.nbytes)

    def address(self, array: Any) -> int:
        address: int = array.data.ptr
        return address

    def receive(self, array: Any) -> HostArray:
        refuse_capture(self.capturing, "a download")
        return self.to_host(array)


class CupyModule(RawModule):
    """Kernels compiled by NVRTC and loaded, so that the first launch may be a captured one."""

    def __init__(self, backend: CupyBackend, source: Source, instances: tuple[str, ...]) -> None:
        super().__init__(source, instances)
        self._backend = backend
        self._limits = backend.limits
        cp = backend.xp
        module = cp.RawModule(
            code=source.text(), options=COMPILE_OPTIONS, name_expressions=instances
        )
        try:
            self._kernels = {name: module.get_function(name) for name in instances}
        except cp.cuda.compiler.CompileException as error:
            raise KernelError(
                f"a raw module needs source that compiles, got {error}. Correct {source.name}."
            ) from error
        for kernel in self._kernels.values():
            # More than 48 KiB must be asked for. Asking loads the kernel, too.
            free = self._limits.shared_bytes_optin - kernel.shared_size_bytes
            kernel.max_dynamic_shared_size_bytes = free

    def launch(
        self,
        instance: str,
        grid: Extents,
        block: Extents,
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
    ) -> None:
        """Queue a kernel on the current stream, or add it to the graph that is captured."""
        self.check_shape(instance, grid, block, shared_bytes, self._limits)
        for position, argument in enumerate(arguments):
            check_argument(instance, position, argument, self._backend.owns(argument))
        arrays = [x for x in arguments if not isinstance(x, np.generic)]
        # CuPy passes an array of the host with one element by value, structures among them.
        packed = [np.array([x]) if isinstance(x, np.void) else x for x in arguments]
        with self._backend.active():
            self._kernels[instance](grid, block, tuple(packed), shared_mem=shared_bytes)
        nbytes = sum(x.nbytes for x in arrays)
        graph = self._backend.capturing
        if graph is None:
            self._backend.count_kernel(instance, nbytes)
        else:
            graph.nodes.append((instance, nbytes, arrays))


class CupyGraph(KernelGraph):
    """A CUDA graph, with the arrays whose addresses it holds."""

    def __init__(self, backend: CupyBackend) -> None:
        self.captured: Any = None
        self.nodes: list[tuple[str, int, list[Any]]] = []
        self._backend = backend

    def launch(self) -> None:
        """Queue all launches on the current stream."""
        with self._backend.active():
            self.captured.launch()
        self._backend.stats.add(graphs=1)
        for instance, nbytes, _ in self.nodes:
            self._backend.count_kernel(instance, nbytes)
