"""The parts of the overhead report."""

from __future__ import annotations

import tempfile

import pytest

from benchmarks.cases import layered
from benchmarks.overhead import Measured, first_call, gradient_ratio, shuffled, smallest_call


def test_target_is_missed_above_it_only() -> None:
    assert Measured("x", 2.0, "ms", 1.0).over
    assert not Measured("x", 1.0, "ms", 1.0).over
    assert not Measured("x", 2.0, "ms").over


def test_shuffled_circuits_have_the_same_gates_in_another_order() -> None:
    case = layered(6)
    orders = [[s.qubits for s in c.steps] for c in (case, shuffled(case, 0), shuffled(case, 1))]
    assert orders[0] != orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert [s.gate for s in shuffled(case, 0).steps] == [s.gate for s in case.steps]


@pytest.mark.slow
@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize("split", [False, True])
def test_smallest_call_runs(split: bool, anew: bool) -> None:
    smallest_call(split, anew)()


@pytest.mark.slow
def test_gradient_is_compared_with_the_value() -> None:
    value, medians, fastest = gradient_ratio(4, 1, 1)
    assert value.amount > 0
    assert medians.amount > 1
    assert fastest.amount > 1


@pytest.mark.slow
def test_first_call_is_that_of_a_new_process() -> None:
    with tempfile.TemporaryDirectory() as cache:
        imported, cold = first_call(cache)
        _, warm = first_call(cache)
    assert 0 < imported < warm < cold
