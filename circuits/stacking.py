"""Nested lists that hold Tensors, as one Tensor that keeps their history."""

from __future__ import annotations

from typing import Any

import autodiff as ad
from autodiff import Tensor


def stacked(given: Any) -> Any:  # Any: whatever the user gave
    """Return lists with Tensors in them as one Tensor; anything else comes back as it is.

    NumPy would copy the values out, and the gradients would be lost without a word.

    Raises:
        ShapeError: parts of different shapes.
        DeviceMismatch: Tensors of several devices.

    >>> a = Tensor(0.5, requires_grad=True)
    >>> stacked([a, 1.0]).requires_grad
    True
    """
    if not isinstance(given, list | tuple):
        return given
    parts = [stacked(part) for part in given]
    first = next((part for part in parts if isinstance(part, Tensor)), None)
    if first is None:
        return given
    return ad.stack([x if isinstance(x, Tensor) else Tensor(x, device=first.device) for x in parts])
