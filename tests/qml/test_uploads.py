"""What a training step sends to a device: nothing but what is new in each step.

On the stand-in for CuPy, which refuses uploads that nobody counts, and on the emulated device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_cupy
import numpy as np
import pytest
from optimizers import OPTIMIZERS, Problem

import qml
from autodiff.placement import relocate
from qml.optim.elementwise import ElementwiseOptimizer

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(5, 2))
HAMILTONIAN = qml.Z(0) @ qml.Z(1) + 0.5 * qml.X(1)

# Any in this file: arrays, Tensors and options of a run.


@pytest.fixture(params=["cuda", "emulated"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    if name == "cuda":
        fake_cupy.install(monkeypatch)
    return name


class Model:
    """Single and several numbers, in angles that are affine in them or not; and an Input."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.a, self.b = qml.Parameter(0.3, name="a"), qml.Parameter([0.1, 0.2], name="b")
        self.c, x = qml.Parameter(0.7, name="c"), qml.Input("x", 2)
        self.parameters = [self.a, self.b, self.c]
        self.circuit = qml.Circuit(2).ry(2 * self.a, 0).rx(self.b[0] + x[1], 1).cx(0, 1)
        self.circuit.u(self.b[1] + 0.1, self.a, x[0], 0).rz(self.b[0] * self.b[1], 1)
        self.matrix = qml.Parameter(np.eye(2) + 0j, name="matrix")
        for p in (*self.parameters, self.matrix):
            relocate(p, device)

    def on(self, array: np.ndarray[Any, Any]) -> qml.Tensor:
        return qml.Tensor(array, device=self.device)

    def run(self, x: Any, observable: Any = HAMILTONIAN, **options: Any) -> qml.Tensor:
        return self.circuit.expectation(observable, inputs={"x": x}, **options)


def single(model: Model) -> Callable[[], Any]:
    x = model.on(ROWS[0])
    return lambda: model.run(x)


def batch(model: Model) -> Callable[[], Any]:
    x, y = model.on(ROWS), model.on(np.ones(5))
    return lambda: ((model.run(x) - y) ** 2).mean()


def several(model: Model) -> Callable[[], Any]:
    x, observables = model.on(ROWS), [HAMILTONIAN, qml.Z(0), model.c * qml.X(1)]
    return lambda: model.run(x, observables).sum()


def matrix(model: Model) -> Callable[[], Any]:
    x = model.on(ROWS[0])
    model.circuit.unitary(model.matrix, 0)
    return lambda: model.run(x)


def state(model: Model) -> Callable[[], Any]:
    x = model.on(ROWS[0])
    return lambda: (model.circuit.statevector(inputs={"x": x}).imag ** 2).sum()


def host_batch(model: Model) -> Callable[[], Any]:
    return lambda: model.run(ROWS).sum()


def large(model: Model) -> Callable[[], Any]:
    """A start that is too large to be kept, and is made on the device."""
    circuit = qml.Circuit(15).ry(2 * model.a, 0).rx(model.b[0], 14).cx(0, 14)
    return lambda: circuit.expectation(qml.Z(14))


#: Losses, and how many uploads each takes from the second step on.
LOSSES: dict[Callable[[Model], Callable[[], Any]], int] = {
    single: 0,
    batch: 0,
    several: 0,
    matrix: 0,
    state: 0,
    large: 0,
    host_batch: 1,  # the rows, which are the host's
}


def uploads(device: str, step: Callable[[], object]) -> list[int]:
    """Uploads of the second step and of the third."""
    step()
    found = []
    for _ in range(2):
        qml.reset_stats()
        step()
        found.append(qml.stats(device).uploads)
    return found


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_step_uploads_what_is_new(loss: Callable[[Model], Callable[[], Any]], device: str) -> None:
    model = Model(device)
    optimizer, value = qml.Adam(model.parameters, lr=0.1), loss(model)

    def step() -> None:
        optimizer.zero_grad()
        value().backward()
        optimizer.step()

    assert uploads(device, step) == [LOSSES[loss]] * 2


def test_shots_upload_the_estimates(device: str) -> None:
    model = Model(device)
    x = model.on(ROWS[0])
    assert uploads(device, lambda: model.run(x, shots=10, seed=0)) == [1, 1]


STEPPING = [k for k, row in OPTIMIZERS.items() if issubclass(row.kind, ElementwiseOptimizer)]


@pytest.mark.parametrize("name", STEPPING)
def test_optimizer_uploads_nothing(name: str, device: str) -> None:
    model = Model(device)
    value = single(model)
    optimizer = OPTIMIZERS[name].make(Problem(model.parameters, value))

    def step() -> None:
        optimizer.zero_grad()
        value().backward()
        optimizer.step()

    assert uploads(device, step) == [0, 0]


def test_parameters_with_different_numbers_of_steps_cost_two_uploads(device: str) -> None:
    """Adam's two corrections depend on the number of steps, which is the host's."""
    model = Model(device)
    optimizer = qml.Adam(model.parameters, lr=0.1)
    losses = [lambda: model.a**2, lambda: model.a**2 + (model.b**2).sum()]

    def step(k: int = 1) -> None:
        optimizer.zero_grad()
        losses[k]().backward()
        optimizer.step()

    step(0)
    assert uploads(device, step) == [2, 2]
    model.b.freeze()
    step()  # what the optimizer remembers of it is forgotten
    assert uploads(device, step) == [0, 0]
