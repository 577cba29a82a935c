"""A process that holds one library with one case: their threads and memory do not mix."""

from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.cases import FAMILIES, Case, RealArray
from benchmarks.libraries import LIBRARIES
from benchmarks.timing import Timing, timed

SMALLEST = 2


class WorkerFailed(Exception):
    """A library failed on a case, or took longer than it may."""


@dataclass(frozen=True)
class First:
    """What the first calls took, in seconds, and what the case gave.

    Attributes:
        start: importing the library, and its first call, of a circuit on two qubits.
        build: building this circuit.
        call: the first call of this circuit.
        value: the loss, float64.
        gradient: ``(P,)``.
    """

    start: float
    build: float
    call: float
    value: float
    gradient: RealArray


class Worker:
    """The parent's end of such a process."""

    def __init__(self, connection: Connection, limit: float) -> None:
        self._connection = connection
        self._limit = limit

    def _receive(self) -> object:
        if not self._connection.poll(self._limit):
            raise WorkerFailed(f"took more than {self._limit:g} s")
        try:
            return self._connection.recv()
        except EOFError:
            raise WorkerFailed("ended; its message stands above") from None

    def first(self) -> First:
        """Return what the first calls took and gave."""
        answer = self._receive()
        assert isinstance(answer, First)
        return answer

    def time(self, seconds: float) -> Timing:
        """Time warm calls for about ``seconds``."""
        self._connection.send(seconds)
        answer = self._receive()
        assert isinstance(answer, Timing)
        return answer

    def peak(self) -> int:
        """Return by how many bytes the resident memory grew at most, and end the process."""
        self._connection.send(None)
        answer = self._receive()
        assert isinstance(answer, int)
        return answer


@contextmanager
def worker(library: str, case: Case, limit: float, cores: int | None = None) -> Iterator[Worker]:
    """Run a process for a library with a case.

    Args:
        library: its name.
        case: what it computes.
        limit: seconds that an answer may take.
        cores: bind the process to that many cores; None for all.
    """
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, library, case, cores), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Worker(ours, limit)
    finally:
        process.kill()
        process.join()
        ours.close()


def serve(connection: Connection, name: str, case: Case, cores: int | None) -> None:
    """Answer the parent: first calls, then timings until it sends None."""
    # Before the library starts its threads, as many as there are cores.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    library = LIBRARIES[name]
    begin = time.perf_counter()
    small = replace(FAMILIES[case.family][0](SMALLEST), single=case.single)
    library.build(small)(small.parameters(0))
    started = time.perf_counter()
    resident = reset_peak()
    begin_build = time.perf_counter()
    evaluation = library.build(case)
    built = time.perf_counter()
    _, gradient = evaluation(case.parameters(0))
    called = time.perf_counter()
    value = float(evaluation.value(case.parameters(0)))
    times = (started - begin, built - begin_build, called - built)
    connection.send(First(*times, value, np.asarray(gradient)))
    # No library may live on having seen the same values before.
    draws = itertools.cycle([case.parameters(1), case.parameters(2)])
    while (seconds := connection.recv()) is not None:
        connection.send(timed(lambda: evaluation(next(draws)), seconds))
    connection.send(status_bytes("VmHWM") - resident)


def reset_peak() -> int:
    """Make Linux forget the highest resident memory; return the present one in bytes."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return status_bytes("VmRSS")


def status_bytes(field: str) -> int:
    """Return a field of this process's status, in bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    assert found is not None, field
    return int(found[1]) * 1024
