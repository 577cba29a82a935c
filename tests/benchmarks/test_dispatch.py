"""The benchmark of one op runs, and finds what is too slow."""

from __future__ import annotations

from benchmarks.dispatch import Cost, costs, exceeded

GOOD = [
    Cost("small", 4e-6, 3e-7),
    Cost("plain", 3e-6, 3e-7),
    Cost("large", 1.1e-3, 1e-3),
    Cost("whole", 6e-5, 5e-6),
]


def test_costs_are_positive_and_have_names() -> None:
    found = costs(calls=20)
    assert all(cost.ours > 0 and cost.numpy > 0 for cost in found)
    assert [cost.name for cost in found] == [
        "0-d float64, recorded",
        "0-d float64, not recorded",
        "10^5 float64, recorded",
        "mean(v * v) and its gradient",
    ]
    assert "us" in str(found[0])


def test_what_is_above_its_limit_is_named() -> None:
    assert exceeded(GOOD) == []
    slow = [Cost("small", 13e-6, 3e-7), GOOD[1], Cost("large", 2e-3, 1e-3), Cost("whole", 1, 1)]
    assert [line.split(":")[0] for line in exceeded(slow)] == [
        "microseconds of a recorded 0-d op",
        "times NumPy's call for a recorded 0-d op",
        "times NumPy's call for 10^5 elements",
        "microseconds of a loss with its gradient",
    ]
