"""The cost of one recorded op beside the bare NumPy call: ``python -m benchmarks.dispatch``.

The calls take turns, so that a slow spell of the machine meets both. The limits are those of the
design: 12 microseconds and 15 times NumPy for 0-d float64, and nothing to speak of for 10^5
elements; and 150 microseconds for a loss of two ops with its gradient. It ends with status 1 where
one is exceeded.
"""

from __future__ import annotations

import sys
import time
import timeit
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from autodiff import Tensor, no_grad

CALLS, ROUNDS = 20_000, 15
MOST_MICROSECONDS, MOST_TIMES = 12.0, 15.0
MOST_FOR_LARGE, MOST_FOR_PASS = 1.5, 150.0


class Cost(NamedTuple):
    """Seconds of one call, here and in NumPy: the best of all rounds."""

    name: str
    ours: float
    numpy: float

    @property
    def times(self) -> float:
        """How many times NumPy's time ours is."""
        return self.ours / self.numpy

    def __str__(self) -> str:
        return (
            f"{self.name:<28} {self.ours * 1e6:>10.2f} us {self.numpy * 1e6:>10.2f} us "
            f"{self.times:>8.2f} x"
        )


def cost(
    name: str, ours: Callable[[], object], numpy: Callable[[], object], calls: int = CALLS
) -> Cost:
    """Time two calls in turns, by this thread's processor time: others may hold the cores."""
    best = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for k, call in enumerate((ours, numpy)):
            seconds = timeit.timeit(call, number=calls, timer=time.thread_time)
            best[k] = min(best[k], seconds / calls)
    return Cost(name, *best)


def costs(calls: int = CALLS) -> list[Cost]:
    """Return the costs of a recorded and an unrecorded op, of a large one, and of a whole pass."""
    x, y = Tensor(1.5, requires_grad=True), Tensor(2.5, requires_grad=True)
    a, b = x.numpy(), y.numpy()
    large = Tensor(np.linspace(0.0, 1.0, 10**5), requires_grad=True)
    wide = large.numpy()

    def product() -> Tensor:
        return x * y

    found = [cost("0-d float64, recorded", product, lambda: np.multiply(a, b), calls)]
    with no_grad():
        found.append(cost("0-d float64, not recorded", product, lambda: np.multiply(a, b), calls))
    fewer = max(calls // 100, 1)
    found.append(cost("10^5 float64, recorded", large.sin, lambda: np.sin(wide), fewer))
    v = Tensor(np.linspace(0.1, 1.0, 128), requires_grad=True)
    w = v.numpy()

    def loss_and_gradient() -> None:
        v.zero_grad()
        (v * v).mean().backward()

    def by_hand() -> None:
        np.mean(w * w), 2.0 * w / len(w)

    found.append(cost("mean(v * v) and its gradient", loss_and_gradient, by_hand, 10 * fewer))
    return found


def exceeded(found: list[Cost]) -> list[str]:
    """Return what is above its limit."""
    small, _, large, whole = found
    limits = (
        (small.ours * 1e6, MOST_MICROSECONDS, "microseconds of a recorded 0-d op"),
        (small.times, MOST_TIMES, "times NumPy's call for a recorded 0-d op"),
        (large.times, MOST_FOR_LARGE, "times NumPy's call for 10^5 elements"),
        (whole.ours * 1e6, MOST_FOR_PASS, "microseconds of a loss with its gradient"),
    )
    return [
        f"{what}: {value:.2f}, {most:g} allowed" for value, most, what in limits if value > most
    ]


def main() -> int:
    """Print the costs and what is above its limit."""
    found = costs()
    print(f"{'op':<28} {'ours':>13} {'NumPy':>13} {'ratio':>10}")
    print(*found, sep="\n")
    too_much = exceeded(found)
    print(*too_much, sep="\n")
    return 1 if too_much else 0


if __name__ == "__main__":
    sys.exit(main())
