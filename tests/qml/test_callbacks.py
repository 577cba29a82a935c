from __future__ import annotations

import math

import numpy as np
import pytest

import qml
from qml.errors import SettingError, StateDictError


def record(value: float, name: str = "validation_loss") -> qml.EpochRecord:
    return qml.EpochRecord(1, 1, 0.1, 0.0, {name: value})


CASES = [
    ({}, [5, 4, 3, 3, 3], [False, False, False, False, True]),
    ({}, [5, 6, 4, 5, 6], [False, False, False, False, True]),
    ({"mode": "max"}, [1, 2, 1, 1], [False, False, False, True]),
    ({"min_delta": 0.5}, [5, 4.6, 4.4, 4.2, 4.0], [False, False, False, False, True]),
    ({}, [math.nan, math.nan], [False, True]),
]


@pytest.mark.parametrize(("options", "values", "stops"), CASES)
def test_stops_after_epochs_without_improvement(
    options: dict, values: list[float], stops: list[bool]
) -> None:
    stopping = qml.EarlyStopping(2, **options)
    assert [stopping(record(value)) for value in values] == stops


def test_state_goes_on() -> None:
    first = qml.EarlyStopping(3, restore_best=True)
    first(record(1.0))
    first(record(2.0))
    first.best_values = {"w": np.ones(2)}
    second = qml.EarlyStopping(3, restore_best=True)
    second.load_state_dict(first.state_dict())
    assert (second.best, second.bad_epochs) == (1.0, 1)
    assert second.best_values["w"].tolist() == [1.0, 1.0]
    with pytest.raises(StateDictError, match=r"needs the state of one with \{'patience': 4"):
        qml.EarlyStopping(4, restore_best=True).load_state_dict(first.state_dict())


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"patience": 0}, "patience needs an integer of at least 1"),
        ({"mode": "least"}, "mode needs one of 'min', 'max'"),
        ({"min_delta": -1.0}, "min_delta needs"),
        ({"restore_best": 1}, "restore_best needs True or False"),
    ],
)
def test_bad_settings_are_refused(options: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.EarlyStopping(**({"patience": 1} | options))


def test_unknown_monitor_is_refused() -> None:
    with pytest.raises(SettingError, match=r"monitor needs one of \['loss'\], got 'validation_l"):
        qml.EarlyStopping(1)(record(1.0, "loss"))


def test_history_gives_values_by_name() -> None:
    history = qml.History(epochs=[record(1.0), record(2.0)])
    assert history.values("validation_loss") == [1.0, 2.0]
    with pytest.raises(SettingError, match=r"needs one of \['validation_loss'\], got 'loss'"):
        history.values("loss")
    with pytest.raises(SettingError, match=r"needs one of \[\]"):
        qml.History().values("loss")
