"""grad_tape: where a pass on a device begins."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from autodiff.pool import thread_pools
from autodiff.queue import run_queues


class _Depth(threading.local):
    value = 0


_depth = _Depth()


@contextmanager
def grad_tape() -> Iterator[None]:
    """Begin a pass: on entry, what this thread computed on devices before is dropped.

    Memory that the last pass took is free for this one. Parameters, optimizer state and uploaded
    leaves survive, and so does everything on the CPU. Reading any other value of an earlier pass,
    gradients among them, raises ``StaleHandleError`` with the op and the line that made it. Without
    a tape nothing is dropped. A tape inside a tape belongs to the outer pass.

    >>> from autodiff import Parameter, Tensor
    >>> p = Parameter(Tensor(3.0, device="emulated"))
    >>> for _ in range(2):
    ...     with grad_tape():
    ...         (p * p).backward()
    ...         print(p.grad.item())
    ...         p.zero_grad()
    6.0
    6.0
    """
    if _depth.value == 0:
        run_queues()  # what was asked for before belongs to the pass before
        for pool in thread_pools():
            pool.reset()
    _depth.value += 1
    try:
        yield
    finally:
        _depth.value -= 1
