"""Counts of calls: what a function costs in Python, the same number on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


def python_calls(function: Callable[[], object]) -> int:
    """Return how many Python and C functions are called, the function itself included."""
    count = 0

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count - 1  # the call above that takes the watch away
