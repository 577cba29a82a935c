"""The queue: results are those of eager mode, failures leave it usable, threads share values."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from op_checks import cases
from runtimes import ROWS, bits, broken, emulated, parameter, results_of_row

import autodiff as ad
from autodiff import (
    Parameter,
    QueuedOpError,
    StorageBusy,
    Tensor,
    grad,
    graph_mode,
    local_graph_mode,
    reset_stats,
    stats,
)
from autodiff.node import State
from autodiff.table import OPS


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


def placed(array: Any) -> Tensor:
    return Tensor(array, device="emulated")


@pytest.mark.parametrize("name", ROWS)
def test_every_row_gives_the_bits_of_eager_mode(name: str) -> None:
    op = OPS[name]
    for sample in cases(op):
        found = []
        for on in (False, True):
            moving = [placed(sample.args[k]) for k in sample.moving]
            with local_graph_mode(on):
                found.append(bits(results_of_row(op, sample, placed)(*moving)))
        assert found[0] == found[1]


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


def test_failure_before_a_write_leaves_the_value() -> None:
    p = parameter()
    broken(p)
    with pytest.raises(QueuedOpError):
        p.set_([5.0, 5.0])
    assert p.tolist() == [1.0, 2.0]
    p.set_([5.0, 5.0])
    assert p.tolist() == [5.0, 5.0]


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
