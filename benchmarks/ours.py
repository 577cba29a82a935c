"""This project behind the interface of the comparison: the public API with the tape."""

from __future__ import annotations

from typing import Any

import qml
from benchmarks.cases import Case, RealArray
from benchmarks.libraries import Evaluation


class Ours(Evaluation):
    """Value and gradient of a case's loss, with respect to its parameter vector.

    Args:
        case: what to build.
        engine: by name, as the run methods take it.
    """

    def __init__(self, case: Case, engine: str = "numba") -> None:
        self.theta = qml.Parameter(case.parameters(0), name="theta")
        self.circuit = circuit_of(case, self.theta)
        self.observable = observable_of(case)
        self.data = case.data() if case.batch else None
        self.engine = engine

    def loss(
        self, theta: qml.Tensor | None = None, data: qml.Tensor | RealArray | None = None
    ) -> qml.Tensor:
        """Return the loss of a parameter vector and data; None: at the present ones."""
        options: dict[str, Any] = {} if theta is None else {"values": theta}
        data = self.data if data is None else data
        if data is None:
            return self.circuit.expectation(self.observable, engine=self.engine, **options)
        options["inputs"] = {"x": data}
        values = self.circuit.expectation(self.observable, engine=self.engine, **options)
        return (values * values).mean()

    def __call__(self, parameters: RealArray) -> tuple[float, RealArray]:
        """Return the loss and its gradient ``(P,)``."""
        self.theta.set_(parameters)
        self.theta.zero_grad()
        loss = self.loss()
        loss.backward()
        assert self.theta.grad is not None
        return loss.item(), self.theta.grad.numpy()


def build(case: Case) -> Ours:
    """Build a case."""
    return Ours(case)


def circuit_of(case: Case, theta: qml.Parameter) -> qml.Circuit:
    """Build the case's circuit; its features are the Input ``x``."""
    features = qml.Input("x", case.num_qubits, case.real_dtype)
    circuit = qml.Circuit(case.num_qubits)
    for step in case.steps:
        angles = () if step.slot is None else theta[step.slot]
        if step.feature is not None:
            angles = features[step.feature]
        circuit.append(step.gate, step.qubits, angles, payload=step.matrix)
    return circuit


def observable_of(case: Case) -> qml.PauliSum:
    """Build the case's observable, a label for every term."""
    labels: dict[str, float] = {}
    for coefficient, word in case.terms:
        letters = ["I"] * case.num_qubits
        for letter, qubit in word:
            letters[case.num_qubits - 1 - qubit] = letter
        label = "".join(letters)
        labels[label] = labels.get(label, 0.0) + coefficient
    return qml.PauliSum(labels)
