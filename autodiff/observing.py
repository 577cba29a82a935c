"""Who is told of every read, update, write and transfer of a value; ``trace_reads`` listens."""

from __future__ import annotations

from collections.abc import Callable

from autodiff.backends.interface import Array

#: Called as ``observer(kind, bytes)``.
observers: list[Callable[[str, int], None]] = []


def observe(kind: str, value: Array) -> None:
    """Tell the observers of one access."""
    for observer in observers:
        observer(kind, value.nbytes)
