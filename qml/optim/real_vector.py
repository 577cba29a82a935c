"""Some Parameters as one vector of real numbers on the host, for methods that need all at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autodiff import Parameter
from autodiff.dtypes import is_complex, real_dtype

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
        self._cuts = np.cumsum([0, *sizes])
        self.size = sum(sizes)

    def values(self) -> RealVectorArray:
        """Return the values ``(size,)``."""
        return self._joined([p.numpy() for p in self.parameters])

    def gradients(self) -> RealVectorArray:
        """Return the gradients ``(size,)``, 0 where there is none."""
        grads = [(p, p.grad) for p in self.parameters]
        return self._joined(
            [np.zeros(p.shape, p.dtype) if g is None else g.numpy() for p, g in grads]
        )

    def set_values(self, vector: RealVectorArray) -> None:
        """Set all Parameters, each in its own dtype."""
        for p, start, end in zip(self.parameters, self._cuts, self._cuts[1:], strict=False):
            part = vector[start:end].astype(real_dtype(p.dtype))
            p.set_(part.view(p.dtype).reshape(p.shape))

    def _joined(self, arrays: Sequence[NDArray[np.number]]) -> RealVectorArray:
        parts = [np.ascontiguousarray(a).reshape(-1).view(real_dtype(a.dtype)) for a in arrays]
        return np.concatenate([np.zeros(0), *parts])
