"""The CPU: NumPy itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autodiff.backends.interface import Backend, HostArray, Stats

#: The flags of memory of one's own: writeable, aligned, C-contiguous; of one axis in Fortran's too.
_FRESH = (np.empty((2, 2)).flags.num, np.empty(2).flags.num)


class NumpyBackend(Backend):
    """Buffers are read-only, C-contiguous ndarrays; a write installs another buffer."""

    xp = np
    family = "numpy"
    device = "cpu"
    storage_classes = ("host",)

    def __init__(self) -> None:
        self.stats = Stats()
        self.kernel_launches = Counter()

    def from_host(self, array: HostArray) -> HostArray:
        copy = np.array(array, order="C")
        copy.setflags(False)  # type: ignore[call-arg]  # as in ``own``
        return copy

    def to_host(self, array: HostArray) -> HostArray:
        return array

    def own(self, result: Any) -> HostArray:  # Any: ufuncs return scalars for 0-d operands
        array = result if type(result) is np.ndarray else np.asarray(result)
        # An operand is read-only, and so is what looks into one.
        if array.flags.num not in _FRESH and not _is_whole(array):
            array = np.array(array, order="C")
        array.setflags(False)  # type: ignore[call-arg]  # write=False, which takes twice as long
        return array

    def own_copy(self, result: Any) -> HostArray:  # Any: as in ``own``
        array = np.asarray(result)
        return self.own(array) if array.flags.writeable else array

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
        return np.ndarray(shape, dtype, base, offset * size, tuple([s * size for s in strides]))

    def scalars(self, vector: HostArray) -> list[HostArray]:
        return [vector[k, ...] for k in range(len(vector))]  # 5 times faster than view()

    def view_of(self, result: HostArray, base: HostArray) -> tuple[tuple[int, ...], int] | None:
        owner = result.base
        if owner is None or (owner is not base and owner is not base.base):
            return None
        if result.dtype != base.dtype or result.size == 0:
            return None
        size = base.itemsize
        # To ask for addresses takes as long as an op: not where the view has to start at the base.
        whole = result.size == base.size and result.flags.forc
        start = 0 if whole or base.size == 1 else _address(result) - _address(base)
        return tuple([s // size for s in result.strides]), start // size

    def owns(self, buffer: Any) -> bool:  # Any: that is the question
        return type(buffer) is np.ndarray

    def storage_class(self, buffer: HostArray) -> str:
        return "host"

    def place(self, array: HostArray, storage_class: str) -> HostArray:
        return self.from_host(array)

    def send(self, array: HostArray) -> HostArray:
        return np.array(array, order="C")

    def launch(
        self,
        forward: Callable[..., Any],
        operands: Sequence[HostArray],
        attrs: Mapping[str, Any],
        name: str,
        storage_class: str,
    ) -> Any:
        result = forward(np, *operands, **attrs)
        if isinstance(result, tuple):
            return tuple([np.asarray(value) for value in result])
        return np.asarray(result)


def _address(array: HostArray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _is_whole(view: HostArray) -> bool:
    """Take over the array whose elements a view shows in another shape, if it owns its memory."""
    base = view.base
    if type(base) is not np.ndarray or not 0 < base.nbytes == view.nbytes:
        return False
    whole = view.flags.carray  # writeable, C-contiguous
    if not (whole and base.flags.owndata and base.flags.writeable):  # else it is taken over already
        return False
    base.setflags(False)  # type: ignore[call-arg]  # as above
    return True
