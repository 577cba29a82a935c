"""A learning rate that falls when training no longer gets anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from autodiff import Tensor
from qml.optim.base import Optimizer
from qml.optim.schedule import Schedule
from qml.settings import Check, above, choice, number, optional, real, whole


class ReduceLROnPlateau(Schedule):
    """The rate falls by a factor when a metric has not improved for a while, as in PyTorch.

    After ``patience`` steps without improvement, the next one without lowers the rate. Better than
    the best value b is, for mode "min", below (1 - threshold) b, or below b - threshold with
    ``threshold_mode="abs"``; for "max" above (1 + threshold) b, or above b + threshold. Mind that
    the relative rule is wrong for negative metrics, such as energies: use "abs" there.

    Args:
        optimizer: whose learning rate is set.
        mode: ``"min"`` or ``"max"``.
        factor: above 0 and below 1.
        patience: steps without improvement that are tolerated, at least 0.
        threshold: at least 0.
        threshold_mode: ``"rel"`` or ``"abs"``.
        cooldown: steps after a fall that do not count, at least 0.
        min_lr: at least 0.
        eps: smaller falls are not made.

    Raises:
        SettingError: no optimizer, or a setting outside its range.

    Example:
        >>> from qml import SGD, Parameter
        >>> schedule = ReduceLROnPlateau(SGD([Parameter(0.0)], lr=1.0), factor=0.5, patience=1)
        >>> [schedule.step(metric) for metric in (3.0, 2.0, 2.0, 2.0)]
        [1.0, 1.0, 1.0, 0.5]
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "mode": choice("min", "max"),
        "factor": above(0.0, 1.0),
        "patience": whole(0),
        "threshold": real(0.0),
        "threshold_mode": choice("rel", "abs"),
        "cooldown": whole(0),
        "min_lr": real(0.0),
        "eps": real(0.0),
    }
    state_checks: ClassVar[Mapping[str, Check]] = {
        "lr": real(0.0),
        "best": optional(number),
        "bad_steps": whole(0),
        "cooling": whole(0),
    }

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        settings = {
            "mode": mode,
            "factor": factor,
            "patience": patience,
            "threshold": threshold,
            "threshold_mode": threshold_mode,
            "cooldown": cooldown,
            "min_lr": min_lr,
            "eps": eps,
        }
        super().__init__(optimizer, settings)
        self.lr = self.optimizer.lr
        self.best: float | None = None
        self.bad_steps = self.cooling = 0

    def step(self, metric: float | Tensor) -> float:
        """Take in a metric; set and return the learning rate of the next step."""
        value = float(metric)
        self.lr = self.optimizer.lr
        if self._is_better(value):
            self.best, self.bad_steps = value, 0
        else:
            self.bad_steps += 1
        if self.cooling > 0:
            self.cooling, self.bad_steps = self.cooling - 1, 0
        if self.bad_steps > self._settings["patience"]:
            self.cooling, self.bad_steps = self._settings["cooldown"], 0
            lower = max(self.lr * self._settings["factor"], self._settings["min_lr"])
            if self.lr - lower > self._settings["eps"]:
                self.lr = lower
                self._set()
        return self.lr

    def _is_better(self, value: float) -> bool:
        if self.best is None:
            return value == value  # NaN is no improvement
        sign = -1.0 if self._settings["mode"] == "min" else 1.0
        relative = self._settings["threshold_mode"] == "rel"
        margin = self._settings["threshold"] * (self.best if relative else 1.0)
        return sign * value > sign * (self.best + sign * margin)

    def _set(self) -> None:
        self.optimizer.set_scheduled_lr(self.lr)
