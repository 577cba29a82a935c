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

    ``Momentum`` and ``Nesterov`` fix some of the settings. As in PyTorch, b has no factor lr: a
    change of lr acts at once.

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
                f"{type(self).__name__}: nesterov needs momentum above 0 and dampening 0, got "
                f"momentum {momentum} and dampening {dampening}. Give momentum=0.9, or leave "
                "nesterov out."
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


class Momentum(SGD):
    """Gradient descent with momentum, which PyTorch writes ``SGD(params, lr, momentum=0.9)``.

        b <- momentum b + gradient + weight_decay p        (the first time: without b)
        p <- p - lr b

    Args:
        params: Parameters; see ``Optimizer``.
        lr: learning rate, at least 0.
        momentum: in [0, 1).
        weight_decay: at least 0.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> p = Parameter(1.0)
        >>> (2 * p).backward()
        >>> optimizer = Momentum([p], lr=0.1)
        >>> optimizer.step().updated, optimizer.step().updated, round(p.item(), 6)
        (1, 1, 0.42)

    Reference:
        Polyak (1964), "Some methods of speeding up the convergence of iteration methods", USSR
        Computational Mathematics and Mathematical Physics 4, 1.
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-3,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr, momentum, weight_decay=weight_decay)


class Nesterov(SGD):
    """Nesterov's method, which PyTorch writes ``SGD(params, lr, momentum=0.9, nesterov=True)``.

        g <- gradient + weight_decay p
        b <- momentum b + g                                (the first time: b <- g)
        p <- p - lr (g + momentum b)

    Args:
        params: Parameters; see ``Optimizer``.
        lr: learning rate, at least 0.
        momentum: in (0, 1).
        weight_decay: at least 0.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> p = Parameter(1.0)
        >>> (2 * p).backward()
        >>> Nesterov([p], lr=0.1).step().updated, round(p.item(), 6)  # 1 - 0.1 (2 + 0.9 * 2)
        (1, 0.62)

    Reference:
        Nesterov (1983), "A method for solving the convex programming problem with convergence rate
        O(1/k^2)", Soviet Mathematics Doklady 27, 372; in the form of Sutskever et al. (2013).
    """

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-3,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(params, lr, momentum, weight_decay=weight_decay, nesterov=True)
