"""The guard: it fails where it should, and its limits are those of its cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.cases import layered
from benchmarks.smoke import LIMITS, SLACK, call_of, exceeded, record, smoke_cases


def test_stored_limits_are_those_of_the_cases() -> None:
    stored = json.loads(LIMITS.read_text(encoding="utf-8"))
    assert list(stored["limits"]) == [case.name for case in smoke_cases()]
    assert stored["machine"]["processor"]


def test_case_above_its_limit_or_without_one_is_found() -> None:
    ratios = {"a": 1.0, "b": 2.1, "c": 0.1, "d": float("nan")}
    assert exceeded(ratios, {"a": 1.0, "b": 2.0, "d": 9.0}) == ["b", "c", "d"]


def test_recorded_limits_have_slack(tmp_path: Path) -> None:
    record({"a": 2.0}, tmp_path / "limits.json")
    stored = json.loads((tmp_path / "limits.json").read_text(encoding="utf-8"))
    assert stored["limits"] == {"a": 2.0 * SLACK}
    assert exceeded({"a": 2.0}, stored["limits"]) == []


@pytest.mark.slow
def test_call_evaluates_the_case() -> None:
    value, gradient = call_of(layered(2, layers=1))()
    assert abs(value) <= 4
    assert gradient.shape == (4,)
