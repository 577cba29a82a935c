"""Where a value lies and where an op runs: placements, locations, and values at a placement."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from autodiff.backends.interface import Array
from autodiff.device import backend_of, split_device
from autodiff.dtypes import DType
from autodiff.node import Meta, Shape
from autodiff.tensors import Tensor


class ExecutionLocation(NamedTuple):
    """A place where ops run. Two locations of one storage class are two locations.

    Attributes:
        executor: the executor's name.
        event_domain: whose order of events it follows.
        storage_class: the kind of memory of its values.
    """

    executor: str
    event_domain: str
    storage_class: str

    def __str__(self) -> str:
        return f"{self.executor} ({self.storage_class})"


class Placement(NamedTuple):
    """Where a buffer is said to lie: kind and ordinal of the device, kind of memory.

    Attributes:
        kind: ``"cpu"``, ``"cuda"``, ``"emulated"``.
        ordinal: which device of that kind.
        storage_class: the kind of memory.
    """

    kind: str
    ordinal: int
    storage_class: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.ordinal} ({self.storage_class})"


@dataclass(frozen=True, eq=False)
class Resident:
    """A value at one placement. All but the buffer is a claim that an executor checks.

    Attributes:
        buffer: the memory, of the backend's own type.
        shape: the extent of every axis.
        dtype: of the elements.
        placement: where it lies.
        family: whose type the buffer has: ``"numpy"``, ``"emulated"``, ``"cupy"``.
    """

    buffer: Array
    shape: Shape
    dtype: DType
    placement: Placement
    family: str

    @property
    def signature(self) -> Signature:
        """What a prepared execution depends on: everything but the elements."""
        return Signature((self.shape, self.dtype), self.placement, self.family)

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements."""
        return bytes_of((self.shape, self.dtype))


class Signature(NamedTuple):
    """A value without its elements.

    Attributes:
        meta: shape and dtype.
        placement: device, ordinal (together the allocation domain) and kind of memory.
        family: the backend family.
    """

    meta: Meta
    placement: Placement
    family: str

    def __str__(self) -> str:
        shape, dtype = self.meta
        return f"shape {shape}, dtype {dtype} at {self.placement} in a {self.family} buffer"


def bytes_of(meta: Meta) -> int:
    """Return the bytes of a contiguous value.

    >>> import numpy as np
    >>> bytes_of(((2, 3), np.dtype(np.float64)))
    48
    """
    shape, dtype = meta
    return prod(shape) * dtype.itemsize


def described(tensor: Tensor) -> Signature:
    """Return what is known of a tensor without its value, as of a placeholder."""
    kind, ordinal = split_device(tensor.device)
    backend = backend_of(tensor.device)
    placement = Placement(kind, ordinal, backend.storage_classes[0])
    return Signature((tensor.shape, tensor.dtype), placement, backend.family)


def resident_of(tensor: Tensor) -> Resident:
    """Return the value of a tensor where it lies, as it is now: a later write is not seen."""
    buffer = tensor._cell.read()
    claimed = described(tensor)
    backend, placement = backend_of(tensor.device), claimed.placement
    if backend.owns(buffer):
        placement = placement._replace(storage_class=backend.storage_class(buffer))
    return Resident(buffer, *claimed.meta, placement, claimed.family)
