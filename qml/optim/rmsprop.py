"""RMSprop: steps in units of the gradient's recent root mean square."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from autodiff import Parameter
from autodiff.backends.interface import Array
from qml.optim.elementwise import ElementwiseOptimizer
from qml.optim.flat import Work
from qml.settings import Check, flag, real


class RMSprop(ElementwiseOptimizer):
    """Gradient descent in units of the gradient's root mean square, by PyTorch's formulas.

        g <- gradient + weight_decay p
        v <- alpha v + (1 - alpha) |g|^2
        a <- alpha a + (1 - alpha) g,    w = v - |a|^2  with centered,  else  w = v
        b <- momentum b + g / (sqrt(w) + eps)
        p <- p - lr b

    v is real for complex Parameters too, so that a step keeps the gradient's direction. (PyTorch
    treats real and imaginary part as two Parameters there.) A variance w that rounding makes
    negative counts as 0. (In PyTorch it gives NaN.)

    Args:
        params: Parameters; see ``Optimizer``.
        lr: learning rate, at least 0.
        alpha: how much of the mean square is kept, in [0, 1).
        eps: at least 0.
        weight_decay: at least 0.
        momentum: in [0, 1).
        centered: divide by the standard deviation instead.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> p = Parameter(1.0)
        >>> (p * p).backward()
        >>> RMSprop([p], lr=0.01, alpha=0.75).step().updated, round(p.item(), 6)
        (1, 0.98)

    Reference:
        Tieleman and Hinton (2012), lecture 6.5 of "Neural networks for machine learning";
        centered: Graves (2013), arXiv:1308.0850.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": real(0.0),
        "alpha": real(0.0, 1.0),
        "eps": real(0.0),
        "weight_decay": real(0.0),
        "momentum": real(0.0, 1.0),
        "centered": flag,
    }
    slots: ClassVar[Mapping[str, bool]] = {
        "square_avg": True,
        "grad_avg": False,
        "momentum_buffer": False,
    }

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
        }
        super().__init__(params, settings)

    def _update(self, work: Work) -> Array:
        settings, state, grads = self._settings, work.state, work.grads
        alpha, momentum = settings["alpha"], settings["momentum"]
        if settings["weight_decay"]:
            grads = grads + settings["weight_decay"] * work.values
        squares = (grads * grads.conj()).real
        variance = state["square_avg"] = alpha * state["square_avg"] + (1 - alpha) * squares
        if settings["centered"]:
            mean = state["grad_avg"] = alpha * state["grad_avg"] + (1 - alpha) * grads
            variance = work.xp.maximum(variance - (mean * mean.conj()).real, 0.0)
        direction = grads / (work.xp.sqrt(variance) + settings["eps"])
        if momentum:
            direction = momentum * state["momentum_buffer"] + direction
            state["momentum_buffer"] = direction
        return work.values - settings["lr"] * direction
