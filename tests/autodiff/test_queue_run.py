"""A run of the queue: a prepared program of the runtime, whose failures have names."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from runtimes import broken, emulated, managed, parameter

from autodiff import (
    Parameter,
    QueuedOpError,
    Tensor,
    custom_op,
    local_graph_mode,
    queue_run,
    trace_reads,
)
from autodiff.queue import queue_of
from autodiff.queue_run import prepared
from autodiff.runtime.errors import OutputResidencyMismatch
from autodiff.runtime.prepared import Prepared
from autodiff.sites import line_of
from autodiff.storage import Storage


@pytest.fixture(autouse=True)
def on() -> Iterator[None]:
    prepared.clear()
    with local_graph_mode(True):
        yield


# -- prepared executions ---------------------------------------------------------------------------


def planned() -> Prepared:
    """What the runtime prepared for the queue's only run."""
    (execution,) = prepared._known.values()
    return execution


def test_runtime_prepares_and_runs_the_queue() -> None:
    x = Tensor([1.0, 2.0], device="emulated")
    y = (x * 2.0).exp()
    z = y + x
    z.numpy()
    schedule = planned().schedule
    (launch,) = schedule.launches
    assert schedule.transfers == schedule.placed == ()
    assert [op.line.op.name for op in launch.ops] == ["multiply", "exp", "add"]
    # The slots are x and the number, which travels; y and z are wanted, the product is not.
    assert (schedule.listing.slots, schedule.listing.numbers) == (range(2), {1})
    assert schedule.listing.outputs == (3, 4)
    assert [op.drops for op in launch.ops] == [(1,), (2,), (0,)]
    assert str(schedule.homes[0]) == "emulated (device)"


def test_result_that_nobody_wants_is_no_output() -> None:
    wanted = [parameter() * 2, parameter() * 3]
    del wanted[0]
    wanted[0].numpy()
    assert planned().schedule.listing.outputs == (5,)


def test_another_set_of_wanted_results_is_planned_anew() -> None:
    p = Tensor([1.0, 2.0], device="emulated")
    misses = prepared.misses
    for keep in (True, False):
        y = p * 2
        z = y + 1
        if not keep:
            del y
        assert z.tolist() == [3.0, 5.0]
    assert prepared.misses - misses == 2


@pytest.mark.parametrize("function", [lambda x: x[1:] * 2, lambda x: x.T + 1, lambda x: x[::-1]])
def test_managed_memory_is_taken_in_as_in_eager_mode(function: Callable[[Tensor], Tensor]) -> None:
    x = managed([[1.0, 2.0], [3.0, 4.0]])
    with local_graph_mode(False):
        expected = function(x).tolist()
    assert function(x).tolist() == expected
    (y,) = [x * 1]
    assert y.tolist() == x.tolist()


def test_leaf_is_read_once_however_many_ops_read_it() -> None:
    x = Tensor([1.0, 2.0], device="emulated")
    with trace_reads() as trace:
        y = x * x + x.exp() * x
        queue_of("emulated").run()
        assert trace.count("read") == 1
    del y


def step(p: Parameter, scale: float) -> float:
    p.zero_grad()
    loss = (p * scale).tanh()[0] + p.sum(axis=0)
    loss.backward()
    p.grad.numpy()
    return loss.item()


def test_repeated_steps_need_no_planning() -> None:
    p = parameter()
    step(p, 0.5)
    hits, misses = prepared.hits, prepared.misses
    for k in range(5):
        step(p, 0.1 * k)
    assert (prepared.hits - hits, prepared.misses - misses) == (5, 0)


def test_other_attributes_or_shapes_are_planned_anew() -> None:
    p = parameter()
    misses = prepared.misses
    for make in (
        lambda: p[0] * 1,
        lambda: p[1] * 1,
        lambda: p[0:1] * 1,
        lambda: parameter([1.0, 2.0, 3.0])[0] * 1,
    ):
        make().numpy()
    assert prepared.misses - misses == 4
    assert [p[k].item() for k in (0, 1)] == [1.0, 2.0]


# -- failures --------------------------------------------------------------------------------------


def test_failure_names_the_ops_and_the_lines_that_queued_them() -> None:
    p = parameter()
    a = p * 2
    b = broken(a)
    with pytest.raises(QueuedOpError) as error:
        a.numpy()
    text = str(error.value)
    assert "ZeroDivisionError (division by zero) from broken" in text
    first = line_of(a._cell.storage.origin.site).rpartition(":")
    assert first[0] == __file__
    assert f"{__file__}:{first[2]}: multiply" in text
    assert f"{__file__}:{int(first[2]) + 1}: broken" in text
    assert isinstance(error.value.__cause__, ZeroDivisionError)
    del b


def test_queue_is_empty_afterwards_and_dependents_raise_the_same_error() -> None:
    p = parameter()
    a = p * 2
    b = broken(a) + 1
    c = a + 1
    errors = []
    for use in (c.numpy, b.numpy, b.numpy, lambda: b * 2, b.sum):
        with pytest.raises(QueuedOpError) as error:
            use()
        errors.append(error.value)
        assert queue_of("emulated").entries == []
    assert len(set(map(id, errors))) == 1
    assert (a.tolist(), c.tolist()) == ([2.0, 4.0], [3.0, 5.0])
    assert (p + 1).tolist() == [2.0, 3.0]


def test_failed_launch_fails_everything_that_was_queued() -> None:
    a = parameter() * 2
    b = a + 1
    emulated().fail("launch")
    with pytest.raises(QueuedOpError, match=r"EmulatedFailure .* from their launch"):
        b.numpy()
    with pytest.raises(QueuedOpError, match="EmulatedFailure"):
        a.numpy()
    assert (parameter() * 2).tolist() == [2.0, 4.0]


def test_failed_upload_of_an_operand_fails_its_op_only() -> None:
    p, q = parameter(), parameter()
    q._cell.storage.write(np.array([3.0, 4.0]), "cpu")
    a, b = p * 2, q * 2
    emulated().fail("upload")
    with pytest.raises(QueuedOpError, match=r"EmulatedFailure .* from multiply"):
        b.numpy()
    assert a.tolist() == [2.0, 4.0]


def test_all_ops_that_need_an_operand_that_cannot_be_had_fail() -> None:
    q = parameter()
    q._cell.storage.write(np.array([3.0, 4.0]), "cpu")
    a, b = q * 2, q + 1
    emulated().fail("upload")
    errors = []
    for value in (a, b, a):
        with pytest.raises(QueuedOpError, match=r"EmulatedFailure .* from multiply") as error:
            value.numpy()
        errors.append(error.value)
    assert errors[0] is errors[1] is errors[2]
    assert (q * 2).tolist() == [6.0, 8.0]


def test_backend_that_gives_a_foreign_buffer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    y = parameter() * 2
    monkeypatch.setattr(emulated(), "launch", lambda *args: np.ones(2))
    with pytest.raises(QueuedOpError, match=r"results in its own memory, got array") as error:
        y.numpy()
    assert isinstance(error.value.__cause__, OutputResidencyMismatch)


def test_view_that_finds_no_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(buffer: Any) -> Any:
        raise MemoryError("full")

    x = Tensor(np.arange(6.0).reshape(2, 3), device="emulated")
    y, z = x.T.reshape((2, 3)), x[0]  # NumPy copies for the first; the second is a view
    with monkeypatch.context() as patch:
        patch.setattr(emulated(), "own", full)
        with pytest.raises(QueuedOpError, match=r"MemoryError \(full\) from reshape"):
            y.numpy()
    assert z.tolist() == [0.0, 1.0, 2.0]


def test_error_that_is_kept_holds_no_value_but_the_operand() -> None:
    gc.collect()
    x = Tensor([1.0, 2.0], device="emulated")
    a = x * 2
    b = broken(a)
    c = a.exp()
    before = emulated().live_buffers
    with pytest.raises(QueuedOpError) as error:
        queue_of("emulated").run()
    assert emulated().live_buffers == before + 2
    del a, c
    assert emulated().live_buffers == before + 1
    assert error.value.__cause__.__traceback__ is not None
    del b


def test_shape_rule_that_says_something_else_is_an_error() -> None:
    liar = custom_op("liar", lambda xp, x: x[:1], None, meta=lambda x: (x,))
    message = r"\(liar\) .* needs a result of shape \(2,\).* got shape \(1,\).* the meta of the op"
    with pytest.raises(QueuedOpError, match=message):
        liar(parameter()).numpy()
    pair = custom_op("pair", lambda xp, x: (x, x), None, meta=lambda x: (x,))
    with pytest.raises(QueuedOpError, match="needs 1 results, got 2"):
        pair(parameter()).numpy()


def interrupt(*args: Any) -> Any:
    raise KeyboardInterrupt


def test_interrupt_leaves_no_value_pending_and_keeps_what_was_done() -> None:
    stop = custom_op("stop", interrupt, None, meta=lambda x: (x,))
    a = parameter() * 2
    b = stop(a)
    y = b + 1
    with pytest.raises(KeyboardInterrupt):
        y.numpy()
    assert a.tolist() == [2.0, 4.0]
    for value in (b, y):
        with pytest.raises(QueuedOpError, match="got an interrupt from stop"):
            value.numpy()


@pytest.mark.parametrize(("owner", "name"), [(Storage, "read"), (queue_run, "prepare_at")])
def test_interrupt_before_the_launch_leaves_no_value_pending(owner: Any, name: str) -> None:
    y = parameter() * 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            y.numpy()
    with pytest.raises(QueuedOpError, match="got an interrupt from multiply"):
        y.numpy()


def test_failure_to_prepare_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> Any:
        raise MemoryError("no")

    y = parameter() * 2
    monkeypatch.setattr(queue_run, "prepare_at", refuse)
    with pytest.raises(QueuedOpError, match=r"MemoryError \(no\) from their launch"):
        y.numpy()
