"""The strict stand-in for a GPU: NumPy behind buffers that NumPy cannot read, and counters.

A launch unwraps its operands, runs the op's forward with NumPy, and wraps the results; nothing else
reaches the arrays. Every launch, move and allocation is counted and can be made slow or fail.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

from autodiff.backends.interface import Backend, HostArray, Stats
from autodiff.errors import AutodiffError, DeviceMismatch, DeviceUnavailable

# Any in this file: forwards and their results are whatever an op's row says.

#: How many devices are emulated.
ORDINALS = 4
EVENTS = ("launch", "upload", "download", "allocation")


class EmulatedFailure(AutodiffError, RuntimeError):
    """A failure that a test asked for with ``EmulatedBackend.fail``."""


class _Block:
    """One allocation, shared by the views of it and freed with the last of them.

    It knows where it lies: a buffer cannot be relabelled.
    """

    __slots__ = ("backend", "nbytes", "storage_class")

    def __init__(self, backend: EmulatedBackend, nbytes: int, storage_class: str) -> None:
        self.backend = backend
        self.nbytes = nbytes
        self.storage_class = storage_class
        backend._hold(1, nbytes)

    def __del__(self) -> None:
        self.backend._hold(-1, -self.nbytes)


def _unreadable(self: EmulatedBuffer, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError(
        f"a host operation needs a host value, got {self!r}. Read it with t.numpy(), or compute "
        "with the Tensor."
    )


class EmulatedBuffer:
    """Memory of one emulated device: its description is known, its elements are not readable."""

    __slots__ = ("__weakref__", "_array", "_block")

    def __init__(self, array: HostArray, block: _Block) -> None:
        self._array = array
        self._block = block

    @property
    def device(self) -> str:
        """The canonical name of the device that owns it."""
        return self._block.backend.device

    @property
    def storage_class(self) -> str:
        """The kind of memory."""
        return self._block.storage_class

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of every axis."""
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the elements."""
        return self._array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._array.size

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements."""
        return self._array.nbytes

    def __setitem__(self, index: Any, value: EmulatedBuffer | complex) -> None:
        """Write a number, or a buffer of the same device, into a writable copy."""
        if isinstance(value, EmulatedBuffer):
            if value._block.backend is not self._block.backend:
                raise _foreign(self.device, value)
            self._array[index] = value._array
        elif isinstance(value, int | float | complex | np.generic):
            self._array[index] = value
        else:
            _unreadable(self)

    def __repr__(self) -> str:
        described = f"shape {self.shape}, dtype {self.dtype}"
        return f"<buffer on {self.device} ({self.storage_class}): {described}>"

    __hash__ = object.__hash__
    __array_ufunc__ = None
    __array__ = __array_function__ = __len__ = __iter__ = __bool__ = __contains__ = _unreadable
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _unreadable


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
        self.launch_cost = 0.0
        self.sleep: Callable[[float], object] = time.sleep
        self.live_buffers = 0
        self.live_bytes = 0
        self._failures: dict[str, int] = {}
        self._graphs = threading.local()
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
        self.launch_cost, self.sleep = 0.0, time.sleep
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

    def _count(self, **increments: int) -> None:
        with self._lock:
            for name, increment in increments.items():
                setattr(self.stats, name, getattr(self.stats, name) + increment)

    def _hold(self, buffers: int, nbytes: int) -> None:
        with self._lock:
            self.live_buffers += buffers
            self.live_bytes += nbytes

    # -- buffers -----------------------------------------------------------------------------------

    def _allocate(self, array: HostArray, storage_class: str) -> EmulatedBuffer:
        """Wrap an array that nobody else holds."""
        self._event("allocation")
        self._count(allocations=1)
        return EmulatedBuffer(array, _Block(self, array.nbytes, storage_class))

    def _array(self, buffer: Any) -> HostArray:
        """Return the elements of an own buffer; they stay in this file."""
        if not self.owns(buffer):
            raise _foreign(self.device, buffer)
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
        self._count(uploads=1, upload_bytes=copy.nbytes)
        return buffer

    def to_host(self, array: EmulatedBuffer) -> HostArray:
        self._event("download")
        copy = np.array(self._array(array), order="C")
        copy.setflags(write=False)
        self._count(downloads=1, download_bytes=copy.nbytes)
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
            result = forward(np, *arrays, **attrs)
        if isinstance(result, tuple):
            return tuple([self._wrap(value, operands, storage_class) for value in result])
        return self._wrap(result, operands, storage_class)

    @contextmanager
    def graph(self) -> Iterator[None]:
        """Run the launches inside the block as one; an inner block belongs to the outer one."""
        if getattr(self._graphs, "open", False):
            yield
            return
        self._event("launch")
        self._count(launches=1)
        if self.launch_cost:
            self.sleep(self.launch_cost)
        self._graphs.open = True
        try:
            yield
        finally:
            self._graphs.open = False

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


def _foreign(device: str, buffer: object) -> DeviceMismatch:
    return DeviceMismatch(
        f"{device} needs buffers of its own, got {buffer!r:.80}. "
        f"Move the value with .to({device!r})."
    )
