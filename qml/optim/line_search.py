"""A step length that satisfies the strong Wolfe conditions.

Along a descent direction, phi(t) = f(x + t d). The conditions on t are

    phi(t) <= phi(0) + c1 t phi'(0)      enough decrease
    |phi'(t)| <= c2 |phi'(0)|            a slope that is flat enough

Reference:
    Nocedal and Wright (2006), "Numerical optimization", algorithms 3.5 and 3.6 and equation 3.59;
    bounds of the interpolation and limits as in PyTorch's L-BFGS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

from qml.optim.real_vector import RealVectorArray

DECREASE, FLATNESS = 1e-4, 0.9
"""The constants c1 and c2."""
MAX_TRIALS = 25
"""New points after the first; then the best one so far is taken."""


@dataclass(frozen=True)
class Point:
    """What is known at one step length t.

    Attributes:
        t: the step length.
        value: phi(t).
        slope: phi'(t).
        gradient: of f, at x + t d.
    """

    t: float
    value: float
    slope: float
    gradient: RealVectorArray


class LineSearch:
    """One search along one direction.

    Args:
        evaluate: gives the Point at a step length.
        start: the Point at 0; its slope is negative.
        shortest: a bracket shorter than this is not divided further.
    """

    def __init__(self, evaluate: Callable[[float], Point], start: Point, shortest: float) -> None:
        self._evaluate, self._start, self._shortest = evaluate, start, shortest
        self._trials = 0

    def run(self, first: float) -> Point:
        """Return a Point that satisfies the conditions, or the best one where none is found.

        Args:
            first: the step length that is tried first.
        """
        last, now = self._start, self._evaluate(first)
        while self._trials < MAX_TRIALS:
            grown = self._trials > 1 and now.value >= last.value
            if self._too_high(now) or grown:
                return self._zoom(*sorted((last, now), key=lambda point: point.value))
            if self._is_flat(now):
                return now
            if now.slope >= 0:
                return self._zoom(*sorted((last, now), key=lambda point: point.value))
            bounds = now.t + 0.01 * (now.t - last.t), 10 * now.t
            last, now = now, self._try(cubic_minimum(last, now, *bounds))
        return min(self._start, now, key=lambda point: point.value)

    def _zoom(self, low: Point, high: Point) -> Point:
        """Narrow a bracket that holds a good point; ``low`` is its better end."""
        stuck = False
        while self._trials < MAX_TRIALS and abs(high.t - low.t) >= self._shortest:
            left, right = sorted((low.t, high.t))
            t = cubic_minimum(low, high, left, right)
            margin = 0.1 * (right - left)
            near = min(right - t, t - left) < margin
            if near and (stuck or t >= right or t <= left):
                t = right - margin if right - t < t - left else left + margin
                near = False
            stuck = near
            now = self._try(t)
            if self._too_high(now) or now.value >= low.value:
                low, high = sorted((low, now), key=lambda point: point.value)
            elif self._is_flat(now):
                return now
            else:
                low, high = now, low if now.slope * (high.t - low.t) >= 0 else high
        return low

    def _try(self, t: float) -> Point:
        self._trials += 1
        return self._evaluate(t)

    def _too_high(self, point: Point) -> bool:
        return point.value > self._start.value + DECREASE * point.t * self._start.slope

    def _is_flat(self, point: Point) -> bool:
        return abs(point.slope) <= -FLATNESS * self._start.slope


def cubic_minimum(a: Point, b: Point, low: float, high: float) -> float:
    """Return where the cubic through two Points with their slopes is least, kept in [low, high].

    The middle of the interval where the cubic has no minimum.

    >>> a, b = (Point(t, (t - 1) ** 2, 2 * (t - 1), None) for t in (0.0, 3.0))
    >>> cubic_minimum(a, b, 0.0, 3.0)
    1.0
    """
    left, right = sorted((a, b), key=lambda point: point.t)
    chord = left.slope + right.slope - 3 * (left.value - right.value) / (left.t - right.t)
    square = chord * chord - left.slope * right.slope  # a power would raise where this is inf
    if not square >= 0:
        return (low + high) / 2
    root = sqrt(square)
    bend = right.slope - left.slope + 2 * root
    if not 0 < abs(bend) < inf:
        return (low + high) / 2
    share = (right.slope + root - chord) / bend
    return min(max(right.t - (right.t - left.t) * share, low), high)
