"""Optimizers that are a formula an element: what a step updates, dtypes, freezing, saved state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pytest
from optimizers import ANY_LOSS, distance

import qml
from autodiff import C128, F32, F64, Parameter, StorageBusy, Tensor
from autodiff.slices import Slice
from circuits.engines.registry import ENGINES
from qml.errors import SettingError, StateDictError
from qml.optim.base import Optimizer, StepCounts
from qml.optim.elementwise import ElementwiseOptimizer

Make = Callable[[Iterable[Parameter]], Optimizer]

OPTIMIZERS: dict[str, Make] = {
    name: partial(row.kind, **row.settings)
    for name, row in ANY_LOSS.items()
    if issubclass(row.kind, ElementwiseOptimizer)
}
every_optimizer = pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)


def give_gradient(parameter: Parameter, value: complex) -> None:
    parameter.grad = Tensor(np.full(parameter.shape, value), dtype=parameter.dtype)


def train(optimizer: Optimizer, loss: Callable[[], Tensor], steps: int) -> StepCounts:
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        counts = optimizer.step()
    return counts


@every_optimizer
def test_parameters_of_several_dtypes_and_shapes_train_together(make: Make) -> None:
    dtypes = [F64, F32, C128, F64]
    parameters = [Parameter(np.zeros(k), dtype=d) for k, d in enumerate(dtypes)]
    alone = [p.deep_clone() for p in parameters]
    train(make(parameters), lambda: sum(distance(p, 2.0) for p in parameters), 5)
    for parameter, single in zip(parameters, alone, strict=True):
        train(make([single]), lambda single=single: distance(single, 2.0), 5)
        np.testing.assert_array_equal(parameter.numpy(), single.numpy())


@every_optimizer
def test_step_counts(make: Make) -> None:
    moved, frozen, idle, still = (Parameter(1.0) for _ in range(4))
    for parameter in (moved, frozen):
        give_gradient(parameter, 1.0)
    frozen.freeze()
    still.freeze()
    optimizer = make([moved, frozen, idle, still])
    assert optimizer.step() == StepCounts(updated=1, skipped_frozen=2, skipped_no_grad=1)
    assert moved.item() < 1.0
    assert frozen.item() == idle.item() == still.item() == 1.0


@every_optimizer
def test_second_parameter_gets_its_own_gradient(make: Make) -> None:
    """A frozen one stands between the two."""
    x, frozen, y = Parameter(1.0), Parameter(5.0), Parameter(2.0)
    frozen.freeze()
    train(make([x, frozen, y]), lambda: x * x - 3 * y * y + frozen, 2)
    assert x.item() < 1.0
    assert y.item() > 2.0
    assert frozen.item() == 5.0


@every_optimizer
def test_frozen_parameter_forgets_its_momentum(make: Make) -> None:
    """It starts like a new one: a zero gradient after unfreezing does not move it."""
    parameter, other = Parameter(1.0), Parameter(1.0)
    optimizer = make([parameter, other])
    train(optimizer, lambda: parameter + other, 3)
    parameter.freeze()
    kept = parameter.item()
    train(optimizer, lambda: parameter + other, 2)
    assert parameter.item() == kept
    assert parameter.grad is not None
    parameter.unfreeze()
    give_gradient(parameter, 0.0)
    optimizer.step()
    assert parameter.item() == pytest.approx(kept, abs=1e-9)  # weight decay is that small
    fresh = Parameter(kept)
    for p, own in ((parameter, optimizer), (fresh, make([fresh]))):
        give_gradient(p, 0.0)
        own.step()
    assert parameter.item() == pytest.approx(fresh.item(), abs=1e-9)


@every_optimizer
def test_weight_decay_leaves_frozen_parameters_alone(make: Make) -> None:
    parameter = Parameter(1.0).freeze()
    optimizer = make([parameter])
    give_gradient(parameter, 0.0)
    optimizer.step()
    assert parameter.item() == 1.0


@pytest.mark.parametrize("engine", ENGINES)
def test_frozen_angle_gets_the_same_gradient_and_is_skipped(engine: str) -> None:
    a, b = Parameter(0.3), Parameter(0.7)
    circuit = qml.Circuit(2).ry(a, 0).cx(0, 1).rx(b, 1)
    optimizer = qml.Adam(circuit.parameters(), lr=0.1)

    def gradients() -> list[float]:
        optimizer.zero_grad()
        circuit.expectation(qml.Z(1), engine=engine).backward()  # cos a cos b
        return [p.grad.item() for p in circuit.parameters()]

    before = gradients()
    a.freeze()
    assert gradients() == before
    assert optimizer.step() == StepCounts(updated=1, skipped_frozen=1, skipped_no_grad=0)
    assert a.item() == 0.3
    assert b.item() != 0.7
    a.unfreeze()
    gradients()
    assert optimizer.step() == StepCounts(updated=2, skipped_frozen=0, skipped_no_grad=0)
    assert a.item() != 0.3


def many_angles(device: str) -> tuple[qml.Circuit, list[Parameter]]:
    circuit, angles = qml.Circuit(2), [Parameter(Tensor(0.1 * k, device=device)) for k in range(12)]
    for k, angle in enumerate(angles):
        circuit.ry(angle, k % 2).cx(0, 1)
    return circuit, angles


@every_optimizer
def test_slices_of_a_circuits_gradient_step_as_tensors_do(make: Make) -> None:
    circuit, angles = many_angles("cpu")
    twin, others = many_angles("cpu")
    for frozen in (angles[3], others[3]):
        frozen.freeze()
    optimizer, other = make(angles), make(others)
    for _ in range(3):
        for built, own in ((circuit, optimizer), (twin, other)):
            own.zero_grad()
            built.expectation(qml.Z(1)).backward()
        assert all(p.grad is not None for p in others)  # read: a Tensor for each
        assert optimizer.step() == other.step() == StepCounts(11, 1, 0)
    assert [p.item() for p in angles] == [p.item() for p in others]
    assert angles[3].item() == pytest.approx(0.3)


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_step_of_many_angles_reads_one_gradient_and_makes_no_tensor_of_each(device: str) -> None:
    circuit, angles = many_angles(device)
    optimizer = qml.Adam(angles)
    circuit.expectation(qml.Z(1)).backward()
    qml.reset_stats()
    with qml.trace_reads() as trace:
        optimizer.step()
    assert (trace.count("read"), trace.count("write")) == (len(angles) + 1, len(angles))
    assert all(isinstance(p._meta.raw_grad, Slice) for p in angles)
    if device != "cpu":
        assert (qml.stats(device).launches, qml.stats(device).allocations) == (1, 3)


@every_optimizer
def test_closure_is_called_once_with_recording_on(make: Make) -> None:
    parameter = Parameter(1.0)
    optimizer = make([parameter])
    calls = []

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = parameter * parameter
        loss.backward()
        calls.append(loss)
        return loss

    with qml.no_grad():
        counts = optimizer.step(closure)
    assert counts.loss is calls[0]
    assert len(calls) == counts.updated == 1
    assert parameter.item() < 1.0


def test_zero_grad_clears_frozen_parameters_too() -> None:
    parameters = [Parameter(1.0), Parameter(1.0).freeze()]
    for parameter in parameters:
        give_gradient(parameter, 1.0)
    qml.SGD(parameters).zero_grad()
    assert [p.grad for p in parameters] == [None, None]


def test_step_raises_the_version() -> None:
    parameter = Parameter(1.0)
    loss = parameter * parameter
    give_gradient(parameter, 1.0)
    qml.SGD([parameter]).step()
    with pytest.raises(qml.VersionError):
        loss.backward()


@every_optimizer
def test_step_that_cannot_read_a_value_changes_nothing(make: Make) -> None:
    first, second = Parameter(1.0), Parameter(1.0, dtype=F32)
    optimizer = make([first, second])
    for parameter in (first, second):
        give_gradient(parameter, 1.0)
    before = optimizer.state_dict()
    with second.storage_mut(), pytest.raises(StorageBusy):
        optimizer.step()
    assert first.item() == 1.0
    assert repr(optimizer.state_dict()) == repr(before)


# -- saved state -----------------------------------------------------------------------------------


@every_optimizer
def test_loaded_state_continues_bit_for_bit(make: Make) -> None:
    parameters = [Parameter([1.0, -2.0]), Parameter(0.5, dtype=F32), Parameter(1 + 1j)]

    def loss(ps: list[Parameter]) -> Tensor:
        return sum(distance(p, 2.0) ** 2 for p in ps) * 1e-2

    optimizer = make(parameters)
    train(optimizer, lambda: loss(parameters), 3)
    copies = [p.deep_clone() for p in parameters]
    other = make(copies)
    other.lr = 1.0
    other.load_state_dict(optimizer.state_dict())
    assert other.lr == optimizer.lr
    train(optimizer, lambda: loss(parameters), 3)
    train(other, lambda: loss(copies), 3)
    for p, q in zip(parameters, copies, strict=True):
        np.testing.assert_array_equal(p.numpy(), q.numpy())


def test_saved_state_stays_what_it_is() -> None:
    parameter = Parameter(1.0)
    optimizer = qml.Adam([parameter], lr=0.1)
    train(optimizer, lambda: parameter * parameter, 1)
    state = optimizer.state_dict()
    text = repr(state)
    train(optimizer, lambda: parameter * parameter, 2)
    assert repr(state) == text


FOREIGN = [
    (lambda s: s | {"optimizer": "SGD"}, "Adam needs the state_dict of a Adam, got that of 'SGD'"),
    (lambda s: {"optimizer": "Adam"}, r"with keys \['optimizer'\]"),
    (lambda s: s | {"state": s["state"][:1]}, r"needs the state of 2 Parameters, got \["),
    (
        lambda s: s | {"state": s["state"][::-1]},
        r"Parameter 0\['exp_avg'\] needs an array of shape \(2,\)",
    ),
    (lambda s: s | {"settings": {"lr": 0.1}}, "Adam needs the settings"),
    (lambda s: s | {"settings": s["settings"] | {"lr": -1.0}}, "Adam: lr needs a finite number"),
]


@pytest.mark.parametrize(("change", "match"), FOREIGN)
def test_foreign_state_is_refused_and_nothing_changed(
    change: Callable[[dict], dict], match: str
) -> None:
    parameters = [Parameter([1.0, 2.0]), Parameter(1.0)]
    optimizer = qml.Adam(parameters, lr=0.3)
    train(optimizer, lambda: sum(distance(p, 0.0) for p in parameters), 2)
    before = repr(optimizer.state_dict())
    with pytest.raises((StateDictError, SettingError), match=match):
        optimizer.load_state_dict(change(optimizer.state_dict()))
    assert repr(optimizer.state_dict()) == before
