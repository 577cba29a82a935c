from __future__ import annotations

from math import nan

import pytest

import qml
from autodiff import Parameter, Tensor
from qml.errors import SettingError


def documented(metrics: list[float], lr: float, **settings: object) -> list[float]:
    """The algorithm of torch.optim.lr_scheduler.ReduceLROnPlateau."""
    use = {
        "mode": "min",
        "factor": 0.1,
        "patience": 10,
        "threshold": 1e-4,
        "threshold_mode": "rel",
        "cooldown": 0,
        "min_lr": 0.0,
        "eps": 1e-8,
    } | settings
    best = float("inf") if use["mode"] == "min" else -float("inf")
    better = {
        ("min", "rel"): lambda a, best: a < best * (1.0 - use["threshold"]),
        ("min", "abs"): lambda a, best: a < best - use["threshold"],
        ("max", "rel"): lambda a, best: a > best * (1.0 + use["threshold"]),
        ("max", "abs"): lambda a, best: a > best + use["threshold"],
    }[use["mode"], use["threshold_mode"]]
    num_bad_epochs = cooldown_counter = 0
    seen = []
    for current in metrics:
        if better(current, best):
            best, num_bad_epochs = current, 0
        else:
            num_bad_epochs += 1
        if cooldown_counter > 0:
            cooldown_counter -= 1
            num_bad_epochs = 0
        if num_bad_epochs > use["patience"]:
            new_lr = max(lr * use["factor"], use["min_lr"])
            if lr - new_lr > use["eps"]:
                lr = new_lr
            cooldown_counter, num_bad_epochs = use["cooldown"], 0
        seen.append(lr)
    return seen


FALLING = [5.0, 4.0, 4.0, 3.99, 3.9, 3.95, 3.9, 3.9, 3.9, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
CASES = [
    (FALLING, {"patience": 1}),
    (FALLING, {"patience": 0, "factor": 0.5, "cooldown": 2}),
    (FALLING, {"patience": 2, "threshold": 0.5, "threshold_mode": "abs"}),
    ([-x for x in FALLING], {"mode": "max", "patience": 1, "threshold_mode": "abs"}),
    ([1 / x for x in FALLING], {"mode": "max", "patience": 1, "threshold": 0.01}),
    (FALLING, {"patience": 0, "min_lr": 0.02}),
    (FALLING, {"patience": 0, "eps": 0.05}),
    (FALLING * 2, {}),
    ([1.0, nan, nan, nan, 0.5], {"patience": 1}),
]


@pytest.mark.parametrize(("metrics", "settings"), CASES)
def test_rates_agree_with_the_documented_algorithm(metrics: list[float], settings: dict) -> None:
    optimizer = qml.SGD([Parameter(0.0)], lr=0.1)
    schedule = qml.ReduceLROnPlateau(optimizer, **settings)
    seen = [schedule.step(metric) for metric in metrics]
    assert seen == pytest.approx(documented(metrics, 0.1, **settings), rel=1e-12)
    assert min(seen) < 0.1


def test_defaults_are_those_of_pytorch() -> None:
    schedule = qml.ReduceLROnPlateau(qml.SGD([Parameter(0.0)]))
    assert schedule.state_dict()["settings"] == {
        "mode": "min",
        "factor": 0.1,
        "patience": 10,
        "threshold": 1e-4,
        "threshold_mode": "rel",
        "cooldown": 0,
        "min_lr": 0.0,
        "eps": 1e-8,
    }


def test_metric_may_be_a_tensor_and_the_first_may_be_no_number() -> None:
    schedule = qml.ReduceLROnPlateau(qml.SGD([Parameter(0.0)], lr=1.0), patience=5)
    schedule.step(nan)
    schedule.step(Tensor(2.0))
    assert schedule.best == 2.0


def test_rate_that_the_user_set_is_the_one_that_falls() -> None:
    optimizer = qml.SGD([Parameter(0.0)], lr=1.0)
    schedule = qml.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    schedule.step(1.0)
    optimizer.lr = 0.2
    assert schedule.step(1.0) == 0.1


BAD = [
    ({"mode": "low"}, "mode needs one of 'min', 'max', got 'low'"),
    ({"factor": 1.0}, "factor needs a finite number"),
    ({"factor": 0.0}, "factor needs a number above 0"),
    ({"patience": -1}, "patience needs an integer"),
    ({"threshold": -1.0}, "threshold needs"),
    ({"threshold_mode": "both"}, "threshold_mode needs one of"),
    ({"cooldown": 0.5}, "cooldown needs an integer"),
    ({"min_lr": -1.0}, "min_lr needs"),
    ({"eps": -1.0}, "eps needs"),
]


@pytest.mark.parametrize(("settings", "match"), BAD)
def test_bad_settings_are_refused(settings: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.ReduceLROnPlateau(qml.SGD([Parameter(0.0)]), **settings)
