"""Bounds on what a call may use: memory by the system's limit, time by the processor's clock."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MIB = 1 << 20


def address_space() -> int:
    """Bytes of address space that this process has mapped."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def resident() -> int:
    """Bytes of memory that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@contextmanager
def limited(memory: int = 512 * MIB, seconds: float = 10.0) -> Iterator[None]:
    """Let the block map ``memory`` bytes more, and use ``seconds`` of processor time.

    An allocation beyond is refused by the system: a MemoryError, which no reader may raise.
    """
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + memory, before[1]))
    start = time.thread_time()
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    used = time.thread_time() - start
    assert used < seconds, f"{used:.1f} s of processor time, {seconds} s are allowed"
