"""Adam, and AdamW, its variant with decoupled weight decay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np

from autodiff import Parameter
from autodiff.backends.interface import Array
from qml.optim.elementwise import ElementwiseOptimizer
from qml.optim.flat import Work
from qml.settings import Check, pair, real


class Adam(ElementwiseOptimizer):
    """Adaptive moment estimation, by PyTorch's formulas.

        g <- gradient + weight_decay p
        m <- beta1 m + (1 - beta1) g,    v <- beta2 v + (1 - beta2) |g|^2
        p <- p - lr / (1 - beta1^t) m / (sqrt(v / (1 - beta2^t)) + eps)

    v is real for complex Parameters too, so that a step keeps the gradient's direction. (PyTorch
    treats real and imaginary part as two Parameters there.)

    Args:
        params: Parameters; see ``Optimizer``.
        lr: learning rate, at least 0.
        betas: both in [0, 1).
        eps: at least 0.
        weight_decay: at least 0.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> p = Parameter(1.0)
        >>> (p * p).backward()
        >>> Adam([p], lr=0.1).step().updated, round(p.item(), 6)
        (1, 0.9)

    Reference:
        Kingma and Ba (2015), arXiv:1412.6980.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": real(0.0),
        "betas": pair(real(0.0, 1.0)),
        "eps": real(0.0),
        "weight_decay": real(0.0),
    }
    slots: ClassVar[Mapping[str, bool]] = {"exp_avg": False, "exp_avg_sq": True}
    decoupled: ClassVar[bool] = False

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        settings = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, settings)

    def _update(self, work: Work) -> Array:
        lr, decay = self._settings["lr"], self._settings["weight_decay"]
        beta1, beta2 = self._settings["betas"]
        values, grads, state = work.values, work.grads, work.state
        if decay and self.decoupled:
            values = values * (1 - lr * decay)
        elif decay:
            grads = grads + decay * values
        squares = (grads * grads.conj()).real
        state["exp_avg"] = beta1 * state["exp_avg"] + (1 - beta1) * grads
        state["exp_avg_sq"] = beta2 * state["exp_avg_sq"] + (1 - beta2) * squares
        rate = work.spread(lr / (1 - beta1**work.steps))
        root = work.spread(np.sqrt(1 - beta2**work.steps))
        scale = work.xp.sqrt(state["exp_avg_sq"]) / root + self._settings["eps"]
        return values - rate * state["exp_avg"] / scale


class AdamW(Adam):
    """Adam with decoupled weight decay: p <- (1 - lr weight_decay) p before the step, not in g.

    Args:
        params: Parameters; see ``Optimizer``.
        lr: learning rate, at least 0.
        betas: both in [0, 1).
        eps: at least 0.
        weight_decay: at least 0.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> p = Parameter(1.0)
        >>> (0.0 * p).backward()
        >>> AdamW([p], lr=0.1, weight_decay=0.5).step().updated, p.item()
        (1, 0.95)

    Reference:
        Loshchilov and Hutter (2019), arXiv:1711.05101.
    """

    decoupled = True

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)
