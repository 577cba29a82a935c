"""The CPU: NumPy itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff.backends.interface import Backend, HostArray


class NumpyBackend(Backend):
    """Buffers are read-only, C-contiguous ndarrays; a write installs another buffer."""

    xp = np

    def from_host(self, array: HostArray) -> HostArray:
        return self.own(np.array(array, order="C"))

    def to_host(self, array: HostArray) -> HostArray:
        return array

    def own(self, result: Any) -> HostArray:  # Any: ufuncs return scalars for 0-d operands
        array = np.asarray(result)
        flags = array.flags
        # What is an operand is read-only, and what looks into one does not own its data.
        if not (flags.c_contiguous and flags.owndata and flags.writeable):
            array = np.array(array, order="C")
        array.setflags(write=False)
        return array

    def writable_copy(self, array: HostArray) -> HostArray:
        return np.array(array, order="C")

    def view(
        self,
        base: HostArray,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int,
        dtype: np.dtype[Any],
    ) -> HostArray:
        size = dtype.itemsize
        return np.ndarray(shape, dtype, base, offset * size, tuple(s * size for s in strides))

    def view_of(self, result: HostArray, base: HostArray) -> tuple[tuple[int, ...], int] | None:
        owner = result.base
        if owner is None or (owner is not base and owner is not base.base):
            return None
        size = result.dtype.itemsize
        if result.dtype != base.dtype or result.size == 0:
            return None
        start = result.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return tuple(s // size for s in result.strides), start // size
