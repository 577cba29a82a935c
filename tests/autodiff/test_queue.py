"""The queue: its results are those of eager mode, its failures have names, its plans are kept."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from runtimes import broken, emulated, parameter

import autodiff as ad
from autodiff import (
    Parameter,
    QueuedOpError,
    StorageBusy,
    Tensor,
    custom_op,
    grad,
    graph_mode,
    local_graph_mode,
    reset_stats,
    stats,
)
from autodiff.node import State
from autodiff.queue import prepared, queue_of
from autodiff.sites import line_of


@pytest.fixture(autouse=True)
def on() -> Iterator[None]:
    with local_graph_mode(True):
        yield


def executions() -> int:
    return sum(emulated().executions.values())


# -- results are those of eager mode ---------------------------------------------------------------


def model(w: Tensor, x: Tensor) -> Tensor:
    h = (x @ w).tanh()
    parts = [h[:, 0], h[:, 1:].sum(axis=1), h.T.reshape((-1,))[:4]]
    joined = ad.concatenate([p.exp() for p in parts])
    return joined.logsumexp() * h.mean() + ad.einsum("ij,kj->", h, h[::2])


def results(on: bool) -> list[Any]:
    rng = np.random.default_rng(0)
    w = Parameter(Tensor(rng.normal(size=(3, 3)), device="emulated"))
    x = Tensor(rng.normal(size=(4, 3)), device="emulated")
    with local_graph_mode(on):
        loss = model(w, x)
        (g,) = grad(loss, [w], create_graph=True)
        (g * g).sum().backward()
        return [loss.item(), g.tolist(), w.grad.tolist()]


def test_results_equal_eager_ones_to_the_last_bit() -> None:
    assert results(False) == results(True)


def test_second_order_is_one_launch_too() -> None:
    reset_stats()
    results(True)
    assert stats("emulated").launches == 1


def test_views_share_their_storage_as_in_eager_mode() -> None:
    p = parameter([1.0, 2.0, 3.0])
    y = p * 2
    v, w = y[1:], p[1:]
    q = v * w
    assert q.tolist() == [8.0, 18.0]
    assert v._cell.storage is y._cell.storage
    assert w._cell.storage is p._cell.storage
    assert (v.offset, w.strides) == (1, (1,))
    y.set_([0.0, 0.0, 7.0])
    assert v.tolist() == [0.0, 7.0]


def test_view_of_a_value_that_was_written_before_can_be_differentiated() -> None:
    p = parameter([1.0, 2.0, 3.0])
    p.set_([2.0, 3.0, 4.0])
    y = (p[1:] ** 2).sum()
    v = p[1:]
    z = (v * v).sum()
    v.tolist()
    (y + z).backward()
    assert p.grad.tolist() == [0.0, 12.0, 16.0]


def test_version_error_is_that_of_eager_mode() -> None:
    p = parameter()
    y = (p * p).sum()
    p.set_([5.0, 5.0])
    with pytest.raises(ad.VersionError, match="multiply"):
        y.backward()


def test_gradients_share_no_memory() -> None:
    p, q = parameter(), parameter()
    g1, g2 = grad((p + q).sum(), [p, q])
    assert g1._cell is not g2._cell
    g1.set_([7.0, 7.0])
    assert g2.tolist() == [1.0, 1.0]
    seed = Tensor([1.0, 1.0], device="emulated") * 1
    (p + q).backward(seed)
    seed.set_([9.0, 9.0])
    assert (p.grad.tolist(), q.grad.tolist()) == ([1.0, 1.0], [1.0, 1.0])


def test_gradients_accumulate_while_pending() -> None:
    p = parameter()
    for _ in range(3):
        (p * p).sum().backward()
    assert executions() == 0
    assert p.grad.tolist() == [6.0, 12.0]


def test_value_that_nobody_holds_is_not_kept() -> None:
    x = Tensor([1.0, 2.0], device="emulated")
    y = x.exp().exp() * 1
    before = emulated().live_buffers
    y.tolist()
    assert emulated().live_buffers == before + 1


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


def test_failure_before_a_write_leaves_the_value() -> None:
    p = parameter()
    broken(p)
    with pytest.raises(QueuedOpError):
        p.set_([5.0, 5.0])
    assert p.tolist() == [1.0, 2.0]
    p.set_([5.0, 5.0])
    assert p.tolist() == [5.0, 5.0]


def test_shape_rule_that_says_something_else_is_an_error() -> None:
    liar = custom_op("liar", lambda xp, x: x[:1], None, meta=lambda x: (x,))
    with pytest.raises(QueuedOpError, match=r"shape rule of liar .* shape \(2,\).*\(1,\)"):
        liar(parameter()).numpy()
    pair = custom_op("pair", lambda xp, x: (x, x), None, meta=lambda x: (x,))
    with pytest.raises(QueuedOpError, match="1 outputs for 2"):
        pair(parameter()).numpy()


def test_interrupt_leaves_no_value_pending() -> None:
    def interrupt(xp: Any, x: Any) -> Any:
        raise KeyboardInterrupt

    stop = custom_op("stop", interrupt, None, meta=lambda x: (x,))
    y = stop(parameter()) + 1
    with pytest.raises(KeyboardInterrupt):
        y.numpy()
    with pytest.raises(QueuedOpError, match="an interrupt"):
        y.numpy()


def test_queues_of_all_devices_run_though_one_fails() -> None:
    a = broken(parameter())
    b = Tensor([1.0], device="emulated:1") * 2
    with pytest.raises(QueuedOpError):
        graph_mode(False)
    assert b._cell.state is State.CONCRETE
    assert not graph_mode()
    with pytest.raises(QueuedOpError):
        a.numpy()


def test_open_storage_is_busy_and_the_queue_stays_usable() -> None:
    p, q = parameter(), parameter()
    with q.storage_mut(), pytest.raises(StorageBusy):
        p * q
    p.set_([3.0, 4.0])
    assert (p * q).tolist() == [3.0, 8.0]


# -- prepared executions ---------------------------------------------------------------------------


def step(p: Parameter, scale: float) -> float:
    p.zero_grad()
    loss = (p * scale).tanh()[0] + p.sum(axis=0)
    loss.backward()
    p.grad.numpy()
    return loss.item()


def test_repeated_steps_need_no_planning() -> None:
    prepared.clear()
    p = parameter()
    step(p, 0.5)
    hits, misses = prepared.hits, prepared.misses
    for k in range(5):
        step(p, 0.1 * k)
    assert (prepared.hits - hits, prepared.misses - misses) == (5, 0)


def test_other_attributes_or_shapes_are_planned_anew() -> None:
    prepared.clear()
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


# -- threads ---------------------------------------------------------------------------------------


def test_threads_that_queue_and_write_at_once_see_whole_values() -> None:
    """Each of three threads squares a shared Parameter while each also sets it."""
    p = parameter([1.0, 1.0])
    wrong: list[Any] = []
    start = threading.Barrier(3)

    def work(seed: int) -> None:
        start.wait()
        with local_graph_mode(True):
            for k in range(60):
                y = p * p
                p.set_([seed + k, seed + k])
                first, second = y.tolist()
                if first != second or first**0.5 != round(first**0.5):
                    wrong.append((first, second))

    threads = [threading.Thread(target=work, args=(10.0 * seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []


def test_two_threads_that_need_each_others_pending_values_do_not_block() -> None:
    p = parameter()
    shared: list[Tensor] = [p * 1, p * 1]
    start = threading.Barrier(2)
    found: list[Any] = []

    def work(own: int) -> None:
        with local_graph_mode(True):
            for _ in range(40):
                shared[own] = shared[1 - own] * 1 + p
                found.append(shared[1 - own].sum().item())

    def run(own: int) -> None:
        start.wait()
        work(own)

    threads = [threading.Thread(target=run, args=(own,)) for own in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(found) == 80
