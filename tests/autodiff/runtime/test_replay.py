"""Launches whose ops all have kernels: one graph a run, the eager values, current operands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import fake_cupy
import numpy as np
import pytest
from runtimes import emulated

import autodiff as ad
from autodiff import (
    DeviceMismatch,
    Parameter,
    Program,
    QueuedOpError,
    Runtime,
    Tensor,
    custom_op,
    device,
    graph_mode,
    local_graph_mode,
)
from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.runtime.executor import Executor
from autodiff.runtime.transfer import HostCopy


@pytest.fixture
def backend() -> EmulatedBackend:
    """The emulated device, which replays in this test."""
    backend = emulated()
    backend.replays = True
    return backend


@contextmanager
def graph() -> Iterator[None]:
    with local_graph_mode():
        graph_mode(True)
        yield


RNG = np.random.default_rng(2)
X, W = RNG.normal(size=(6, 3)), RNG.normal(size=(3, 4))


def loss_of(x: Tensor, w: Tensor, factor: float) -> Tensor:
    return (ad.tanh(x @ w) * factor - ad.relu(w.sum(axis=0))).square().mean()


def step(where: str, factor: float, w: np.ndarray = W) -> list[np.ndarray]:
    """Loss and gradient of a layer."""
    weights = Tensor(w, device=where, requires_grad=True)
    loss = loss_of(Tensor(X, device=where), weights, factor)
    loss.backward()
    assert weights.grad is not None
    return [loss.numpy(), weights.grad.numpy()]


def assert_step(where: str, factor: float, w: np.ndarray = W) -> None:
    for made, wanted in zip(step(where, factor, w), step("cpu", factor, w), strict=True):
        np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-14)


def test_step_is_one_graph_with_the_eager_values(backend: EmulatedBackend) -> None:
    with graph():
        assert_step("emulated", 1.0)
        backend.stats.reset()
        assert_step("emulated", 1.0)
    stats = backend.stats
    assert (stats.launches, stats.graphs) == (1, 1)
    assert stats.uploads == 3  # two leaves of the step, and the table
    assert backend.executions["replay"] == 2
    assert set(backend.executions) <= {"replay", "reshape", "broadcast_to", "transpose"}


def test_numbers_and_leaves_are_those_of_the_run(backend: EmulatedBackend) -> None:
    with graph():
        for factor, w in ((1.0, W), (2.0, W), (-0.5, W + 1), (3.0, 0 * W)):
            assert_step("emulated", factor, w)
    assert backend.stats.graphs == 4


def test_graph_is_captured_once(backend: EmulatedBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    captures: list[int] = []
    capture = backend.capture

    def counted() -> Any:
        captures.append(1)
        return capture()

    monkeypatch.setattr(backend, "capture", counted)
    with graph():
        for factor in (0.1, 0.2, 0.3):
            x = Tensor([1.0, 2.0, 3.0, 4.0, 5.0], device="emulated")
            assert (x * factor).exp().sum().item() > 0
    assert len(captures) == 1


def test_views_of_results_share_their_storage(backend: EmulatedBackend) -> None:
    with graph():
        x = Tensor(np.arange(6.0).reshape(2, 3), device="emulated")
        y = (x + 1) * 2 - 2
        turned, row = y.T, y[1]
        assert turned.tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]
    assert backend.stats.graphs == 1
    assert row.tolist() == [6.0, 8.0, 10.0]
    assert turned._cell.storage is y._cell.storage is row._cell.storage
    assert x.T.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_result_of_a_run_outlives_the_next(backend: EmulatedBackend) -> None:
    kept = []
    with graph():
        for value in (1.0, 2.0):
            y = Tensor([value], device="emulated").square()
            y.numpy()
            kept.append(y)
    assert [y.tolist() for y in kept] == [[1.0], [4.0]]


def test_op_without_a_kernel_divides_the_graph(backend: EmulatedBackend) -> None:
    def function(x: Tensor) -> Tensor:
        return (ad.cumsum((x * 2).exp(), axis=0) + x).tanh().sum()

    values = np.array([0.1, 0.2, -0.3])
    with graph():
        made = function(Tensor(values, device="emulated")).item()
    assert made == pytest.approx(function(Tensor(values)).item(), rel=1e-14)
    assert (backend.stats.launches, backend.stats.graphs) == (1, 2)
    assert backend.executions == {"replay": 2, "cumsum": 1}


def test_what_does_not_depend_on_a_failure_has_its_value(backend: EmulatedBackend) -> None:
    fails = custom_op("fails", lambda xp, x: 1 / 0, None, lambda x: (x,))
    with graph():
        x = Tensor([1.0, 2.0], device="emulated")
        before, failed = (x * 2).exp(), fails(x)
        after, hopeless = (x * 3).exp(), (failed * 2).exp()
        for value in (failed, hopeless):
            with pytest.raises(QueuedOpError, match="ZeroDivisionError"):
                value.numpy()
        np.testing.assert_allclose(after.numpy(), np.exp([3.0, 6.0]))
        np.testing.assert_allclose(before.numpy(), np.exp([2.0, 4.0]))


OTHERS: dict[str, Callable[[Tensor], Tensor]] = {
    "ops without kernels": lambda x: ad.cumsum(ad.sin(x)).cos()[0],
    "complex numbers": lambda x: (x * 1j).exp().real[1],
    "two precisions": lambda x: x.astype(np.float32).astype(np.float64).sum(),
    "one op": lambda x: x.exp()[0],
}


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_queue_runs_op_by_op(name: str, backend: EmulatedBackend) -> None:
    values = [0.1, 0.2]
    with graph():
        made = OTHERS[name](Tensor(values, device="emulated")).item()
    assert made == pytest.approx(OTHERS[name](Tensor(values)).item(), rel=1e-6)
    assert (backend.stats.launches, backend.stats.graphs) == (1, 0)


def test_custom_op_with_the_name_of_a_row_is_not_taken_for_it(backend: EmulatedBackend) -> None:
    own = custom_op("exp", lambda xp, x: x + 100, lambda gs, outs, inputs: [gs[0]], lambda x: (x,))
    with graph():
        assert own(Tensor([1.0], device="emulated")).tolist() == [101.0]
    assert backend.stats.graphs == 0


@pytest.mark.parametrize("event", ["kernel", "upload"])
def test_failure_is_that_of_the_queue_and_passes(event: str, backend: EmulatedBackend) -> None:
    x = Tensor([1.0, 2.0], device="emulated")
    with graph():
        (x * 2).exp().numpy()
        y = (x * 2).exp()
        backend.fail(event)
        for _ in range(2):
            with pytest.raises(QueuedOpError, match=f"no failure for this {event}[\\s\\S]*exp"):
                y.numpy()
        np.testing.assert_allclose((x * 2).exp().numpy(), np.exp([2.0, 4.0]))


def test_programs_of_the_runtime_replay_too(backend: EmulatedBackend) -> None:
    program = Program.trace(lambda x, w: loss_of(x, w, 2.0), ((6, 3), ad.F64), ((3, 4), ad.F64))
    runtime = Runtime(
        [Executor("emulated")], [HostCopy("host", "device"), HostCopy("device", "host")]
    )
    for w in (W, 2 * W):
        inputs = [Tensor(X, device="emulated"), Tensor(w, device="emulated")]
        (made,) = runtime.run(program, inputs)
        expected = loss_of(Tensor(X), Tensor(w), 2.0).item()
        np.testing.assert_allclose(made.item(), expected, rtol=1e-12)
    assert backend.stats.graphs == 2


# -- on CuPy's backend, which replays always -------------------------------------------------------


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in for CuPy, as "cuda"."""
    fake_cupy.install(monkeypatch)


@pytest.mark.usefixtures("cuda")
def test_training_on_cuda_replays_and_is_right() -> None:
    with graph():
        for factor in (1.0, 0.5):
            assert_step("cuda", factor)
    assert device.backend_of("cuda").stats.graphs == 2


@pytest.mark.usefixtures("cuda")
def test_parameters_move_to_cuda() -> None:
    weight = Parameter(Tensor([1.0, -2.0], device="cuda"))
    weight.square().sum().backward()
    assert weight.grad is not None
    assert (weight.grad.device, weight.grad.tolist()) == ("cuda", [2.0, -4.0])
    with pytest.raises(DeviceMismatch, match=r"one device, got \['cpu', 'cuda'\]"):
        weight + Tensor([1.0, 2.0])
