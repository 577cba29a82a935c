"""Progress comes back as it was, and contradictions are refused."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

import qml
from qml.callbacks import EpochRecord, History
from qml.training_progress import TrainingProgress


def progress() -> TrainingProgress:
    record = EpochRecord(1, 2, 0.1, 0.5, {"loss": inf})
    return TrainingProgress(1, 1, 3, 4, {"loss": 0.5}, History([1.0, nan, 0.5], [record], ""))


def test_progress_comes_back() -> None:
    found = TrainingProgress.of(progress().state_dict(), num_batches=2)
    assert repr(found) == repr(progress())


@pytest.mark.parametrize(
    ("change", "batches", "match"),
    [
        ({}, 1, "data with more than 1 batches"),
        ({"epoch": 2}, 2, "a record for each of 2 epochs, got 2 batches, 3 losses and 1 records"),
        ({"step": 2}, 2, "a loss for each of 2 steps"),
        ({"step": -1}, 2, "step needs an integer of at least 0"),
        ({"batch": 1 << 70}, 2, "batch needs an integer"),
        ({"sums": {"loss": None}}, 2, "a number, got None"),
        ({"sums": []}, 2, "a mapping"),
        ({"history": None}, 2, "a mapping"),
        ({"history": {"losses": "abc", "epochs": [], "stopped": ""}}, 2, "a list"),
        ({"history": {"losses": [], "epochs": [], "stopped": None}}, 2, "a str, got None"),
        ({"history": {"losses": [], "epochs": [{}], "stopped": ""}}, 2, "the entries"),
        ({"extra": 1}, 2, "the entries"),
    ],
)
def test_contradiction_is_refused(change: dict[str, Any], batches: int, match: str) -> None:
    with pytest.raises((qml.StateDictError, qml.SettingError), match=match):
        TrainingProgress.of({**progress().state_dict(), **change}, batches)
