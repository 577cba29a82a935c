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


class _Silence(threading.local):
    """A context of each thread's own: two threads may not be in one at a time."""

    def __init__(self) -> None:
        context = Context()
        context.run(np.seterr, all="ignore")
        self.run = context.run


silence = _Silence()


def silent(forward: Callable[..., Any], operands: int | None = None) -> Callable[..., Any]:
    """Return a forward that gives no RuntimeWarning; it consists of NumPy calls, not of ops.

    Args:
        forward: ``forward(xp, *arrays, **attrs)``.
        operands: how many arrays it takes if it takes nothing else; one or two cost less then.
    """
    if operands == 1:
        return lambda xp, x: silence.run(forward, xp, x)
    if operands == 2:
        return lambda xp, x, y: silence.run(forward, xp, x, y)
    return lambda xp, *arrays, **attrs: silence.run(forward, xp, *arrays, **attrs)
