"""IEEE 754 without warnings: ops give inf and NaN where the standard does, and say nothing.

So ``log(0)`` is -inf, ``1 / 0`` inf and ``sqrt(-1)`` NaN, as in PyTorch; ``isfinite`` finds them.
NumPy keeps what it does about them in a context variable. Entering a context that has it set costs
0.1 microseconds an op, ``np.errstate`` five times that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context
from typing import Any

import numpy as np

# Any in this file: a forward takes a backend's module and arrays.


#: A context in which NumPy says nothing. Nobody may be in it twice: run in a copy.
SILENT = Context()
SILENT.run(np.seterr, all="ignore")


class _Silence(threading.local):
    """A context of each thread's own: two threads may not be in one at a time."""

    def __init__(self) -> None:
        self.run = SILENT.copy().run


silence = _Silence()


def silent(forward: Callable[..., Any], operands: int | None = None) -> Callable[..., Any]:
    """Return a forward that gives no RuntimeWarning; it consists of NumPy calls, not of ops.

    Args:
        forward: ``forward(xp, *arrays, **attrs)``.
        operands: how many arrays it takes if it takes nothing else; one or two cost less then.
    """
    if operands == 1:
        return _keeping(lambda xp, x: silence.run(forward, xp, x), forward)
    if operands == 2:
        return _keeping(lambda xp, x, y: silence.run(forward, xp, x, y), forward)
    return _keeping(
        lambda xp, *arrays, **attrs: silence.run(forward, xp, *arrays, **attrs), forward
    )


def _keeping(quiet: Callable[..., Any], forward: Callable[..., Any]) -> Callable[..., Any]:
    vars(quiet)["silenced"] = forward
    return quiet


def silenced(forward: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return what ``silent`` made a forward of, to be run where it is silent; None: it did not."""
    found: Callable[..., Any] | None = getattr(forward, "silenced", None)
    return found
