"""One row for each optimizer and each of its behaviours, and what they are tried on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import qml
from autodiff import Parameter, Tensor
from qml.optim.base import Optimizer, StepCounts


@dataclass(frozen=True)
class Row:
    """An optimizer with settings.

    Attributes:
        kind: the class.
        settings: that suit a parabola; a circuit's energy too.
        rosenbrock: what to change, and the number of steps, for the Rosenbrock function.
        steps: that a parabola or an energy takes.
        circuits_only: whether it looks inside the circuit, and cannot minimise anything else.
    """

    kind: type[Optimizer]
    settings: Mapping[str, Any] = field(default_factory=dict)
    rosenbrock: tuple[Mapping[str, Any], int] = ({}, 0)
    steps: int = 400
    circuits_only: bool = False

    def make(self, problem: Problem, **changes: Any) -> Optimizer:
        """The optimizer of a problem's Parameters."""
        given: list[Any] = [problem.circuit] if self.circuits_only else []
        given += [problem.observable] if self.kind is qml.Rotosolve else []
        return self.kind(problem.parameters, *given, **(dict(self.settings) | changes))


@dataclass(frozen=True)
class Problem:
    """Parameters, and a loss of them."""

    parameters: Sequence[Parameter]
    loss: Callable[[], Tensor]
    circuit: qml.Circuit | None = None
    observable: qml.PauliSum | None = None


LBFGS = {"line_search_fn": "strong_wolfe"}
NATURAL = {"lr": 0.2, "regularization": 0.05}

OPTIMIZERS: dict[str, Row] = {
    "sgd": Row(qml.SGD, {"lr": 0.1}, ({"lr": 2e-3}, 800)),
    "damped": Row(qml.SGD, {"lr": 0.05, "momentum": 0.5, "dampening": 0.1}, ({"lr": 2e-3}, 800)),
    "momentum": Row(qml.Momentum, {"lr": 0.05, "momentum": 0.5}, ({"lr": 1e-3}, 800)),
    "nesterov": Row(qml.Nesterov, {"lr": 0.05, "momentum": 0.5}, ({"lr": 1e-3}, 800)),
    "decay": Row(qml.SGD, {"lr": 0.1, "weight_decay": 1e-9}, ({"lr": 2e-3}, 800)),
    "adam": Row(qml.Adam, {"lr": 0.1}, ({}, 300)),
    "adamw": Row(qml.AdamW, {"lr": 0.1, "weight_decay": 1e-9}, ({}, 300)),
    "rmsprop": Row(qml.RMSprop, {"lr": 0.02, "eps": 0.1}, ({"lr": 2e-3}, 800)),
    "centered": Row(qml.RMSprop, {"lr": 0.02, "eps": 0.1, "centered": True}, ({"lr": 2e-3}, 800)),
    "rmsprop momentum": Row(
        qml.RMSprop, {"lr": 0.01, "eps": 0.1, "momentum": 0.5}, ({"lr": 2e-3}, 800)
    ),
    "adagrad": Row(qml.Adagrad, {"lr": 1.0}, ({"lr": 0.3}, 500)),
    "lbfgs": Row(qml.LBFGS, {"lr": 0.5}, ({"lr": 0.2}, 20), steps=10),
    "lbfgs line search": Row(qml.LBFGS, LBFGS, ({}, 10), steps=10),
    "spsa": Row(
        qml.SPSA, {"seed": 1, "perturbation": 1e-3}, ({"lr": 1e-3, "alpha": 0.1}, 1500), steps=800
    ),
    "rotosolve": Row(qml.Rotosolve, steps=3, circuits_only=True),
    "damped rotosolve": Row(qml.Rotosolve, {"lr": 0.7}, steps=30, circuits_only=True),
    "natural gradient": Row(qml.QuantumNaturalGradient, NATURAL, steps=100, circuits_only=True),
    "block-diagonal": Row(
        qml.QuantumNaturalGradient,
        NATURAL | {"approximation": "block-diagonal"},
        steps=100,
        circuits_only=True,
    ),
    "diagonal": Row(
        qml.QuantumNaturalGradient,
        NATURAL | {"approximation": "diagonal"},
        steps=100,
        circuits_only=True,
    ),
}
ANY_LOSS = {name: row for name, row in OPTIMIZERS.items() if not row.circuits_only}


def distance(parameter: Parameter, target: complex) -> Tensor:
    """|p - target|^2 of all elements."""
    return (abs(parameter - target) ** 2).sum()


def parabola(*parameters: Parameter, target: complex = 2.0) -> Problem:
    """All elements go to one number."""
    return Problem(parameters, lambda: sum(distance(p, target) for p in parameters))


def rosenbrock() -> Problem:
    """The narrow, bent valley; the minimum 0 is at (1, 1)."""
    x, y = Parameter(0.0), Parameter([0.5])
    return Problem([x, y], lambda: ((1 - x) ** 2 + 100 * (y - x**2) ** 2).sum())


def energy(dtype: Any = None, engine: str = "reference", device: str = "cpu") -> Problem:
    """Two qubits whose lowest energy is -2, with a vector of angles and a single one."""
    w = Parameter(Tensor([1.9, 0.4], dtype=dtype, device=device), name="w")
    a = Parameter(Tensor(0.3, dtype=dtype, device=device), name="a")
    circuit = qml.Circuit(2).ry(w[0], 0).ry(2 * w[1] + 0.1, 1).cz(0, 1).rx(a, 0)
    observable = qml.PauliSum({"ZZ": 1.0, "IZ": 0.5, "ZI": -0.5})
    return Problem(
        [a, w],
        lambda: circuit.expectation(observable, engine=engine),
        circuit,
        observable,
    )


def step(optimizer: Optimizer, problem: Problem) -> StepCounts:
    """One step, with a closure where the optimizer takes one."""
    if isinstance(optimizer, qml.Rotosolve):
        return optimizer.step()

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = problem.loss()
        loss.backward()
        return loss

    return optimizer.step(closure)


def train(optimizer: Optimizer, problem: Problem, steps: int) -> StepCounts | None:
    """So many steps; the last one's counts."""
    counts = None
    for _ in range(steps):
        counts = step(optimizer, problem)
    return counts


def values(problem: Problem) -> list[np.ndarray]:
    """What the Parameters hold."""
    return [p.numpy() for p in problem.parameters]
