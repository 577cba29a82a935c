"""Every accepted step satisfies the strong Wolfe conditions, on functions with many shapes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from qml.optim.line_search import DECREASE, FLATNESS, MAX_TRIALS, LineSearch, Point, cubic_minimum

Function = Callable[[float], tuple[float, float]]

#: phi(t) and phi'(t), all falling at 0.
FUNCTIONS: dict[str, Function] = {
    "parabola": lambda t: ((t - 1.0) ** 2, 2 * (t - 1.0)),
    "far parabola": lambda t: ((t - 300.0) ** 2, 2 * (t - 300.0)),
    "near parabola": lambda t: ((t - 1e-3) ** 2, 2 * (t - 1e-3)),
    "quartic": lambda t: ((t - 2.0) ** 4, 4 * (t - 2.0) ** 3),
    "wave": lambda t: (-np.sin(3 * t) - 0.2 * t, -3 * np.cos(3 * t) - 0.2),
    # More and Thuente (1994), functions 1 to 3.
    "bent": lambda t: (-t / (t**2 + 2), (t**2 - 2) / (t**2 + 2) ** 2),
    "steep": lambda t: (
        (t + 0.004) ** 5 - 2 * (t + 0.004) ** 4,
        5 * (t + 0.004) ** 4 - 8 * (t + 0.004) ** 3,
    ),
    "exponential": lambda t: (np.exp(t) - 5 * t, np.exp(t) - 5),
}


def search(function: Function, first: float) -> tuple[Point, Point, int]:
    calls = 0

    def evaluate(t: float) -> Point:
        nonlocal calls
        calls += 1
        return Point(t, *function(t), np.zeros(1))

    start = Point(0.0, *function(0.0), np.zeros(1))
    return start, LineSearch(evaluate, start, 1e-12).run(first), calls


@pytest.mark.parametrize("first", [1e-3, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_strong_wolfe_conditions_hold(name: str, first: float) -> None:
    start, found, calls = search(FUNCTIONS[name], first)
    assert start.slope < 0
    assert found.value <= start.value + DECREASE * found.t * start.slope
    assert abs(found.slope) <= FLATNESS * abs(start.slope)
    assert (found.value, found.slope) == FUNCTIONS[name](found.t)
    assert calls <= MAX_TRIALS + 1


def test_good_first_step_is_taken_at_once() -> None:
    assert search(FUNCTIONS["parabola"], 1.0)[1:] == (Point(1.0, 0.0, 0.0, np.zeros(1)), 1)


def test_function_without_minimum_ends_after_the_allowed_trials() -> None:
    start, found, calls = search(lambda t: (-t, -1.0), 1.0)
    assert calls == MAX_TRIALS + 1
    assert found.value < start.value


@pytest.mark.parametrize("first", [1e-3, 1.0])
def test_nothing_is_gained_where_all_other_values_are_not_numbers(first: float) -> None:
    start, found, calls = search(lambda t: (0.0, -1.0) if t == 0 else (np.nan, np.nan), first)
    assert found == start
    assert calls == MAX_TRIALS + 1


@pytest.mark.parametrize("first", [1.4, 5.0])
def test_bracket_shrinks_where_the_cubic_misleads(first: float) -> None:
    """A kink at 1 has no flat point: the best end of the bracket comes close to it."""

    def kink(t: float) -> tuple[float, float]:
        return (-t, -1.0) if t < 1 else (-1 + 1e3 * (t - 1), 1e3)

    assert 0.99 < search(kink, first)[1].t < 1


def test_bracket_that_is_too_short_is_not_divided() -> None:
    calls = []

    def evaluate(t: float) -> Point:
        calls.append(t)
        return Point(t, 1.0, 1.0, np.zeros(1))

    start = Point(0.0, 0.0, -1.0, np.zeros(1))
    assert LineSearch(evaluate, start, 2.0).run(1.0) is start
    assert calls == [1.0]


@pytest.mark.parametrize("coefficients", [(1.0, -3.0, 0.5, 2.0), (0.2, 1.0, -4.0, 0.0)])
def test_minimum_of_the_cubic_is_that_of_the_polynomial(coefficients: tuple[float, ...]) -> None:
    cubic = np.polynomial.Polynomial(coefficients[::-1])
    a, b = (Point(t, cubic(t), cubic.deriv()(t), np.zeros(1)) for t in (0.0, 3.0))
    roots = cubic.deriv().roots()
    (wanted,) = [t for t in roots if cubic.deriv(2)(t) > 0]
    assert cubic_minimum(a, b, -10.0, 10.0) == pytest.approx(wanted, rel=1e-12)
    assert cubic_minimum(b, a, -10.0, 10.0) == pytest.approx(wanted, rel=1e-12)


def test_minimum_of_the_cubic_stays_within_its_bounds() -> None:
    a, b = (Point(t, (t - 5) ** 2, 2 * (t - 5), np.zeros(1)) for t in (0.0, 1.0))
    assert cubic_minimum(a, b, 0.0, 2.0) == 2.0
    rising = [Point(t, t**3 + t, 3 * t**2 + 1, np.zeros(1)) for t in (0.0, 1.0)]
    assert cubic_minimum(*rising, 0.0, 1.0) == 0.5
    steep = [Point(0.0, 0.0, -1.0, np.zeros(1)), Point(1.0, 1e300, 1e300, np.zeros(1))]
    assert cubic_minimum(*steep, 0.0, 1.0) == 0.5
    straight = [Point(t, t, 1.0, np.zeros(1)) for t in (0.0, 1.0)]
    assert cubic_minimum(*straight, 0.0, 1.0) == 0.5
