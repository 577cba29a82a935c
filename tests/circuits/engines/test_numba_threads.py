"""The team: how many, who is left after a fork, and helpers that come late."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread
from typing import Any

import numpy as np
import pytest
from programs import Case, random_program

from circuits.engines import numba_kernels_drivers as drivers
from circuits.engines import numba_threads as threads
from circuits.engines.base import Wanted
from circuits.engines.numba_cpu import NumbaEngine


@pytest.fixture(autouse=True)
def number() -> Iterator[None]:
    before = list(threads._limit)
    yield
    threads._limit[:] = before


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_bad_numbers_are_refused(count: Any) -> None:
    with pytest.raises(ValueError, match="set_num_threads needs a positive integer, got"):
        threads.set_num_threads(count)


def test_by_default_all_cpus_of_the_process() -> None:
    threads._limit[0] = 0
    assert threads.get_num_threads() == len(os.sched_getaffinity(0))
    threads.set_num_threads(3)
    assert threads.get_num_threads() == 3


@pytest.mark.parametrize("blocks", [2, 100])
def test_threads_share_what_takes_long_enough(blocks: int) -> None:
    """Instructions count, and blocks: 100 blocks of few instructions take as long as 2 of many."""
    threads.set_num_threads(2)
    most = threads.SHARED_WORK - blocks * threads.BLOCK_WORK
    assert [threads.block_team(blocks, most), threads.block_team(blocks, most + 1)] == [1, 2]
    assert threads.block_team(1, 1 << 30) == 1


def test_a_team_runs_the_driver_on_every_thread() -> None:
    meeting = Barrier(3)
    threads.run_team(meeting.wait, (60,), 3)  # one alone would wait in vain
    assert meeting.n_waiting == 0
    assert not meeting.broken


def test_a_helper_that_comes_late_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arguments of a call that is over are free, though its helper is still to come."""
    calls, gate = [], Event()
    pool = ThreadPoolExecutor(1)
    monkeypatch.setattr(threads, "_pool", lambda: pool)
    pool.submit(gate.wait)
    state = np.zeros(3)
    threads.run_team(lambda x: calls.append(x.sum()), (state,), 2)
    gone = weakref.ref(state)
    del state
    assert gone() is None
    gate.set()
    pool.shutdown(wait=True)
    assert calls == [0.0]


def test_without_helpers_the_caller_does_the_work() -> None:
    threads._pool().shutdown(wait=True)
    calls: list[int] = []
    threads.run_team(calls.append, (1,), 3)
    threads._pools.clear()
    assert calls == [1]


@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_a_forked_child_has_helpers_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("circuits.engines.numba_threads.SHARED_WORK", 0)
    threads.set_num_threads(2)
    program = random_program(Case(4, 9, np.complex128))
    engine = NumbaEngine()
    final, _ = engine.forward(program.plan, program.state, program.angles, program.matrices)
    child = os.fork()
    if child == 0:
        again, _ = engine.forward(program.plan, program.state, program.angles, program.matrices)
        os._exit(0 if np.array_equal(final, again) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_a_call_ends_when_the_last_block_is_done(
    direction: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it ended when the last block was claimed, while a helper was still computing it."""
    ended: list[bool] = []

    def with_a_slow_helper(driver: Any, args: tuple[Any, ...], team: int) -> None:
        control = args[-1]
        control[drivers.CLAIMED] = 1  # block 0 is a helper's
        caller = Thread(target=driver, args=args)
        caller.start()
        caller.join(0.2)
        ended.append(not caller.is_alive())
        control[drivers.DONE] += 1
        caller.join()

    monkeypatch.setattr("circuits.engines.numba_cpu.run_team", with_a_slow_helper)
    program = random_program(Case(3, 17, np.complex128))
    operands = (program.angles, program.matrices)
    engine = NumbaEngine()
    if direction == "forward":
        engine.forward(program.plan, program.state, *operands)
    else:
        wanted = Wanted(state=True)
        engine.reverse(program.plan, program.state, *operands, wanted, cotangent=program.state)
    assert ended == [False]


@pytest.mark.parametrize("direction", ["forward", "reverse"])
@pytest.mark.parametrize("batch", [1, 17])
def test_a_helper_without_a_block_writes_nowhere(
    direction: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its room may be that of the next call's helper."""
    seen: list[bool] = []

    def with_a_late_helper(driver: Any, args: tuple[Any, ...], team: int) -> None:
        driver(*args)
        *arrays, work, control = args
        work[...] = 7.0
        control[drivers.JOINED] = 0
        before = [array.copy() for array in (*arrays, work)]
        driver(*args)
        after = zip((*arrays, work), before, strict=True)
        seen.append(all(a.tobytes() == b.tobytes() for a, b in after))

    monkeypatch.setattr("circuits.engines.numba_cpu.run_team", with_a_late_helper)
    program = random_program(Case(3, batch, np.complex128))
    operands = (program.angles, program.matrices)
    if direction == "forward":
        NumbaEngine().forward(program.plan, program.state, *operands)
    else:
        wanted = Wanted(state=True)
        NumbaEngine().reverse(
            program.plan, program.state, *operands, wanted, cotangent=program.state
        )
    assert seen == [True]
