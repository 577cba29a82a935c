"""Times of calls, and what ran them."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

MOST_CALLS = 2000


class Timing(NamedTuple):
    """Times in seconds: the median, the best, and of how many calls."""

    median: float
    best: float
    calls: int


def timed(call: Callable[[], object], seconds: float) -> Timing:
    """Time calls for about ``seconds``, one at least."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or (time.perf_counter() < end and len(times) < MOST_CALLS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return Timing(median(times), min(times), len(times))


def joined(rounds: Sequence[Timing]) -> Timing:
    """Return the median of the rounds' medians and the best of all calls."""
    return Timing(
        median([r.median for r in rounds]),
        min([r.best for r in rounds]),
        sum([r.calls for r in rounds]),
    )


def interleaved(calls: Sequence[Callable[[], object]], rounds: int, seconds: float) -> list[Timing]:
    """Time several calls in turns, so that a slow spell of the machine meets all of them."""
    taken = [[timed(call, seconds) for call in calls] for _ in range(rounds)]
    return [joined(column) for column in zip(*taken, strict=True)]


def machine() -> dict[str, str | float | None]:
    """Say where and when this runs, and how busy it is: the load average of the last minute."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": os.getloadavg()[0],
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "numba": version("numba"),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor()
