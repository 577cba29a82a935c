"""Buffers of an emulated device, which NumPy cannot read."""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

import numpy as np

from autodiff.backends.interface import HostArray
from autodiff.errors import DeviceMismatch

# Any in this file: indices and elements are NumPy's.


class Holder(Protocol):
    """The device that counts what is held."""

    device: str

    def hold(self, buffers: int, nbytes: int) -> None:
        """Add to the allocations that are held, and to their bytes."""


class Block:
    """One allocation, shared by the views of it and freed with the last of them.

    It knows where it lies: a buffer cannot be relabelled.
    """

    __slots__ = ("backend", "nbytes", "storage_class")

    def __init__(self, backend: Holder, nbytes: int, storage_class: str) -> None:
        self.backend = backend
        self.nbytes = nbytes
        self.storage_class = storage_class
        backend.hold(1, nbytes)

    def __del__(self) -> None:
        self.backend.hold(-1, -self.nbytes)


def _unreadable(self: EmulatedBuffer, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError(
        f"a host operation needs a host value, got {self!r}. Read it with t.numpy(), or compute "
        "with the Tensor."
    )


class EmulatedBuffer:
    """Memory of one emulated device: its description is known, its elements are not readable."""

    __slots__ = ("__weakref__", "_array", "_block")

    def __init__(self, array: HostArray, block: Block) -> None:
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
                raise foreign(self.device, value)
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


def foreign(device: str, buffer: object) -> DeviceMismatch:
    """Return the refusal of a buffer of another device, or of none."""
    return DeviceMismatch(
        f"{device} needs buffers of its own, got {buffer!r:.80}. "
        f"Move the value with .to({device!r})."
    )
