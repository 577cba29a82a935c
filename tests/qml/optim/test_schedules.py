"""The closed forms, against the recursions of PyTorch's documentation worked out here."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi

import pytest

import qml
from autodiff import Parameter
from qml.errors import SettingError
from qml.optim.base import Optimizer
from qml.optim.schedules import ClosedForm

BASE = 0.8


def optimizer() -> Optimizer:
    return qml.SGD([Parameter(1.0)], lr=BASE)


def stepped(t: int, lr: float) -> float:
    """StepLR(step_size=3, gamma=0.5): decays at every third step."""
    return lr * 0.5 if t % 3 == 0 else lr


def exponential(t: int, lr: float) -> float:
    """ExponentialLR(gamma=0.9)."""
    return lr * 0.9


def cosine(t: int, lr: float) -> float:
    """CosineAnnealingLR(T_max=20, eta_min=0.1), the recursive form of its documentation."""
    ratio = (1 + cos(pi * t / 20)) / (1 + cos(pi * (t - 1) / 20))
    return ratio * (lr - 0.1) + 0.1


def linear(t: int, lr: float) -> float:
    """LinearLR(start_factor=0.25, end_factor=1, total_iters=6), PyTorch's recursion."""
    if t > 6:
        return lr
    return lr * (1 + 0.75 / (6 * 0.25 + (t - 1) * 0.75))


CASES: list[tuple[Callable[[Optimizer], ClosedForm], Callable[[int, float], float], float]] = [
    (lambda o: qml.StepLR(o, 3, gamma=0.5), stepped, BASE),
    (lambda o: qml.ExponentialLR(o, 0.9), exponential, BASE),
    (lambda o: qml.CosineAnnealingLR(o, 20, eta_min=0.1), cosine, BASE),
    (lambda o: qml.LinearLR(o, 0.25, total_iters=6), linear, BASE / 4),
]


@pytest.mark.parametrize(("make", "recursion", "first"), CASES)
def test_twenty_steps_agree_with_the_documented_recursion(
    make: Callable, recursion: Callable, first: float
) -> None:
    schedule = make(optimizer())
    lr = schedule.optimizer.lr
    assert lr == pytest.approx(first, rel=1e-15)
    for t in range(1, 21):
        lr = recursion(t, lr)
        assert schedule.step() == pytest.approx(lr, abs=1e-12)


def test_defaults_are_those_of_pytorch() -> None:
    o = optimizer()
    assert qml.StepLR(o, 5).state_dict()["settings"] == {"step_size": 5, "gamma": 0.1}
    assert qml.CosineAnnealingLR(o, 5).state_dict()["settings"] == {"T_max": 5, "eta_min": 0.0}
    assert qml.LinearLR(o).state_dict()["settings"] == {
        "start_factor": 1 / 3,
        "end_factor": 1.0,
        "total_iters": 5,
    }


def test_sequence_counts_each_schedule_from_its_milestone() -> None:
    o = optimizer()
    parts = [qml.LinearLR(o, 0.5, total_iters=2), qml.ExponentialLR(o, 0.5), qml.StepLR(o, 1)]
    schedule = qml.SequentialLR(o, parts, milestones=[2, 4])
    assert o.lr == pytest.approx(0.4)
    seen = [schedule.step() for _ in range(6)]
    assert seen == pytest.approx([0.6, 0.8, 0.4, 0.8, 0.08, 0.008])


def test_new_rate_of_the_user_is_the_next_schedules_start() -> None:
    o = optimizer()
    qml.ExponentialLR(o, 0.5).step()
    assert qml.StepLR(o, 5).optimizer.lr == BASE
    o.lr = 0.1
    assert qml.ExponentialLR(o, 0.5).step() == 0.05


def test_training_uses_the_scheduled_rate() -> None:
    p = Parameter(0.0)
    o = qml.SGD([p], lr=1.0)
    schedule = qml.ExponentialLR(o, 0.5)
    for _ in range(3):
        o.zero_grad()
        (1.0 * p).backward()
        o.step()
        schedule.step()
    assert p.item() == -(1 + 0.5 + 0.25)


BAD = [
    (lambda o: qml.StepLR(o, 0), "StepLR: step_size needs an integer of at least 1, got 0"),
    (lambda o: qml.StepLR(o, 1, gamma=0.0), "StepLR: gamma needs a number above 0"),
    (lambda o: qml.ExponentialLR(o, -1.0), "ExponentialLR: gamma needs a number above 0"),
    (lambda o: qml.CosineAnnealingLR(o, 0), "CosineAnnealingLR: T_max needs"),
    (lambda o: qml.CosineAnnealingLR(o, 1, -1.0), "CosineAnnealingLR: eta_min needs"),
    (lambda o: qml.LinearLR(o, 0.0), "LinearLR: start_factor needs a number above 0"),
    (lambda o: qml.LinearLR(o, 0.1, -1.0), "LinearLR: end_factor needs"),
    (lambda o: qml.LinearLR(o, total_iters=0), "LinearLR: total_iters needs"),
    (lambda o: qml.SequentialLR(o, [qml.StepLR(o, 1)], [2]), "1 schedules and milestones"),
    (
        lambda o: qml.SequentialLR(o, [qml.StepLR(o, 1)] * 3, [3, 2]),
        r"one rising milestone fewer, got 3 schedules and milestones \[3, 2\]",
    ),
    (
        lambda o: qml.SequentialLR(o, [qml.StepLR(optimizer(), 1)], []),
        "needs schedules of its optimizer",
    ),
    (lambda o: qml.SequentialLR(o, [], [0.5]), "milestones needs an integer"),
]


@pytest.mark.parametrize(("make", "match"), BAD)
def test_bad_settings_are_refused_and_the_rate_stays(make: Callable, match: str) -> None:
    o = optimizer()
    with pytest.raises(SettingError, match=match):
        make(o)
    assert o.lr == BASE
