"""A training step on a device: how many launches and moves it takes, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from runtimes import emulated

import qml
from autodiff import Tensor, grad_tape, local_graph_mode, reset_stats, stats, trace_reads
from autodiff.queue_run import prepared

Step = Callable[[], Tensor]


@pytest.fixture(autouse=True)
def fresh_device() -> None:
    emulated().reset()


def made(
    device: str, optimizer: Callable[..., Any] = qml.Adam, dropout: float = 0.3
) -> tuple[qml.Module, Step]:
    """An MLP with two hidden layers, and a training step of it."""
    generator = np.random.default_rng(0)
    model = qml.Sequential(
        qml.Linear(8, 16, seed=generator),
        qml.Tanh(),
        qml.Dropout(dropout, seed=generator),
        qml.Linear(16, 16, seed=generator),
        qml.ReLU(),
        qml.Linear(16, 4, seed=generator),
    ).to(device)
    chosen = optimizer(model.parameters(), lr=0.01)
    x = Tensor(generator.normal(size=(32, 8)), device=device)
    y = Tensor(generator.integers(0, 4, 32), device=device)
    y.numpy()  # the targets are checked on the host: once

    def step() -> Tensor:
        chosen.zero_grad()
        loss = qml.cross_entropy(model(x), y)
        loss.backward()
        chosen.step()
        return loss

    return model, step


def losses(device: str, graph: bool, **options: Any) -> list[Any]:
    model, step = made(device, **options)
    with local_graph_mode(graph):
        found = [step().item() for _ in range(4)]
    return [*found, *[p.tolist() for p in model.parameters()]]


def test_one_launch_for_forward_and_backward_and_one_for_the_optimizer() -> None:
    _, step = made("emulated")
    reset_stats()
    step()
    eager = stats("emulated")
    reset_stats()
    with local_graph_mode(True):
        step()
        assert stats("emulated").launches == 2
        assert emulated().executions["optimizer_step"] == 2
    assert stats("emulated").launches == 2
    assert eager.launches > 20
    assert stats("emulated").downloads == eager.downloads == 0


def test_training_equals_eager_mode_and_the_cpu_to_the_last_bit() -> None:
    found = [losses("cpu", False), losses("emulated", False), losses("emulated", True)]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    "optimizer",
    [qml.SGD, qml.Momentum, qml.Nesterov, qml.Adam, qml.AdamW, qml.RMSprop, qml.Adagrad],
)
def test_step_of_every_elementwise_optimizer_is_one_launch(optimizer: Callable[..., Any]) -> None:
    _, step = made("emulated", optimizer)
    with local_graph_mode(True):
        for _ in range(2):
            reset_stats()
            step()
            assert stats("emulated").launches == 2
    assert losses("cpu", False, optimizer=optimizer) == losses(
        "emulated", True, optimizer=optimizer
    )


def test_frozen_parameters_stay_and_the_step_is_still_one_launch() -> None:
    found = []
    for device in ("cpu", "emulated"):
        model, step = made(device)
        step()
        model.freeze("0.*")
        step()
        model.unfreeze("0.*")
        reset_stats()
        with local_graph_mode(True):
            step()
        found.append([p.tolist() for p in model.parameters()])
    assert stats("emulated").launches == 2
    assert found[0] == found[1]


def test_state_of_an_optimizer_is_saved_and_loaded_on_a_device() -> None:
    p = qml.Parameter(Tensor([1.0, 2.0], device="emulated"))
    (p * p).sum().backward()
    first = qml.Adam([p], lr=0.1)
    first.step()
    state = first.state_dict()
    second = qml.Adam([p], lr=0.5)
    second.load_state_dict(state)
    assert second.state_dict()["state"][0]["exp_avg"].tolist() == pytest.approx([0.2, 0.4])
    value = p.numpy()
    first.step()
    expected = p.tolist()
    p.set_(value)
    second.step()
    assert p.tolist() == expected


def test_step_waits_ten_times_less_for_launches() -> None:
    """How much faster the whole step is depends on the machine; what is waited for does not."""
    spent: list[float] = []
    emulated().launch_cost = 1e-3
    emulated().sleep = spent.append

    def waited(graph: bool) -> float:
        _, step = made("emulated", dropout=0.0)
        with local_graph_mode(graph):
            step()
            spent.clear()
            step()
        return sum(spent)

    assert waited(True) == pytest.approx(2e-3)
    assert waited(False) > 10 * waited(True)


@pytest.mark.parametrize("change", ["load_state_dict", "sync_weights", "optimizer"])
def test_queue_runs_before_weights_change(change: str) -> None:
    model, step = made("emulated", dropout=0.0)
    x = Tensor(np.ones((2, 8)), device="emulated")
    expected = model(x).tolist()
    state = {name: 0 * value for name, value in model.state_dict().items()}
    changes: dict[str, Callable[[], Any]] = {
        "load_state_dict": lambda: model.load_state_dict(state),
        "sync_weights": lambda: qml.sync_weights(made("cpu")[0].to("emulated:1"), [model]),
        "optimizer": step,
    }
    with local_graph_mode(True):
        y = model(x)
        changes[change]()
        assert y.residency == ("emulated",)
        assert y.tolist() == expected


def writes_of(user: str) -> int:
    """How often a user of weights installs a value, in a model of six Parameters on a device."""
    model, step = made("emulated", dropout=0.0)
    weights, state = model.parameters(), model.state_dict()
    users: dict[str, Callable[[], Any]] = {
        "optimizer": step,
        "load_state_dict": lambda: model.load_state_dict(state),
        "sync_weights": lambda: qml.sync_weights(made("cpu")[0], [model]),
        "gradcheck": lambda: qml.gradcheck(lambda w: (w * w).sum(), weights[-1]),
    }
    with trace_reads() as trace:
        users[user]()
    return trace.count("write")


def test_users_of_weights_write_them_through_the_storage() -> None:
    assert [writes_of(u) for u in ("optimizer", "load_state_dict", "sync_weights")] == [6, 6, 6]
    assert writes_of("gradcheck") > 2 * 4  # every element of the last bias goes both ways


def test_repeated_steps_are_planned_once() -> None:
    _, step = made("emulated")
    with local_graph_mode(True):
        step()
        hits, misses = prepared.hits, prepared.misses
        for _ in range(5):
            step()
    assert (prepared.hits - hits, prepared.misses - misses) == (5, 0)


def test_dropout_draws_on_the_host_and_enters_as_an_uploaded_leaf() -> None:
    _, plain = made("emulated", dropout=0.0)
    _, dropped = made("emulated")
    uploads = []
    for step in (plain, dropped):
        reset_stats()
        step()
        uploads.append((stats("emulated").uploads, stats("emulated").upload_bytes))
    assert uploads[1][0] - uploads[0][0] == 1
    assert uploads[1][1] - uploads[0][1] == 32 * 16 * 8


def test_step_with_labels_on_the_device_uploads_nothing() -> None:
    _, step = made("emulated", dropout=0.0)
    for graph in (False, True):
        with local_graph_mode(graph):
            step()
            reset_stats()
            with trace_reads() as trace:
                step()
            assert trace.count("transfer") == 0
        assert (stats("emulated").uploads, stats("emulated").downloads) == (0, 0)


def test_training_inside_tapes_keeps_parameters_and_optimizer_state() -> None:
    model, step = made("emulated")
    for _ in range(4):
        with grad_tape():
            step()
    assert [p.tolist() for p in model.parameters()] == losses("cpu", False)[4:]


# -- where a step reads, writes and moves values ---------------------------------------------------

#: What one step in graph mode may do, by site; a new round trip in a hot path shows here. The
#: optimizer's first read makes the queue run: 13 leaves, then 6 values and 6 gradients.
SITES = {
    ("flat.py:Group.operands", "read"): 24,
    ("flat.py:Group.update", "write"): 6,
    ("layers.py:Dropout.forward", "transfer"): 1,
}


def sites_of(step: Step) -> dict[tuple[str, str], int]:
    with trace_reads() as trace:
        step()
    return {(a.site, a.kind): a.count for a in trace.accesses()}


def test_step_keeps_to_its_budget_of_reads_writes_and_moves() -> None:
    _, step = made("emulated")
    with local_graph_mode(True):
        step()
        found = sites_of(step)
    assert found == SITES


def test_new_round_trip_is_found() -> None:
    _, step = made("emulated")
    with local_graph_mode(True):
        step()
        found = sites_of(lambda: step().item())
    assert found != SITES


# -- several copies of a model ---------------------------------------------------------------------


def test_module_moves_in_place() -> None:
    model, step = made("cpu")
    step()
    weight = model.parameters()[0]
    value, gradient = weight.tolist(), weight.grad.tolist()
    alias = weight.clone()
    reset_stats()
    assert model.to("emulated") is model
    assert model.parameters()[0] is weight
    assert {p.device for p in model.parameters()} == {"emulated"}
    assert {p.grad.device for p in model.parameters()} == {"emulated"}
    assert (alias.device, weight.tolist(), weight.grad.tolist()) == ("emulated", value, gradient)
    assert stats("emulated").uploads == 12


@pytest.mark.parametrize("before", [False, True])
def test_optimizer_is_made_before_or_after_the_module_moves(before: bool) -> None:
    generator = np.random.default_rng(0)
    model = qml.Linear(3, 2, seed=generator)
    optimizer = qml.Adam(model.parameters(), lr=0.1) if before else None
    model.to("emulated")
    optimizer = optimizer or qml.Adam(model.parameters(), lr=0.1)
    x = Tensor(generator.normal(size=(4, 3)), device="emulated")
    for expected in (0, 0):
        optimizer.zero_grad()
        (model(x) ** 2).sum().backward()
        reset_stats()
        optimizer.step()
        assert stats("emulated").downloads == expected
    assert {p.device for p in model.parameters()} == {"emulated"}


def test_weights_are_synchronised_to_replicas_on_any_device() -> None:
    source = made("emulated")[0]
    replicas = [made(device)[0] for device in ("cpu", "emulated", "emulated:1")]
    for replica in replicas:
        replica.parameters()[0].set_(np.zeros((16, 8)))
    qml.sync_weights(source, replicas)
    for replica in replicas:
        for p, q in zip(source.parameters(), replica.parameters(), strict=True):
            assert p.tolist() == q.tolist()
    assert replicas[2].parameters()[0].device == "emulated:1"
