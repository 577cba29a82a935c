"""Recorded launches of raw modules: all that is needed to run one again, and what came out.

A record is complete in itself. Arguments that overlap in memory lie in one buffer of the record,
others in one each, so that a sanitizer sees where each of them ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff.backends.interface import HostArray
from autodiff.backends.raw_modules import Argument, Extents, Source

Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Pointer:
    """An array argument: where it lies in one of the record's buffers.

    Attributes:
        buffer: the number of the buffer.
        offset: bytes from its start.
        shape: extents of the array.
        dtype: of its elements.
    """

    buffer: int
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """The bytes of the array."""
        return int(np.prod(self.shape, dtype=np.int64)) * self.dtype.itemsize

    def of(self, buffers: Sequence[Any]) -> Any:  # Any: arrays of any library
        """Return the array, as a view of its buffer."""
        part = buffers[self.buffer][self.offset : self.offset + self.nbytes]
        return part.view(self.dtype).reshape(self.shape)


@dataclass(frozen=True)
class RecordedLaunch:
    """One launch.

    Attributes:
        source: the module's file.
        instances: the module's kernels.
        instance: the one that was launched.
        grid: blocks.
        block: threads of a block.
        shared_bytes: dynamic shared memory of a block.
        arguments: NumPy scalars, and pointers into the buffers.
        before: every buffer's bytes before the launch.
        after: and afterwards; empty until the kernel has run.
    """

    source: Source
    instances: tuple[str, ...]
    instance: str
    grid: Extents
    block: Extents
    shared_bytes: int
    arguments: tuple[np.generic | Pointer, ...]
    before: tuple[Bytes, ...]
    after: list[Bytes] = field(default_factory=list)

    def values(self, buffers: Sequence[Any]) -> list[Argument]:
        """Return the launch's arguments, arrays among them as views of ``buffers``."""
        return [x.of(buffers) if isinstance(x, Pointer) else x for x in self.arguments]


ALIGNMENT = 16
"""Bytes that a kernel reads at once, at most: arrays keep their place between multiples of it."""


class Memory:
    """The stretches of memory that the array arguments of a launch take."""

    def __init__(self, arguments: Sequence[Argument]) -> None:
        self._arguments = arguments
        arrays = [x for x in arguments if not isinstance(x, np.generic)]
        self._stretches: list[tuple[int, int]] = []
        for at, end in sorted({(_start(x), _start(x) + x.nbytes) for x in arrays}):
            start = at - at % ALIGNMENT
            if self._stretches and start < self._stretches[-1][1]:
                first, last = self._stretches.pop()
                start, end = first, max(last, end)
            self._stretches.append((start, end))

    def contents(self) -> tuple[Bytes, ...]:
        """Return a copy of what lies there now."""
        copies = [np.zeros(end - start, np.uint8) for start, end in self._stretches]
        for argument, pointer in zip(self._arguments, self.pointers(), strict=True):
            if isinstance(pointer, Pointer):
                pointer.of(copies)[...] = argument
        return tuple(copies)

    def pointers(self) -> tuple[np.generic | Pointer, ...]:
        """Return the arguments as a record has them."""
        return tuple([self._pointer(x) for x in self._arguments])

    def _pointer(self, argument: Argument) -> np.generic | Pointer:
        if isinstance(argument, np.generic):
            return argument
        start = _start(argument)
        number = max(k for k, (first, _) in enumerate(self._stretches) if first <= start)
        offset = start - self._stretches[number][0]
        return Pointer(number, offset, argument.shape, argument.dtype)


def _start(array: HostArray) -> int:
    start: int = array.__array_interface__["data"][0]
    return start
