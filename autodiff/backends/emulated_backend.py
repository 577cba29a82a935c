"""The strict stand-in for a GPU: NumPy behind buffers that NumPy cannot read, and counters.

A launch unwraps its operands, runs the op's forward with NumPy, and wraps the results; nothing else
reaches the arrays. Every launch, move and allocation is counted and can be made slow or fail.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import Any

import numpy as np

from autodiff.backends.constants import SentConstants
from autodiff.backends.emulated_buffer import Block, EmulatedBuffer, foreign
from autodiff.backends.emulated_kernels import EmulatedKernels
from autodiff.backends.host_modules import Schedule
from autodiff.backends.interface import Backend, HostArray, Stats
from autodiff.backends.launch_scope import LaunchScope
from autodiff.backends.raw_modules import (
    DeviceLimits,
    KernelGraph,
    OutOfDeviceMemory,
    RawModule,
    Source,
    refuse_capture,
)
from autodiff.errors import AutodiffError, DeviceUnavailable

# Any in this file: forwards and their results are whatever an op's row says.

#: How many devices are emulated.
ORDINALS = 4
EVENTS = ("launch", "upload", "download", "allocation", "kernel")
#: Those of a large GPU; only the memory is this machine's.
LIMITS = DeviceLimits(48 << 10, 227 << 10, 4, 16 << 30)


class EmulatedFailure(AutodiffError, RuntimeError):
    """A failure that a test asked for with ``EmulatedBackend.fail``."""


class EmulatedBackend(Backend):
    """One emulated device.

    Args:
        ordinal: which one, 0 to ``ORDINALS - 1``.

    Attributes:
        stats: counters of launches, moves and allocations.
        executions: how often each op's forward has run, by name.
        launch_cost: seconds that every launch takes in addition.
        sleep: how the launch cost is spent; tests put a clock of their own here.
        live_buffers: allocations that are held at present.
        live_bytes: their bytes.
        device_limits: what kernels have at hand while nothing is allocated.
        replays: False; a test may switch it on.
        kernels: the raw modules, with ``schedule`` and ``record``.

    Raises:
        DeviceUnavailable: there is no such ordinal.

    >>> backend = EmulatedBackend(1)
    >>> backend.from_host(np.ones(3))
    <buffer on emulated:1 (device): shape (3,), dtype float64>
    >>> backend.stats.uploads, backend.stats.upload_bytes
    (1, 24)
    """

    xp = np
    family = "emulated"
    storage_classes = ("device", "managed")

    def __init__(self, ordinal: int = 0) -> None:
        if not 0 <= ordinal < ORDINALS:
            raise DeviceUnavailable(
                f"an emulated device needs an ordinal from 0 to {ORDINALS - 1}, got {ordinal}. "
                "Take another one."
            )
        self.device = f"emulated:{ordinal}" if ordinal else "emulated"
        self.stats = Stats()
        self.executions: Counter[str] = Counter()
        self.kernel_launches: Counter[str] = Counter()
        self.device_limits = LIMITS
        self.kernels = EmulatedKernels(self)
        self.launch_cost = 0.0
        self.sleep: Callable[[float], object] = time.sleep
        self.live_buffers = 0
        self.live_bytes = 0
        self._failures: dict[str, int] = {}
        self._scope = LaunchScope(self._begin)
        self._constants = SentConstants(self.send)
        # Re-entrant: a buffer may be freed, and counted, while a counter is being changed.
        self._lock = threading.RLock()

    # -- what a test sees and sets -----------------------------------------------------------------

    def fail(self, event: str, nth: int = 1) -> None:
        """Make the ``nth`` launch, upload, download or allocation from now fail, once.

        Raises:
            ValueError: no such event, or ``nth`` < 1.
        """
        if event not in EVENTS or nth < 1:
            raise ValueError(
                f"fail needs one of {EVENTS} and a count from 1 on, got {event!r}, {nth}. "
                "Correct the test."
            )
        self._failures[event] = nth

    def reset(self) -> None:
        """Forget counters, costs and planned failures; buffers stay."""
        self.stats.reset()
        self.executions.clear()
        self.kernel_launches.clear()
        self.launch_cost, self.sleep = 0.0, time.sleep
        self.kernels.schedule, self.replays = Schedule(), False
        self._failures.clear()

    def _event(self, event: str) -> None:
        """Fail if that is planned for this event."""
        with self._lock:
            left = self._failures.pop(event, 0) - 1
            if left > 0:
                self._failures[event] = left
        if left == 0:
            raise EmulatedFailure(
                f"{self.device} needs no failure for this {event}, got one that fail({event!r}) "
                "asked for. Call reset() to run on."
            )

    def hold(self, buffers: int, nbytes: int) -> None:
        with self._lock:
            self.live_buffers += buffers
            self.live_bytes += nbytes

    # -- buffers -----------------------------------------------------------------------------------

    def _allocate(self, array: HostArray, storage_class: str) -> EmulatedBuffer:
        """Wrap an array that nobody else holds."""
        self._event("allocation")
        self.stats.add(allocations=1)
        return EmulatedBuffer(array, Block(self, array.nbytes, storage_class))

    def _array(self, buffer: Any) -> HostArray:
        """Return the elements of an own buffer; they stay in this file."""
        if not self.owns(buffer):
            raise foreign(self.device, buffer)
        array: HostArray = buffer._array
        return array

    def owns(self, buffer: Any) -> bool:
        return type(buffer) is EmulatedBuffer and buffer._block.backend is self

    def storage_class(self, buffer: EmulatedBuffer) -> str:
        return buffer.storage_class

    def from_host(self, array: HostArray) -> EmulatedBuffer:
        return self.place(array, self.storage_classes[0])

    def place(self, array: HostArray, storage_class: str) -> EmulatedBuffer:
        self._event("upload")
        copy = np.array(array, order="C")
        copy.setflags(write=False)
        buffer = self._allocate(copy, storage_class)
        self.stats.add(uploads=1, upload_bytes=copy.nbytes)
        return buffer

    def to_host(self, array: EmulatedBuffer) -> HostArray:
        self._event("download")
        copy = np.array(self._array(array), order="C")
        copy.setflags(write=False)
        self.stats.add(downloads=1, download_bytes=copy.nbytes)
        return copy

    def own(self, result: EmulatedBuffer) -> EmulatedBuffer:
        array = self._array(result)
        flags = array.flags
        if flags.c_contiguous and flags.owndata and flags.writeable:
            array.setflags(write=False)
            return result
        copy = np.array(array, order="C")
        copy.setflags(write=False)
        return self._allocate(copy, result.storage_class)

    def writable_copy(self, array: EmulatedBuffer) -> EmulatedBuffer:
        return self._allocate(np.array(self._array(array), order="C"), array.storage_class)

    def view(
        self,
        base: EmulatedBuffer,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: np.dtype[Any],
    ) -> EmulatedBuffer:
        array, size = self._array(base), dtype.itemsize
        steps = tuple(s * size for s in strides)
        view = np.ndarray(shape, dtype, array, offset * size, steps)
        return EmulatedBuffer(view, base._block)

    def view_of(
        self, result: EmulatedBuffer, base: EmulatedBuffer
    ) -> tuple[tuple[int, ...], int] | None:
        array, whole = self._array(result), self._array(base)
        if result._block is not base._block or array.dtype != whole.dtype or array.size == 0:
            return None
        start = _address(array) - _address(whole)
        return tuple(s // array.itemsize for s in array.strides), start // array.itemsize

    # -- launches ----------------------------------------------------------------------------------

    def launch(
        self,
        forward: Callable[..., Any],
        operands: Sequence[Any],
        attrs: Mapping[str, Any],
        name: str,
        storage_class: str,
    ) -> Any:
        arrays = [self._operand(x) for x in operands]
        with self.graph():
            with self._lock:
                self.executions[name] += 1
            result = forward(np, *arrays, **self._constants.in_place_of(attrs))
        if isinstance(result, tuple):
            return tuple([self._wrap(value, operands, storage_class) for value in result])
        return self._wrap(result, operands, storage_class)

    def graph(self) -> AbstractContextManager[None]:
        return self._scope.block()

    def _begin(self) -> None:
        """Count a launch, and take as long as it costs."""
        self._event("launch")
        self.stats.add(launches=1)
        if self.launch_cost:
            self.sleep(self.launch_cost)

    # -- raw modules -------------------------------------------------------------------------------

    def raw_module(self, source: Source, instances: tuple[str, ...]) -> RawModule:
        return self.kernels.module(source, instances)

    @property
    def limits(self) -> DeviceLimits:
        return self.device_limits

    @property
    def free_bytes(self) -> int:
        return max(0, self.device_limits.total_bytes - self.live_bytes)

    def capture(self) -> AbstractContextManager[KernelGraph]:
        return self.kernels.capture()

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> HostArray:
        self._event("allocation")
        refuse_capture(self.kernels.capturing, "an allocation")
        nbytes, free = prod(shape) * dtype.itemsize, self.free_bytes
        if nbytes > free:
            raise OutOfDeviceMemory(
                f"{self.device} needs {nbytes} bytes for shape {tuple(shape)}, {dtype}, got {free} "
                "free. Free some, take fewer samples at once or complex64."
            )
        array = np.empty(shape, dtype)
        array.reshape(-1).view(np.uint8)[...] = 0xFF  # NaN: what no kernel has written shows
        self.stats.add(allocations=1)
        return array

    def send(self, array: HostArray) -> HostArray:
        self._event("upload")
        refuse_capture(self.kernels.capturing, "an upload")
        copy = np.array(array, order="C")
        self.stats.add(uploads=1, upload_bytes=copy.nbytes, allocations=1)
        return copy

    def receive(self, array: HostArray) -> HostArray:
        self._event("download")
        refuse_capture(self.kernels.capturing, "a download")
        copy = np.array(array, order="C")
        self.stats.add(downloads=1, download_bytes=copy.nbytes)
        return copy

    def overwrite(self, array: HostArray, values: HostArray) -> None:
        self._event("upload")
        refuse_capture(self.kernels.capturing, "an upload")
        array[...] = values
        self.stats.add(uploads=1, upload_bytes=array.nbytes)

    def address(self, array: HostArray) -> int:
        return _address(array)

    def count_kernel(self, instance: str, nbytes: int) -> None:
        self._event("kernel")
        super().count_kernel(instance, nbytes)

    def _operand(self, operand: Any) -> HostArray:
        """Unwrap a buffer; a host value of shape () travels with the launch."""
        if type(operand) is np.ndarray and operand.shape == ():
            return operand
        return self._array(operand)

    def _wrap(self, value: Any, operands: Sequence[Any], storage_class: str) -> EmulatedBuffer:
        """Make a buffer of a result, in the operand's allocation where it looks into one."""
        array = np.asarray(value)
        owner = _owner(array)
        fresh = owner is array and array.flags.writeable
        for operand in operands:
            if type(operand) is EmulatedBuffer and _owner(operand._array) is owner:
                return EmulatedBuffer(array, operand._block)
            fresh = fresh and owner is not operand
        # Else it looks into a temporary, an attribute or a travelling number.
        return self._allocate(array if fresh else np.array(array, order="C"), storage_class)


def _owner(array: HostArray) -> HostArray:
    """Return the array whose memory this one looks into."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def _address(array: HostArray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
