"""Some Parameters as one vector of real numbers on the host, for methods that need all at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from autodiff import Parameter, Tensor
from autodiff.dtypes import is_complex, real_dtype
from autodiff.flat_gradients import gradient_pieces
from autodiff.flat_parameters import flat_groups

RealVectorArray = NDArray[np.float64]


class RealVector:
    """The elements of Parameters one after the other, in double precision on the host.

    A complex element is two numbers, real and imaginary part; with gradients dL/dRe + i dL/dIm, its
    two derivatives stand at the same places.

    Args:
        parameters: of any dtypes, shapes and devices.

    >>> RealVector([Parameter(1 + 2j), Parameter([3.0], dtype="float32")]).values().tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self.parameters = list(parameters)
        sizes = [p.numel() * (2 if is_complex(p.dtype) else 1) for p in self.parameters]
        self._sizes = np.array(sizes, np.int64)
        self._groups = flat_groups(self.parameters)
        self.size = sum(sizes)

    def values(self) -> RealVectorArray:
        """Return the values ``(size,)``."""
        return self._joined([p.numpy() for p in self.parameters])

    def gradients(self) -> RealVectorArray:
        """Return the gradients ``(size,)``, 0 where there is none."""
        found = np.array([p._meta.raw_grad is not None for p in self.parameters], bool)
        pieces = gradient_pieces(list(compress(self.parameters, found.tolist())))
        vector = np.zeros(self.size)
        vector[np.repeat(found, self._sizes)] = self._joined(
            [g.numpy().reshape(-1)[start:stop] for g, start, stop in pieces]
        )
        return vector

    def set_values(self, vector: RealVectorArray) -> None:
        """Set all Parameters, each in its own dtype."""
        for flat, inside in self._groups:
            part = vector[np.repeat(inside, self._sizes)].astype(real_dtype(flat.dtype))
            flat.assign(Tensor(part.view(flat.dtype)))

    def _joined(self, arrays: Sequence[NDArray[np.number]]) -> RealVectorArray:
        parts = [np.ascontiguousarray(a).reshape(-1).view(real_dtype(a.dtype)) for a in arrays]
        return np.concatenate([np.zeros(0), *parts])
