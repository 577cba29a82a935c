"""Parameters of one dtype and device as one vector: how it is read, and written back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff.backends.constants import Constants
from autodiff.backends.interface import Array
from autodiff.dtypes import DType
from autodiff.modes import no_grad
from autodiff.node import Cell, read_all
from autodiff.ops.join import flat_elements
from autodiff.parameter import Parameter
from autodiff.storage import write_scalars
from autodiff.tensors import Tensor

# Any in this file: NumPy, or a module with its names.


class FlatParameters(Constants):
    """The elements of Parameters, one after the other.

    Those of shape () are written together: there may be hundreds, each too small for an op of its
    own. The others get memory of their own, so that a kept array keeps nothing else alive. A
    launch that splits a vector is given this as an attribute.

    Args:
        parameters: at least one, all of one dtype and device.

    Attributes:
        parameters: as a list.
        dtype: of all of them.
        sizes: how many elements each has.

    Raises:
        ShapeError: one is a view that repeats elements, which no vector can give two values.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = list(parameters)
        self.dtype: DType = parameters[0].dtype
        self.sizes = [p.numel() for p in parameters]
        beginnings = [0, *accumulate(self.sizes[:-1])]
        for p in parameters:
            if p._cell.strides is not None:
                p._writable_storage("a vector of Parameters")
        cells = [p._cell for p in parameters]
        single = [cell.shape == () and cell.strides is None for cell in cells]
        self._cells = cells
        self._scalars = list(compress(cells, single))
        starts = zip(cells, beginnings, self.sizes, single, strict=True)
        self._others = [(cell, slice(k, k + size)) for cell, k, size, flag in starts if not flag]
        self._places = np.array(list(compress(beginnings, single)), np.int64)

    @property
    def arrays_read(self) -> Sequence[str]:
        """Where the single numbers stand, if among others."""
        return ("_places",) if self._scalars and self._others else ()

    def read(self) -> list[Array]:
        """Return the values, one array a Parameter."""
        return read_all(self.parameters)

    def join(self, xp: Any, arrays: Sequence[Array]) -> Array:
        """Return the elements ``(N,)`` of what ``read`` gave."""
        return flat_elements(xp, arrays, scalars=not self._others)

    def split(self, flat: Array) -> list[Array]:
        """Return what ``write`` needs: an array for each that is no scalar, a vector of those."""
        parts = [flat[part].reshape(cell.shape) for cell, part in self._others]
        if self._scalars:
            parts.append(flat[self._places] if parts else flat)
        return parts

    def write(self, parts: Sequence[Array]) -> None:
        """Install what ``split`` made of new elements."""
        for (cell, _), value in zip(self._others, parts, strict=False):
            _write(cell, value)
        if self._scalars:
            storages = [cell.require_storage() for cell in self._scalars]
            write_scalars(storages, parts[-1], self._cells[0].device)

    def assign(self, vector: Tensor) -> None:
        """Set all from a vector ``(N,)``; from elsewhere it moves once."""
        with no_grad(), np.errstate(all="ignore"):
            here = vector.astype(self.dtype).to(self.parameters[0].device)
            parts = [here[part].reshape(cell.shape).copy() for cell, part in self._others]
            if self._scalars:
                parts.append(here[self._places] if parts else here)
        self.write([part._cell.read() for part in parts])


def flat_groups(parameters: Sequence[Parameter]) -> list[tuple[FlatParameters, NDArray[np.bool_]]]:
    """Return Parameters of one dtype and device together, in order of first occurrence.

    Args:
        parameters: of any dtypes and devices.

    Returns:
        Each group, and ``(P,)``: whether a Parameter is in it.
    """
    kinds = [(p.dtype, p.device) for p in parameters]
    groups = []
    for kind in dict.fromkeys(kinds):
        inside = np.array([other == kind for other in kinds], bool)
        members = [p for p, flag in zip(parameters, inside.tolist(), strict=True) if flag]
        groups.append((FlatParameters(members), inside))
    return groups


def _write(cell: Cell, value: Array) -> None:
    """Install a value; a cell may be a view of a larger storage."""
    storage = cell.require_storage()
    if cell.strides is None:
        storage.write(value, cell.device)
        return
    base = storage.read_for_update(cell.device)
    cell.view_on(base)[...] = value
    storage.write(base, cell.device)
