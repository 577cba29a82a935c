"""Keys of prepared executions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from autodiff.keys import Recent, frozen

SAME = [
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (slice(1, None, 2), slice(1, None, 2)),
    ([1, (2, slice(3))], [1, (2, slice(3))]),
    (np.arange(3), np.arange(3)),
    (float("nan"), float("nan")),
    (..., ...),
    (np.dtype(float), np.dtype("float64")),
]
OTHER: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ((1,), [1]),
    (slice(1), slice(2)),
    (np.arange(3), np.arange(3.0)),
    (np.zeros((1, 2)), np.zeros((2, 1))),
    ({"a": 1}, {"a": 2}),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_equal_attributes_have_one_key(a: Any, b: Any) -> None:
    assert frozen(a) == frozen(b)
    assert hash(frozen(a)) == hash(frozen(b))


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_different_attributes_have_two(a: Any, b: Any) -> None:
    assert frozen(a) != frozen(b)


def test_unhashable_objects_are_taken_by_identity() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

    one, two = Unhashable(), Unhashable()
    assert frozen(one) == frozen(one) != frozen(two)


def test_recent_forgets_what_was_not_used_for_longest() -> None:
    recent: Recent[int] = Recent(2)
    for key in ("a", "b"):
        assert recent.get(key) is None
        recent.put(key, ord(key))
    assert recent.get("a") == 97
    recent.put("c", 99)
    assert [recent.get(key) for key in "abc"] == [97, None, 99]
    assert (recent.hits, recent.misses) == (3, 3)
    recent.clear()
    assert recent.get("a") is None


def test_threads_may_share_one() -> None:
    recent: Recent[int] = Recent(3)

    def use(seed: int) -> None:
        for k in range(3000):
            key = (seed * k) % 7
            assert recent.get(key) in (None, key)
            recent.put(key, key)

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(use, seed) for seed in (1, 2, 3, 5)]:
            done.result()
    assert sum(recent.get(key) is not None for key in range(7)) <= 3 + 4
