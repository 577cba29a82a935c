"""trace_reads: which lines of a script read, update, write and move values, and how many bytes."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from autodiff.observing import observers
from autodiff.sites import Site, call_site, function_of


@dataclass(frozen=True)
class Access:
    """What one function did.

    Attributes:
        site: ``file:function``, the nearest one outside this package.
        kind: ``"read"``, ``"update"`` (``read_for_update``), ``"write"`` or ``"transfer"``.
        count: how often.
        nbytes: how many bytes altogether.
    """

    site: str
    kind: str
    count: int
    nbytes: int


class Trace:
    """Accesses to storages by call site.

    Printed, it is a table with one line a function and kind of access.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[Site, str], list[int]] = {}
        self._lock = threading.Lock()

    def __call__(self, kind: str, nbytes: int) -> None:
        """Take note of one access; the storage calls this."""
        key = (call_site(3), kind)
        with self._lock:
            entry = self._found.setdefault(key, [0, 0])
            entry[0] += 1
            entry[1] += nbytes

    def accesses(self, kind: str | None = None) -> list[Access]:
        """Return what was found, of one kind or of all, in order of sites."""
        sums: dict[tuple[str, str], list[int]] = {}
        with self._lock:
            for (site, found), (count, nbytes) in self._found.items():
                if kind in (None, found):
                    entry = sums.setdefault((function_of(site), found), [0, 0])
                    entry[0] += count
                    entry[1] += nbytes
        return [Access(*key, *entry) for key, entry in sorted(sums.items())]

    def count(self, kind: str) -> int:
        """Return how many accesses of a kind there were."""
        return sum(access.count for access in self.accesses(kind))

    def nbytes(self, kind: str) -> int:
        """Return how many bytes the accesses of a kind had."""
        return sum(access.nbytes for access in self.accesses(kind))

    def __str__(self) -> str:
        lines = [f"{'site':<50} {'kind':<8} {'count':>7} {'bytes':>11}"]
        lines += [f"{a.site:<50} {a.kind:<8} {a.count:>7} {a.nbytes:>11}" for a in self.accesses()]
        return "\n".join(lines)


@contextmanager
def trace_reads() -> Iterator[Trace]:
    """Count what reads, updates, writes and moves values inside the block, by call site.

    With ``AUTODIFF_TRACE_READS=file`` in the environment a whole process is traced, and the table
    is written to the file at its end.

    Returns:
        A ``Trace``: ``accesses(kind)``, ``count(kind)`` and ``nbytes(kind)`` for the kinds
        ``"read"``, ``"update"``, ``"write"`` and ``"transfer"``. Printed, it is a table.

    >>> from autodiff import Tensor
    >>> x = Tensor([1.0, 2.0], device="emulated")
    >>> with trace_reads() as trace:
    ...     first, second = x.numpy(), x.numpy()
    >>> trace.count("read"), trace.count("transfer"), trace.nbytes("transfer")
    (2, 1, 16)
    """
    trace = Trace()
    observers.append(trace)
    try:
        yield trace
    finally:
        observers.remove(trace)


def trace_process(path: str) -> None:
    """Trace until the process ends, and write the table to a file then."""
    trace = Trace()
    observers.append(trace)
    atexit.register(lambda: Path(path).write_text(f"{trace}\n", encoding="utf-8"))


if "AUTODIFF_TRACE_READS" in os.environ:
    trace_process(os.environ["AUTODIFF_TRACE_READS"])
