"""What the core asks of an array library: a namespace, launches, and moves to and from the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A backend's own array type: ndarray on the CPU, something NumPy cannot read elsewhere.
Array = Any
HostArray = NDArray[Any]  # Any: every dtype that a tensor may have


@dataclass
class Stats:
    """What a device has done since the last reset, and what it holds."""

    launches: int = 0
    uploads: int = 0
    downloads: int = 0
    upload_bytes: int = 0
    download_bytes: int = 0
    allocations: int = 0

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

    @abstractmethod
    def from_host(self, array: HostArray) -> Array:
        """Copy a host array into a buffer of this backend."""

    @abstractmethod
    def to_host(self, array: Array) -> HostArray:
        """Return the host value of a buffer of this backend."""

    @abstractmethod
    def own(self, result: Any) -> Array:  # Any: whatever an op's forward returned
        """Turn a forward's result into a contiguous, read-only buffer that shares no memory."""

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
            attrs: the op's attributes.
            name: the op's name.
            storage_class: the kind of memory for the results.

        Returns:
            What the forward returned, as buffers. They may share memory with operands and need not
            be contiguous; ``own`` makes them so.
        """

    def graph(self) -> AbstractContextManager[None]:
        """Run the launches inside the block as one."""
        return nullcontext()
