"""Activations: functions of each element, as layers."""

from __future__ import annotations

import autodiff as ad
from autodiff import Tensor
from autodiff.tensors import Operand
from qml.module import Module


class Tanh(Module):
    """The function tanh(x).

    >>> Tanh()([0.0]).tolist()
    [0.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """Return tanh(x), of the same shape."""
        return ad.tanh(x)


class ReLU(Module):
    """The function max(x, 0).

    >>> ReLU()([-1.0, 2.0]).tolist()
    [0.0, 2.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """Return max(x, 0), of the same shape."""
        return ad.relu(x)


class Sigmoid(Module):
    """The function 1 / (1 + e**-x).

    >>> Sigmoid()([0.0]).tolist()
    [0.5]
    """

    def forward(self, x: Operand) -> Tensor:
        """Return 1 / (1 + e**-x), of the same shape."""
        return ad.sigmoid(x)


class Softplus(Module):
    """The function log(1 + e**x).

    >>> Softplus()([1000.0]).tolist()
    [1000.0]
    """

    def forward(self, x: Operand) -> Tensor:
        """Return log(1 + e**x), of the same shape."""
        return ad.softplus(x)


class Softmax(Module):
    """The function e**x / sum(e**x) over one axis.

    Args:
        axis: the last one by default.

    >>> Softmax()([0.0, 0.0]).tolist()
    [0.5, 0.5]
    """

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def forward(self, x: Operand) -> Tensor:
        """Return weights that add up to 1 over the axis, of the same shape."""
        return ad.softmax(x, axis=self.axis)

    def extra_repr(self) -> str:
        """Return the axis."""
        return f"axis={self.axis}"
