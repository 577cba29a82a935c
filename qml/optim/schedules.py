"""Learning rates that depend on the step, under PyTorch's names and by its closed forms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import cos, pi
from typing import Any, ClassVar

from qml.errors import SettingError
from qml.optim.base import Optimizer
from qml.optim.schedule import Schedule
from qml.settings import Check, above, real, whole

# Any in this file: settings and state, as in ``schedule``.


class ClosedForm(Schedule):
    """A schedule whose rate is a function of the number of steps.

    Args:
        optimizer: whose learning rate is set, at once and after every ``step()``.
        settings: values by name, one for each entry of ``checks``.

    Raises:
        SettingError: no optimizer, or a setting outside its range.
    """

    state_checks: ClassVar[Mapping[str, Check]] = {"initial_lr": real(0.0), "steps": whole(0)}

    def __init__(self, optimizer: Optimizer, settings: Mapping[str, Any]) -> None:
        super().__init__(optimizer, settings)
        self.initial_lr = self.optimizer.initial_lr
        self.steps = 0
        self._set()

    @abstractmethod
    def rate(self, initial_lr: float, steps: int) -> float:
        """Return the learning rate after so many steps."""

    def step(self) -> float:
        """Set and return the learning rate of the next step."""
        self.steps += 1
        self._set()
        return self.optimizer.lr

    def _set(self) -> None:
        self.optimizer.set_scheduled_lr(self.rate(self.initial_lr, self.steps))


class StepLR(ClosedForm):
    """The rate falls by a factor every few steps: initial_lr gamma^floor(t / step_size).

    Args:
        optimizer: whose learning rate is set.
        step_size: at least 1.
        gamma: above 0.

    Example:
        >>> from qml import SGD, Parameter
        >>> schedule = StepLR(SGD([Parameter(0.0)], lr=1.0), step_size=2, gamma=0.5)
        >>> [schedule.step() for _ in range(4)]
        [1.0, 0.5, 0.5, 0.25]
    """

    checks: ClassVar[Mapping[str, Check]] = {"step_size": whole(1), "gamma": above(0.0)}

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1) -> None:
        super().__init__(optimizer, {"step_size": step_size, "gamma": gamma})

    def rate(self, initial_lr: float, steps: int) -> float:
        """Return the learning rate after so many steps."""
        return initial_lr * self._settings["gamma"] ** (steps // self._settings["step_size"])


class ExponentialLR(ClosedForm):
    """The rate falls by a factor every step: initial_lr gamma^t.

    Args:
        optimizer: whose learning rate is set.
        gamma: above 0.

    Example:
        >>> from qml import SGD, Parameter
        >>> schedule = ExponentialLR(SGD([Parameter(0.0)], lr=1.0), gamma=0.5)
        >>> [schedule.step() for _ in range(3)]
        [0.5, 0.25, 0.125]
    """

    checks: ClassVar[Mapping[str, Check]] = {"gamma": above(0.0)}

    def __init__(self, optimizer: Optimizer, gamma: float) -> None:
        super().__init__(optimizer, {"gamma": gamma})

    def rate(self, initial_lr: float, steps: int) -> float:
        """Return the learning rate after so many steps."""
        return initial_lr * self._settings["gamma"] ** steps


class CosineAnnealingLR(ClosedForm):
    """Half a period of a cosine from the initial rate to the least one, and back from there on.

        eta_min + (initial_lr - eta_min) (1 + cos(pi t / T_max)) / 2

    Args:
        optimizer: whose learning rate is set.
        T_max: steps to the least rate, at least 1.
        eta_min: the least rate, at least 0.

    Example:
        >>> from qml import SGD, Parameter
        >>> schedule = CosineAnnealingLR(SGD([Parameter(0.0)], lr=1.0), T_max=2)
        >>> [round(schedule.step(), 9) for _ in range(2)]
        [0.5, 0.0]

    Reference:
        Loshchilov and Hutter (2017), arXiv:1608.03983, without restarts.
    """

    checks: ClassVar[Mapping[str, Check]] = {"T_max": whole(1), "eta_min": real(0.0)}

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0) -> None:
        super().__init__(optimizer, {"T_max": T_max, "eta_min": eta_min})

    def rate(self, initial_lr: float, steps: int) -> float:
        """Return the learning rate after so many steps."""
        least = self._settings["eta_min"]
        share = (1 + cos(pi * steps / self._settings["T_max"])) / 2
        return least + (initial_lr - least) * share


class LinearLR(ClosedForm):
    """Warm-up: the rate grows linearly, in ``total_iters`` steps, and then stays.

        initial_lr (start_factor + (end_factor - start_factor) min(t / total_iters, 1))

    Args:
        optimizer: whose learning rate is set.
        start_factor: above 0.
        end_factor: at least 0.
        total_iters: at least 1.

    Example:
        >>> from qml import SGD, Parameter
        >>> schedule = LinearLR(SGD([Parameter(0.0)], lr=1.0), start_factor=0.5, total_iters=2)
        >>> schedule.optimizer.lr, schedule.step(), schedule.step(), schedule.step()
        (0.5, 0.75, 1.0, 1.0)

    Reference:
        Goyal et al. (2017), arXiv:1706.02677, section 2.2.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "start_factor": above(0.0),
        "end_factor": real(0.0),
        "total_iters": whole(1),
    }

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
    ) -> None:
        settings = {
            "start_factor": start_factor,
            "end_factor": end_factor,
            "total_iters": total_iters,
        }
        super().__init__(optimizer, settings)

    def rate(self, initial_lr: float, steps: int) -> float:
        """Return the learning rate after so many steps."""
        start, end = self._settings["start_factor"], self._settings["end_factor"]
        share = min(steps / self._settings["total_iters"], 1.0)
        return initial_lr * (start + (end - start) * share)


class SequentialLR(ClosedForm):
    """One schedule after the other: ``schedules[k]`` counts its steps from ``milestones[k - 1]``.

    Args:
        optimizer: whose learning rate is set.
        schedules: of that optimizer, such as a warm-up and what follows it.
        milestones: steps at which the next one takes over, rising, one fewer than schedules.

    Example:
        >>> from qml import SGD, Parameter
        >>> optimizer = SGD([Parameter(0.0)], lr=1.0)
        >>> parts = [LinearLR(optimizer, 0.5, total_iters=2), ExponentialLR(optimizer, gamma=0.5)]
        >>> schedule = SequentialLR(optimizer, parts, milestones=[2])
        >>> optimizer.lr, [schedule.step() for _ in range(4)]
        (0.5, [0.75, 1.0, 0.5, 0.25])
    """

    def __init__(
        self, optimizer: Optimizer, schedules: Sequence[ClosedForm], milestones: Sequence[int]
    ) -> None:
        check = whole(1)
        self._milestones = [check("SequentialLR: milestones", m) for m in milestones]
        self._schedules = list(schedules)
        own = all(isinstance(s, ClosedForm) and s.optimizer is optimizer for s in self._schedules)
        rising = all(a < b for a, b in pairwise(self._milestones))
        if not own or not rising or len(self._schedules) != len(self._milestones) + 1:
            raise SettingError(
                "SequentialLR needs schedules of its optimizer and one rising milestone fewer, "
                f"got {len(self._schedules)} schedules and milestones {self._milestones}. "
                "Name the step at which each but the first takes over."
            )
        super().__init__(optimizer, {})

    def rate(self, initial_lr: float, steps: int) -> float:
        """Return the learning rate after so many steps."""
        k = sum(m <= steps for m in self._milestones)
        start = self._milestones[k - 1] if k else 0
        return self._schedules[k].rate(initial_lr, steps - start)

    def state_dict(self) -> dict[str, Any]:
        """Return the position, and kind and settings of the schedules."""
        parts = [schedule.state_dict() for schedule in self._schedules]
        for part in parts:
            del part["state"]
        settings = {"milestones": list(self._milestones), "schedules": parts}
        return super().state_dict() | {"settings": settings}
