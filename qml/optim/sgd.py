"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from autodiff import Parameter
from autodiff.backends.interface import Array
from qml.errors import SettingError
from qml.optim.elementwise import ElementwiseOptimizer
from qml.optim.flat import Work
from qml.settings import Check, flag, real


class SGD(ElementwiseOptimizer):
    """Gradient descent with momentum, by PyTorch's formulas.

        g <- gradient + weight_decay p
        b <- momentum b + (1 - dampening) g         (the first time: b <- g)
        p <- p - lr (g + momentum b)  with nesterov, else  p - lr b;  without momentum  p - lr g

    Momentum is ``SGD(params, momentum=0.9)``, Nesterov's method ``SGD(params, momentum=0.9,
    nesterov=True)``. As in PyTorch, b has no factor lr: a change of lr acts at once.

    Args:
        params: Parameters; see ``Optimizer``.
        lr: learning rate, at least 0.
        momentum: in [0, 1).
        dampening: in [0, 1).
        weight_decay: at least 0.
        nesterov: look ahead; needs momentum, and no dampening.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> z = Parameter(3 + 4j)
        >>> (z.real**2 + z.imag**2).backward()
        >>> SGD([z], lr=0.1).step().updated, z.item()
        (1, (2.4+3.2j))

    Reference:
        Sutskever, Martens, Dahl, Hinton (2013), "On the importance of initialization and momentum
        in deep learning", ICML.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": real(0.0),
        "momentum": real(0.0, 1.0),
        "dampening": real(0.0, 1.0),
        "weight_decay": real(0.0),
        "nesterov": flag,
    }
    slots: ClassVar[Mapping[str, bool]] = {"momentum_buffer": False}

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        settings = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
        }
        super().__init__(params, settings)

    def _checked_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        checked = super()._checked_settings(settings)
        momentum, dampening = checked["momentum"], checked["dampening"]
        if checked["nesterov"] and (momentum == 0 or dampening != 0):
            raise SettingError(
                f"SGD: nesterov needs momentum above 0 and dampening 0, got momentum {momentum} "
                f"and dampening {dampening}. Give momentum=0.9, or leave nesterov out."
            )
        return checked

    def _update(self, work: Work) -> Array:
        settings = self._settings
        momentum = settings["momentum"]
        direction = work.grads
        if settings["weight_decay"]:
            direction = direction + settings["weight_decay"] * work.values
        if momentum:
            fresh = work.spread(1.0 - settings["dampening"] * (work.steps > 1))
            buffer = momentum * work.state["momentum_buffer"] + fresh * direction
            work.state["momentum_buffer"] = buffer
            direction = direction + momentum * buffer if settings["nesterov"] else buffer
        return work.values - settings["lr"] * direction
