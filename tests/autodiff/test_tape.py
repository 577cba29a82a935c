"""grad_tape: where a pass begins; what it keeps stands in test_contract.py."""

from __future__ import annotations

import pytest
from runtimes import emulated, parameter

from autodiff import StaleHandleError, Tensor, grad_tape, local_graph_mode
from autodiff.pool import pool_of


def test_tape_begins_a_pass_on_entry_not_on_exit() -> None:
    with grad_tape():
        y = parameter() * 2
    assert y.tolist() == [2.0, 4.0]
    with grad_tape(), pytest.raises(StaleHandleError, match="Build it inside the grad_tape"):
        y.numpy()


def test_value_is_gone_though_the_host_had_read_it() -> None:
    y = parameter() * 2
    y.numpy()
    with grad_tape(), pytest.raises(StaleHandleError):
        y.numpy()


def test_nothing_is_reset_without_a_tape() -> None:
    y = parameter() * 2
    generation = pool_of("emulated").generation
    (y * y).sum()
    assert (y.tolist(), pool_of("emulated").generation) == ([2.0, 4.0], generation)


def test_tape_inside_a_tape_belongs_to_the_outer_pass() -> None:
    with grad_tape():
        y = parameter() * 2
        with grad_tape():
            z = y + 1
        assert (y.tolist(), z.tolist()) == ([2.0, 4.0], [3.0, 5.0])


def test_cpu_keeps_everything() -> None:
    y = Tensor([1.0]) * 2
    moved = (parameter() * 2).to("cpu")
    with grad_tape():
        assert (y.tolist(), moved.tolist()) == ([2.0], [2.0, 4.0])


def test_gradients_of_the_pass_before_are_gone() -> None:
    p = parameter()
    (p * p).sum().backward()
    with grad_tape():
        with pytest.raises(StaleHandleError, match=r"result of (multiply|add)"):
            p.grad.numpy()
        p.zero_grad()
        (p * p).sum().backward()
        assert p.grad.tolist() == [2.0, 4.0]


def test_graph_of_the_pass_before_cannot_be_differentiated() -> None:
    p = parameter()
    loss = (p.exp() ** 2).sum()
    with grad_tape(), pytest.raises(StaleHandleError, match="result of sum"):
        loss.backward()


def test_queue_runs_before_the_pass_begins() -> None:
    with local_graph_mode(True):
        y = parameter() * 2
        with grad_tape():
            assert emulated().executions["multiply"] == 1
            with pytest.raises(StaleHandleError):
                y.numpy()


def test_tape_is_left_on_an_error() -> None:
    with pytest.raises(KeyError), grad_tape():
        raise KeyError
    y = parameter() * 2
    with grad_tape(), pytest.raises(StaleHandleError):
        y.numpy()


@grad_tape()
def one_pass() -> list[float]:
    return (parameter() * 2).tolist()


def test_tape_decorates() -> None:
    assert one_pass() == one_pass() == [2.0, 4.0]
