"""What all schedules share; the table walks them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import qml
from autodiff import Parameter
from qml.errors import SettingError, StateDictError
from qml.optim.base import Optimizer
from qml.optim.schedule import Schedule

SCHEDULES: dict[str, Callable[[Optimizer], Schedule]] = {
    "step": lambda o: qml.StepLR(o, 2, gamma=0.5),
    "exponential": lambda o: qml.ExponentialLR(o, 0.9),
    "cosine": lambda o: qml.CosineAnnealingLR(o, 7, eta_min=0.01),
    "warm-up": lambda o: qml.LinearLR(o, 0.1, total_iters=4),
    "warm-up, then cosine": lambda o: qml.SequentialLR(
        o, [qml.LinearLR(o, 0.1, total_iters=3), qml.CosineAnnealingLR(o, 6)], [3]
    ),
    "plateau": lambda o: qml.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1),
}
every_schedule = pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
METRICS = (3.0, 2.0, 2.5, 2.5, 1.0, 1.5, 1.5, 1.5, 1.5, 1.5)


def optimizer(lr: float = 0.8) -> Optimizer:
    return qml.SGD([Parameter(1.0)], lr=lr)


def rates(schedule: Schedule, first: int, end: int) -> list[float]:
    plateau = isinstance(schedule, qml.ReduceLROnPlateau)
    return [schedule.step(METRICS[k]) if plateau else schedule.step() for k in range(first, end)]


@every_schedule
def test_step_sets_and_gives_the_optimizers_rate(make: Callable) -> None:
    schedule = make(optimizer())
    assert schedule.optimizer.lr <= 0.8
    for k in range(10):
        (rate,) = rates(schedule, k, k + 1)
        assert schedule.optimizer.lr == rate
        assert schedule.optimizer.initial_lr == 0.8
    assert rate < 0.8 or make is SCHEDULES["warm-up"]


@every_schedule
@pytest.mark.parametrize("optimizer_first", [True, False])
def test_saved_state_continues(make: Callable, optimizer_first: bool) -> None:
    """Whichever of the two is loaded first, and through JSON."""
    first = make(optimizer())
    rates(first, 0, 5)
    saved = json.loads(json.dumps([first.state_dict(), first.optimizer.state_dict()["settings"]]))
    other = optimizer(0.3)
    state = other.state_dict() | {"settings": saved[1]}
    if optimizer_first:
        other.load_state_dict(state)
    again = make(other)
    again.load_state_dict(saved[0])
    if not optimizer_first:
        other.load_state_dict(state)
    assert other.lr == first.optimizer.lr
    assert rates(again, 5, 10) == rates(first, 5, 10)


@every_schedule
def test_foreign_state_is_refused_and_nothing_changed(make: Callable) -> None:
    schedule = make(optimizer())
    rates(schedule, 0, 3)
    state, rate = schedule.state_dict(), schedule.optimizer.lr
    for change, match in (
        ({"schedule": "Other"}, "needs a state_dict with schedule"),
        ({"settings": {"gamma": 77}}, "needs a state_dict with settings"),
        ({"state": {"steps": 1}}, "needs a state of"),
    ):
        with pytest.raises(StateDictError, match=match):
            schedule.load_state_dict(state | change)
    assert schedule.state_dict() == state
    assert schedule.optimizer.lr == rate


@every_schedule
def test_whatever_is_no_optimizer_is_refused(make: Callable) -> None:
    with pytest.raises(SettingError, match=r"needs an optimizer, got float|needs schedules of"):
        make(0.1)
