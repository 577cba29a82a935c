"""A case as a PennyLane QNode, whatever the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pennylane as qml
from pennylane import numpy as pnp

from benchmarks.cases import Case, RealArray, Step
from benchmarks.libraries import Evaluation

# Any in this file: PennyLane's objects, which depend on the interface.
GATES: Mapping[str, Callable[..., Any]] = {
    "cx": qml.CNOT,
    "cz": qml.CZ,
    "swap": qml.SWAP,
    "h": qml.Hadamard,
    "t": qml.T,
    "rx": qml.RX,
    "ry": qml.RY,
    "rz": qml.RZ,
    "rxx": qml.IsingXX,
    "rzz": qml.IsingZZ,
    "crx": qml.CRX,
}
LETTERS: Mapping[str, Callable[[int], Any]] = {"X": qml.X, "Y": qml.Y, "Z": qml.Z}


class QNodeEvaluation(Evaluation):
    """Value and gradient of a case's loss, by ``qml.grad``.

    Args:
        case: what to build.
        device: a PennyLane device of its width.
        diff_method: how that device differentiates.
    """

    def __init__(self, case: Case, device: Any, diff_method: str) -> None:
        self.case = case
        self.data = case.data() if case.batch else None
        self.circuit = qml.QNode(self.expectation, device, diff_method=diff_method)
        # The value comes from the same pass as the gradient, in ``forward``.
        self.gradient = qml.grad(self.loss)

    def expectation(self, parameters: Any) -> Any:
        """Queue the circuit and return the measurement."""
        for step in self.case.steps:
            apply(step, parameters, self.data)
        words = [qml.prod(*[LETTERS[p](q) for p, q in word]) for _, word in self.case.terms]
        return qml.expval(qml.Hamiltonian([c for c, _ in self.case.terms], words))

    def loss(self, parameters: Any) -> Any:
        """Return <H>, or the mean over the samples of <H>^2."""
        values = self.circuit(parameters)
        return values if self.data is None else pnp.mean(values**2)

    def __call__(self, parameters: RealArray) -> tuple[float, RealArray]:
        gradient = self.gradient(pnp.array(parameters, requires_grad=True))
        return float(self.gradient.forward), gradient


def apply(step: Step, parameters: Any, data: RealArray | None) -> None:
    """Queue one gate."""
    if step.matrix is not None:
        # The first wire is the most significant one.
        qml.QubitUnitary(step.matrix, wires=step.qubits[::-1])
    elif step.feature is not None:
        assert data is not None
        GATES[step.gate](data[:, step.feature], wires=step.qubits)
    elif step.slot is not None:
        GATES[step.gate](parameters[step.slot], wires=step.qubits)
    else:
        GATES[step.gate](wires=step.qubits)
