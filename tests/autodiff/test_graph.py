"""graph_mode: what waits, what makes it run, what it gives, and what happens when it fails."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from runtimes import broken, emulated, parameter

import autodiff as ad
from autodiff import (
    AutodiffError,
    Parameter,
    QueuedOpError,
    ShapeError,
    Tensor,
    custom_op,
    grad,
    graph_mode,
    local_graph_mode,
    no_grad,
    stats,
)
from autodiff.node import State
from autodiff.queue import queue_of


@pytest.fixture(autouse=True)
def on() -> Iterator[None]:
    with local_graph_mode(True):
        yield


def executions() -> int:
    return sum(emulated().executions.values())


# -- the setting -----------------------------------------------------------------------------------


def test_graph_mode_returns_the_setting_before() -> None:
    assert graph_mode() is True
    assert graph_mode(False) is True
    assert (graph_mode(), graph_mode(True), graph_mode()) == (False, False, True)


def test_setting_belongs_to_the_thread() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(graph_mode()))
    thread.start()
    thread.join()
    assert found == [False]


def test_local_graph_mode_restores_on_every_exit() -> None:
    with local_graph_mode(False):
        assert not graph_mode()
        with local_graph_mode():
            graph_mode(True, check=True)
        assert not graph_mode()
        with pytest.raises(KeyError), local_graph_mode(True):
            raise KeyError
        assert not graph_mode()
    assert graph_mode()
    x = parameter() + 1
    assert x._cell.state is State.PENDING


@local_graph_mode(False)
def decorated() -> Tensor:
    return parameter() + 1


def test_local_graph_mode_decorates() -> None:
    assert decorated()._cell.state is State.CONCRETE
    assert graph_mode()


@local_graph_mode(True)
def leave_broken() -> None:
    broken(parameter())
    raise KeyError


def test_error_of_the_block_is_seen_and_that_of_the_queue_noted() -> None:
    with local_graph_mode(False):
        with pytest.raises(KeyError) as error:
            leave_broken()
        assert "ZeroDivisionError" in error.value.__notes__[0]
        with pytest.raises(QueuedOpError), local_graph_mode(True):
            broken(parameter())
        assert not graph_mode()


def test_cpu_is_not_affected() -> None:
    x = Tensor([1.0]) + 1
    assert x._cell.state is State.CONCRETE


# -- what waits ------------------------------------------------------------------------------------


def test_op_waits_and_knows_its_shape() -> None:
    x = parameter() * 2
    assert (x._cell.state, x.shape, x.dtype, x.device) == (
        State.PENDING,
        (2,),
        np.float64,
        "emulated",
    )
    assert x.residency == ()
    assert (executions(), stats("emulated").launches) == (0, 0)
    assert x.tolist() == [2.0, 4.0]
    assert (x._cell.state, x.residency) == (State.CONCRETE, ("emulated", "cpu"))
    assert stats("emulated").launches == 1


def test_wrong_shapes_are_refused_at_the_call() -> None:
    with pytest.raises(ShapeError, match="broadcast"):
        parameter() + parameter([1.0, 2.0, 3.0])
    assert queue_of("emulated").entries == []


def test_backward_waits_with_the_forward() -> None:
    p = parameter()
    loss = (p * p).tanh().sum()
    loss.backward()
    assert p.grad._cell.state is State.PENDING
    assert (executions(), stats("emulated").launches) == (0, 0)
    p.grad.numpy(), loss.item()
    assert stats("emulated").launches == 1


def test_saved_outputs_wait_as_well() -> None:
    p = parameter([[2.0, 1.0], [1.0, 3.0]])
    values, _ = ad.eigh(p)
    g = grad(values.sum(), p)
    assert executions() == 0
    np.testing.assert_allclose(g.numpy(), np.eye(2), atol=1e-12)


def test_clone_and_detached_handle_of_a_pending_value_share_it() -> None:
    y = parameter() * 2
    d, c = y.detach(), y.clone()
    assert (d.tolist(), c.tolist(), y.tolist()) == ([2.0, 4.0],) * 3
    assert executions() == 1


# -- what makes the queue run ----------------------------------------------------------------------

READS: dict[str, Callable[[Tensor], Any]] = {
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "print": str,
    "repr": repr,
    "format": lambda x: f"{x.sum():.3f}",
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "complex": lambda x: complex(x.sum()),
    "contains": lambda x: 2.0 in x,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.dumps(x.detach()),
    "dlpack": lambda x: x.__dlpack__(),
    "other device": lambda x: x.to("emulated:1"),
    "comparison": lambda x: bool(x.sum() < 4),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(),
    "to": lambda x: x.to("cpu"),
    "iteration": lambda x: [float(v) for v in x],
    "mask": lambda x: Tensor([5.0, 6.0], device="emulated")[x > 2],
    "deep_clone": lambda x: x.deep_clone(),
    "strides": lambda x: x.strides,
    "Parameter": lambda x: Parameter(x.detach()),
    "off": lambda x: graph_mode(False),
    "check": lambda x: graph_mode(check=True),
    "tape": lambda x: tape(),
    "set_": lambda x: x.set_([0.0, 0.0]),
    "storage_mut": lambda x: mutate(x),
}


@pytest.mark.parametrize("read", READS)
def test_queue_runs_when_a_value_is_read(read: str) -> None:
    x = parameter() * 2
    assert (executions(), x._cell.state) == (0, State.PENDING)
    READS[read](x)
    assert x._cell.state is State.CONCRETE
    assert emulated().executions["multiply"] == 1
    graph_mode(check=False)


def test_op_without_a_resident_path_runs_the_queue() -> None:
    here = custom_op("here", lambda xp, x: x + 1, None)
    x = parameter() * 2
    y = here(x)
    assert (x._cell.state, y._cell.state) == (State.CONCRETE, State.CONCRETE)
    assert stats("emulated").launches == 2
    assert y.tolist() == [3.0, 5.0]


WRITES: dict[str, Callable[[Parameter], Any]] = {
    "set_": lambda p: p.set_([9.0, 9.0]),
    "storage_mut": lambda p: mutate(p),
    "subtract": lambda p: decrease(p),
    "storage": lambda p: p._cell.storage.write(np.array([9.0, 9.0]), "cpu"),
    "through a view": lambda p: p[:1].set_([9.0]),
}


def tape() -> None:
    with ad.grad_tape():
        pass


def mutate(p: Tensor) -> None:
    with p.storage_mut() as a:
        a[...] = 9.0


@no_grad()
def decrease(p: Parameter) -> None:
    p -= Tensor([1.0, 1.0], device="emulated")


@pytest.mark.parametrize("write", WRITES)
def test_queue_runs_before_a_value_that_it_needs_is_written(write: str) -> None:
    p = parameter()
    y = p * p
    WRITES[write](p)
    assert y._cell.state is State.CONCRETE
    assert y.tolist() == [1.0, 4.0]
    assert p.tolist() != [1.0, 2.0]


@pytest.mark.parametrize("write", WRITES)
def test_queue_runs_before_another_thread_writes(write: str) -> None:
    p = parameter()
    y = p * p
    thread = threading.Thread(target=lambda: WRITES[write](p))
    thread.start()
    thread.join()
    assert y._cell.state is State.CONCRETE
    assert y.tolist() == [1.0, 4.0]


def test_write_to_something_else_lets_the_queue_wait() -> None:
    p, q = parameter(), parameter()
    y = p * p
    q.set_([5.0, 5.0])
    assert y._cell.state is State.PENDING
    p.numpy()
    assert y._cell.state is State.PENDING


def test_pending_value_of_another_thread_is_read_and_used() -> None:
    p = parameter()
    y = p * 2
    seen: list[Any] = []

    def other() -> None:
        with local_graph_mode(True):
            seen.append((y + 1).tolist())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [[3.0, 5.0]]
    assert emulated().executions["multiply"] == 1


# -- check mode ------------------------------------------------------------------------------------


def test_check_runs_each_op_at_its_own_call() -> None:
    graph_mode(check=True)
    try:
        y = parameter() * 2
        assert y._cell.state is State.CONCRETE
        with pytest.raises(ZeroDivisionError):
            broken(y)
    finally:
        graph_mode(check=False)
    assert (parameter() * 2)._cell.state is State.PENDING


SCRIPT = """
from autodiff import Tensor, graph_mode
graph_mode(True)
print((Tensor([1.0], device="emulated") * 2)._cell.state.value)
"""


@pytest.mark.parametrize(("value", "state"), [("1", "concrete"), ("0", "pending")])
def test_environment_variable_turns_check_on(value: str, state: str) -> None:
    env = {"AUTODIFF_GRAPH_CHECK": value, "PYTHONPATH": sys.path[0]}
    code = [sys.executable, "-c", SCRIPT]
    run = subprocess.run(code, env=env, check=True, capture_output=True, text=True)
    assert run.stdout.strip() == state


def test_queued_error_belongs_to_the_family() -> None:
    assert issubclass(QueuedOpError, AutodiffError)


@pytest.mark.parametrize("device", ["cpu", "emulated:1"])
@pytest.mark.parametrize(
    "view", [lambda x: x.T, lambda x: x[::-1], lambda x: x[:, 1], lambda x: x.reshape((6,))]
)
def test_pending_view_moves_as_what_it_shows(view: Callable[[Tensor], Tensor], device: str) -> None:
    x = Tensor(np.arange(6.0).reshape(2, 3), device="emulated")
    expected = view(x * 2.0).tolist()
    with local_graph_mode(True):
        moved = view(x * 2.0).to(device)
        assert moved.tolist() == expected
