"""Submitted runs. Workers are held back by an injected spawner: nothing here sleeps."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtimes import (
    COS_ON_1,
    DEVICES,
    EXPECTED,
    SPLIT,
    VALUES,
    Faulty,
    Gate,
    Provider,
    chain,
    claimed,
    emulated,
)

from autodiff import Tensor
from autodiff.runtime.errors import (
    MissingTransferProvider,
    NoIngress,
    ResidencyMismatch,
    ResultTimeout,
    TransferFailed,
    WorkerFailed,
    WorkerNotStarted,
    WorkerPanicked,
)
from autodiff.runtime.runtime import Runtime
from autodiff.runtime.submit import Handle, spawn_thread, start


def inputs() -> list[Tensor]:
    return [Tensor(VALUES, device="emulated")]


def runtime(spawn: Callable[[Callable[[], None]], object], **options: Any) -> Runtime:
    return Runtime(["emulated", "emulated:1"], spawn=spawn, **options)


def test_submitted_run_gives_its_outputs() -> None:
    handle = runtime(spawn_thread).submit(SPLIT, inputs(), COS_ON_1)
    (out,) = handle.result(timeout=60)
    assert handle.done()
    assert np.array_equal(out.numpy(), EXPECTED)
    assert handle.result()[0] is out


def test_worker_may_start_late() -> None:
    kept: list[Callable[[], None]] = []
    handle = runtime(kept.append).submit(SPLIT, inputs(), COS_ON_1)
    assert not handle.done()
    with pytest.raises(ResultTimeout, match="more than 0 s"):
        handle.result(timeout=0)
    kept[0]()
    assert handle.done()
    assert np.array_equal(handle.result()[0].numpy(), EXPECTED)


def test_invalid_work_is_refused_in_the_caller() -> None:
    spawned: list[Callable[[], None]] = []
    made = runtime(spawned.append, providers=[])
    with pytest.raises(MissingTransferProvider):
        made.submit(SPLIT, inputs(), COS_ON_1)
    with pytest.raises(NoIngress):
        made.submit(SPLIT, [Tensor(VALUES, device="emulated:2")])
    made.prepare(SPLIT, inputs())
    with pytest.raises(ResidencyMismatch):
        made.submit(SPLIT, [claimed(VALUES.copy(), "emulated")])
    assert spawned == []


def test_later_configuration_does_not_reach_an_admitted_run() -> None:
    gate = Gate()
    made = runtime(gate, providers=[Provider()])
    handle = made.submit(SPLIT, inputs(), COS_ON_1)
    made.remove_provider("device", "device")
    made.remove_executor("emulated:1")
    made.register_executor(Faulty("emulated:1", "cos", lambda found: ()))
    made.register_provider(Provider(fault=lambda result, request: request.value))
    gate.open()
    assert np.array_equal(handle.result(timeout=60)[0].numpy(), EXPECTED)


def test_later_write_does_not_reach_an_admitted_run() -> None:
    gate, given = Gate(), inputs()
    handle = runtime(gate).submit(SPLIT, given, COS_ON_1)
    given[0].set_(np.zeros(3))
    gate.open()
    assert np.array_equal(handle.result(timeout=60)[0].numpy(), EXPECTED)


def test_dropped_handle_neither_waits_nor_cancels() -> None:
    gc.collect()
    gate = Gate()
    made = runtime(gate)
    before = [emulated(device).live_buffers for device in DEVICES]
    made.submit(SPLIT, inputs(), COS_ON_1)
    gc.collect()
    assert emulated("emulated:1").executions == {}
    gate.open()
    assert emulated("emulated:1").executions == {"cos": 1}
    gate.workers.clear()
    gc.collect()
    assert [emulated(device).live_buffers for device in DEVICES] == before


def test_workers_run_at_the_same_time() -> None:
    gate = Gate()
    made = runtime(gate)
    handles = [made.submit(SPLIT, inputs(), COS_ON_1) for _ in range(4)]
    assert not any(handle.done() for handle in handles)
    gate.open()
    assert all(np.array_equal(h.result(timeout=60)[0].numpy(), EXPECTED) for h in handles)


def test_error_of_the_run_is_the_cause() -> None:
    gate = Gate()
    handle = runtime(gate).submit(SPLIT, inputs(), COS_ON_1)
    emulated("emulated:1").fail("upload")
    gate.open()
    assert handle.done()
    for _ in range(2):
        with pytest.raises(WorkerFailed, match="got TransferFailed") as caught:
            handle.result()
        assert isinstance(caught.value.__cause__, TransferFailed)


@pytest.mark.parametrize("kind", [KeyError, SystemExit, KeyboardInterrupt])
def test_panic_of_the_worker_is_typed(kind: type[BaseException]) -> None:
    def panic() -> tuple[Tensor, ...]:
        raise kind("panic")

    gate = Gate()
    handle = start(panic, gate)
    gate.open()
    with pytest.raises(WorkerPanicked, match=f"got {kind.__name__}") as caught:
        handle.result(timeout=60)
    assert isinstance(caught.value.__cause__, kind)


def test_panic_in_an_executor_ends_the_wait_for_the_result() -> None:
    def leave(made: Any) -> Any:
        raise SystemExit(3)

    executors = ["emulated", Faulty("emulated:1", "cos", leave)]
    handle = Runtime(executors).submit(SPLIT, inputs(), COS_ON_1)
    with pytest.raises(WorkerPanicked):
        handle.result(timeout=60)


def test_worker_that_cannot_start_is_typed() -> None:
    def refuse(target: Callable[[], None]) -> None:
        raise RuntimeError("can't start new thread")

    with pytest.raises(WorkerNotStarted, match="needs a worker, got RuntimeError") as caught:
        runtime(refuse).submit(chain("sin"), inputs())
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_handle_shows_only_what_it_promises() -> None:
    assert {name for name in vars(Handle) if not name.startswith("_")} == {"done", "result"}
