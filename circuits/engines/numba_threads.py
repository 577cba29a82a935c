"""The team of threads that shares a compiled call."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

SHARED_WORK = 1 << 17
"""Rows times instructions of all blocks from which on threads share them.

Some 65 microseconds of a forward call and 150 of a reverse one: what it takes to wake a thread on a
CPU that sleeps, 20 to 40 microseconds, is won back.
"""

BLOCK_WORK = 1 << 10
"""What a block takes beside its instructions, its states and its angles, in the same unit."""

_PAGE = 512
_lock = threading.Lock()
_pools: dict[int, ThreadPoolExecutor] = {}
_limit = [0]


def get_num_threads() -> int:
    """Return how many threads a call may use: what was set, or the CPUs that this process may use.

    Returns:
        1 or more. Small calls use one thread whatever the number.

    Example:
        >>> get_num_threads() >= 1
        True
    """
    return _limit[0] or len(os.sched_getaffinity(0))


def set_num_threads(count: int) -> None:
    """Set how many threads a call may use; results are the same bits for any number.

    Args:
        count: 1 or more.

    Raises:
        ValueError: the number is not a positive integer.

    Example:
        >>> before = get_num_threads()
        >>> set_num_threads(2)
        >>> get_num_threads()
        2
        >>> set_num_threads(before)
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(
            f"set_num_threads needs a positive integer, got {count!r}. "
            "Give the number of cores that calls may use."
        )
    _limit[0] = count


def block_team(blocks: int, work: int) -> int:
    """Return how many threads share a call's blocks; ``work`` is rows times instructions."""
    work += blocks * BLOCK_WORK
    return min(blocks, get_num_threads()) if work > SHARED_WORK else 1


def stage_team(chunks: int) -> int:
    """Return how many threads share the chunks of a staged call: two tiles are enough for two."""
    return min(get_num_threads(), chunks)


def workspace_shape(count: int, size: int) -> tuple[int, int]:
    """Return the shape of room for ``count`` threads: whole pages each."""
    return count, -(-size // _PAGE) * _PAGE


def _pool() -> ThreadPoolExecutor:
    """Return this process's helpers; a forked child has none of its parent's threads."""
    key = os.getpid()
    pool = _pools.get(key)
    if pool is None:
        with _lock:
            pool = _pools.get(key)
            if pool is None:
                _pools.clear()
                count = max(64, len(os.sched_getaffinity(0)))
                pool = _pools[key] = ThreadPoolExecutor(count, thread_name_prefix="ketgrad")
    return pool


def run_team(driver: Callable[..., None], args: tuple[Any, ...], team: int) -> None:
    """Run a driver on this thread and on ``team - 1`` helpers; returns when the work is done.

    A helper that comes in time holds the arguments as long as it needs them. One that comes late
    finds nothing: on a busy machine it would hold the states of a call that was over long ago.
    """
    if team == 1:
        driver(*args)
        return
    shared = [args]
    for _ in range(team - 1):
        try:
            _pool().submit(_help, driver, shared)
        except RuntimeError:  # the interpreter shuts down: this thread does the work alone
            break
    try:
        driver(*args)
    finally:
        shared.clear()


def _help(driver: Callable[..., None], shared: list[tuple[Any, ...]]) -> None:
    """Run a helper's part of a call, unless the call is over."""
    for args in shared[:1]:
        driver(*args)


def _after_fork() -> None:
    """A lock that another thread held in the parent would stay locked in the child."""
    global _lock
    _lock = threading.Lock()
    _pools.clear()


os.register_at_fork(after_in_child=_after_fork)
