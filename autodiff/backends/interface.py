"""What the core asks of an array library: a namespace, and moves between it and the host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A backend's own array type: ndarray on the CPU, something NumPy cannot read elsewhere.
Array = Any
HostArray = NDArray[Any]  # Any: every dtype that a tensor may have


class Backend(ABC):
    """One array library on one kind of device."""

    #: What an op's ``forward`` receives as ``xp``: NumPy or a module with its names.
    xp: Any  # Any: a module

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
