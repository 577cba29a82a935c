"""Memory for an engine's large results, used again when nobody looks at them any more.

Fresh memory costs a page fault for every 4 KiB that is written first, and the C library gives freed
memory back to the system: a training loop would pay that at each step for its final states.
"""

from __future__ import annotations

import sys
import threading
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST = 1 << 20
"""Bytes from which on results come from here; the C library keeps smaller ones itself."""

MOST_BYTES = 1 << 25
"""Bytes that a thread keeps at most. A run with larger states spends its time elsewhere."""

MOST_BUFFERS = 4
"""A training step needs one, or two: a helper that comes late still holds the step before."""

_ALONE = 2
"""References to a buffer without views: the list's, and that of the question."""

_LINE = 64
"""Bytes of a line of the cache."""


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array as ``numpy.empty`` does, that starts at a line of the cache.

    A vector across two lines takes two reads, or writes: sweeps take up to a third longer.

    Args:
        shape: of the array.
        dtype: of the array.
    """
    size = prod(shape) * dtype.itemsize
    memory = np.empty(size + _LINE, np.uint8)
    first = -memory.__array_interface__["data"][0] % _LINE
    return memory[first : first + size].view(dtype).reshape(shape)


class ResultBuffers(threading.local):
    """A thread's memory for results: the results of its last calls, or what is left of them.

    A result is a view of a buffer of just its size, and so is every view of it: NumPy makes the
    owner of the memory the base of them all. A buffer is free when only this list refers to it, and
    then nobody can get at it but this thread.
    """

    def __init__(self) -> None:
        self._kept: list[NDArray[np.uint8]] = []

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array as ``numpy.empty`` does, in kept memory where some is free.

        Args:
            shape: of the result.
            dtype: of the result.
        """
        size = prod(shape) * dtype.itemsize
        if size < SMALLEST:
            return np.empty(shape, dtype)
        if size > MOST_BYTES:
            self._kept.clear()  # who needs so much needs these, too
            return np.empty(shape, dtype)
        buffer = self._take(size)
        buffer.setflags(write=True)  # its last user may have locked it
        return buffer.view(dtype).reshape(shape)

    def _take(self, size: int) -> NDArray[np.uint8]:
        """Return a free buffer; a new one takes the place of all that are free."""
        kept = self._kept
        for k in range(len(kept)):
            if kept[k].nbytes == size and sys.getrefcount(kept[k]) == _ALONE:
                return kept[k]
        kept[:] = [kept[k] for k in range(len(kept)) if sys.getrefcount(kept[k]) > _ALONE]
        buffer = np.empty(size, np.uint8)
        kept.append(buffer)
        while len(kept) > MOST_BUFFERS or sum([b.nbytes for b in kept]) > MOST_BYTES:
            del kept[0]
        return buffer
