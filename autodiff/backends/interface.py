"""What the core asks of an array library: a namespace, launches, and moves to and from the host."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from autodiff.backends.raw_modules import DeviceLimits, KernelGraph, RawModule, Source
from autodiff.errors import DeviceUnavailable

# A backend's own array type: ndarray on the CPU, something NumPy cannot read elsewhere.
Array = Any
HostArray = NDArray[Any]  # Any: every dtype that a tensor may have


# Re-entrant: a buffer may be freed, and counted, while a counter is being changed.
_counting = threading.RLock()


@dataclass
class Stats:
    """What a device has done since the last reset, and what it holds.

    Attributes:
        launches: executions of ops; in graph mode, runs of the queue.
        uploads: copies from the host.
        downloads: copies to the host.
        upload_bytes: their bytes.
        download_bytes: their bytes.
        allocations: buffers.
        kernels: launches of raw modules, those of graphs among them.
        argument_bytes: bytes of the arrays that these were handed.
        graphs: launches of captured graphs.
    """

    launches: int = 0
    uploads: int = 0
    downloads: int = 0
    upload_bytes: int = 0
    download_bytes: int = 0
    allocations: int = 0
    kernels: int = 0
    argument_bytes: int = 0
    graphs: int = 0

    def add(self, **increments: int) -> None:
        """Add to counters, from any thread."""
        with _counting:
            for name, increment in increments.items():
                setattr(self, name, getattr(self, name) + increment)

    def reset(self) -> None:
        """Set every counter to 0."""
        for field in fields(self):
            setattr(self, field.name, 0)


class Backend(ABC):
    """One array library on one device, whose memory is the buffers' allocation domain."""

    #: What an op's ``forward`` receives as ``xp``: NumPy or a module with its names.
    xp: Any  # Any: a module
    #: The array library: ``"numpy"``, ``"cupy"``, ``"emulated"``.
    family: str
    #: The canonical device name, ``"cpu"`` or ``"cuda:1"``: one allocation domain.
    device: str
    #: The kinds of memory that it computes in, the default first.
    storage_classes: tuple[str, ...]
    #: What the device has done; nothing is counted on the CPU.
    stats: Stats
    #: Whether graph mode replays a queue by kernels of ``tensor.cu`` where all its ops have some.
    replays: bool = False
    #: How often each kernel instance was launched since the last reset.
    kernel_launches: Counter[str]

    @abstractmethod
    def from_host(self, array: HostArray) -> Array:
        """Copy a host array into a buffer of this backend."""

    @abstractmethod
    def to_host(self, array: Array) -> HostArray:
        """Return the host value of a buffer of this backend."""

    @abstractmethod
    def own(self, result: Any) -> Array:  # Any: whatever an op's forward returned
        """Turn a forward's result into a contiguous, read-only buffer that shares no memory."""

    def own_copy(self, result: Any) -> Array:  # Any: whatever an op's forward returned
        """Own what a view op had to copy; a view of a read-only operand is one, and stays.

        By default for memory that nothing makes read-only: what views it is told by the row alone.
        """
        array: Array = result
        return array

    @abstractmethod
    def writable_copy(self, array: Array) -> Array:
        """Return a private copy that may be written."""

    @abstractmethod
    def view(
        self,
        base: Array,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: np.dtype[Any],
    ) -> Array:
        """Return a strided view of a contiguous buffer; strides and offset count elements."""

    def scalars(self, vector: Array) -> Sequence[Array]:
        """Return views of shape () of the elements of an own vector."""
        return [self.view(vector, (), (), k, vector.dtype) for k in range(vector.shape[0])]

    @abstractmethod
    def view_of(self, result: Array, base: Array) -> tuple[tuple[int, ...], int] | None:
        """Return ``(strides, offset)`` in elements if ``result`` views ``base``, else None."""

    @abstractmethod
    def owns(self, buffer: Any) -> bool:  # Any: that is the question
        """Whether ``buffer`` is really of this backend's type and in this device's memory."""

    @abstractmethod
    def storage_class(self, buffer: Array) -> str:
        """Return the kind of memory that an own buffer lies in."""

    @abstractmethod
    def place(self, array: HostArray, storage_class: str) -> Array:
        """Copy a host array into a buffer in a kind of memory."""

    @abstractmethod
    def launch(
        self,
        forward: Callable[..., Any],
        operands: Sequence[Array],
        attrs: Mapping[str, Any],
        name: str,
        storage_class: str,
    ) -> Any:  # Any: a buffer or a tuple of buffers
        """Run an op's forward as one launch.

        Args:
            forward: ``forward(xp, *arrays, **attrs)``.
            operands: own buffers, and host arrays of shape (), which travel with the launch.
            attrs: the op's attributes; those that are Constants are sent to the device once.
            name: the op's name.
            storage_class: the kind of memory for the results.

        Returns:
            What the forward returned, as buffers. They may share memory with operands and need not
            be contiguous; ``own`` makes them so.
        """

    def graph(self) -> AbstractContextManager[None]:
        """Run the launches inside the block as one."""
        return nullcontext()

    # -- raw modules: for forwards that launch kernels of their own --------------------------------
    # Whoever launches kernels is made for one backend and holds it; arrays are here what forwards
    # see, on the emulated device ndarrays.

    def raw_module(self, source: Source, instances: tuple[str, ...]) -> RawModule:
        """Compile kernels, once for each source and list of instances.

        Args:
            source: a file of CUDA C++.
            instances: C++ names of its kernels, as in ``"scale<float>"``.

        Raises:
            DeviceUnavailable: no kernels can run here, or none can be compiled.
            KernelError: the source does not compile.
        """
        self._no_kernels()

    @property
    def limits(self) -> DeviceLimits:
        """What kernels have at hand; asking costs nothing.

        Raises:
            DeviceUnavailable: no kernels can run here.
        """
        self._no_kernels()

    @property
    def free_bytes(self) -> int:
        """Memory that could be allocated now; the driver is asked.

        Raises:
            DeviceUnavailable: no kernels can run here.
        """
        self._no_kernels()

    def capture(self) -> AbstractContextManager[KernelGraph]:
        """Collect the raw launches inside the block, which do not run, in a graph.

        Nothing else may happen inside: buffers are allocated, modules compiled before.
        """
        self._no_kernels()

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        """Return an array for kernels to write; nothing is known of its elements.

        Raises:
            OutOfDeviceMemory: there is not enough.
        """
        self._no_kernels()

    def send(self, array: HostArray) -> Array:
        """Copy a host array into one for forwards and kernels to read; nothing waits for it."""
        self._no_kernels()

    def receive(self, array: Array) -> HostArray:
        """Wait for all that was asked for before, and copy an array to the host."""
        self._no_kernels()

    def overwrite(self, array: Array, values: HostArray) -> None:
        """Copy host values into an array that exists; nothing waits for it."""
        self._no_kernels()

    def address(self, array: Array) -> int:
        """Return where an array lies, for tables of pointers that kernels read."""
        self._no_kernels()

    def count_kernel(self, instance: str, nbytes: int) -> None:
        """Count one run of a kernel and the bytes of its arrays."""
        self.stats.add(kernels=1, argument_bytes=nbytes)
        with _counting:
            self.kernel_launches[instance] += 1

    def _no_kernels(self) -> NoReturn:
        raise DeviceUnavailable(
            f"raw modules need a device that runs kernels, got {self.device!r}. "
            "Take the device 'cuda', or 'emulated' for tests."
        )
