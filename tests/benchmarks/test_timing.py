"""Timing: how often, in which order, and how rounds are joined."""

from __future__ import annotations

import time

from benchmarks.timing import MOST_CALLS, Timing, interleaved, joined, machine, timed


def test_slow_call_is_timed_once_and_quick_ones_up_to_a_number() -> None:
    slow = timed(lambda: time.sleep(0.02), 0.001)
    assert slow.calls == 1
    assert slow.median == slow.best >= 0.02
    assert timed(lambda: None, 60.0).calls == MOST_CALLS


def test_rounds_are_joined_by_the_median_and_the_best() -> None:
    rounds = [Timing(3.0, 2.0, 5), Timing(1.0, 0.5, 7), Timing(9.0, 4.0, 1)]
    assert joined(rounds) == Timing(3.0, 0.5, 13)


def test_calls_take_turns() -> None:
    order: list[str] = []
    calls = [lambda: order.append("a"), lambda: order.append("b")]
    timings = interleaved(calls, rounds=3, seconds=0.0)
    assert order == list("ababab")
    assert [t.calls for t in timings] == [3, 3]


def test_machine_is_described() -> None:
    described = machine()
    assert described["processor"]
    assert described["numba"]
