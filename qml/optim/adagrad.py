"""Adagrad: every element slows down as its gradients add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from autodiff import Parameter
from autodiff.backends.interface import Array
from qml.optim.elementwise import ElementwiseOptimizer
from qml.optim.flat import Work
from qml.settings import Check, real


class Adagrad(ElementwiseOptimizer):
    """Gradient descent in units of all past gradients' root sum of squares, as in PyTorch.

        g <- gradient + weight_decay p
        s <- s + |g|^2
        p <- p - lr / (1 + (t - 1) lr_decay) g / (sqrt(initial_accumulator_value + s) + eps)

    s is real for complex Parameters too, so that a step keeps the gradient's direction. (PyTorch
    treats real and imaginary part as two Parameters there, and saves s with the initial value.)

    Args:
        params: Parameters; see ``Optimizer``.
        lr: learning rate, at least 0.
        lr_decay: at least 0.
        weight_decay: at least 0.
        initial_accumulator_value: at least 0.
        eps: at least 0.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> p = Parameter(1.0)
        >>> (p * p).backward()
        >>> Adagrad([p], lr=0.1).step().updated, round(p.item(), 6)
        (1, 0.9)

    Reference:
        Duchi, Hazan, Singer (2011), "Adaptive subgradient methods for online learning and
        stochastic optimization", Journal of Machine Learning Research 12, 2121.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": real(0.0),
        "lr_decay": real(0.0),
        "weight_decay": real(0.0),
        "initial_accumulator_value": real(0.0),
        "eps": real(0.0),
    }
    slots: ClassVar[Mapping[str, bool]] = {"sum": True}

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
    ) -> None:
        settings = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
        }
        super().__init__(params, settings)

    def _update(self, work: Work) -> Array:
        settings, grads = self._settings, work.grads
        if settings["weight_decay"]:
            grads = grads + settings["weight_decay"] * work.values
        total = work.state["sum"] = work.state["sum"] + (grads * grads.conj()).real
        rate = work.spread(settings["lr"] / (1 + (work.steps - 1) * settings["lr_decay"]))
        root = work.xp.sqrt(settings["initial_accumulator_value"] + total)
        return work.values - rate * grads / (root + settings["eps"])
