"""Qulacs: ``ParametricQuantumCircuit.backprop``, the adjoint method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan

import numpy as np
from qulacs import Observable, ParametricQuantumCircuit, QuantumState

from benchmarks.cases import Case, RealArray, Step
from benchmarks.libraries import Evaluation

LETTERS: Mapping[str, tuple[int, ...]] = {
    "rx": (1,),
    "ry": (2,),
    "rz": (3,),
    "rxx": (1, 1),
    "rzz": (3, 3),
}
"""The Pauli word of a rotation, as Qulacs numbers letters."""


class Qulacs(Evaluation):
    """Gradient of a case's loss; of a single circuit without the value, as ``backprop`` gives it.

    Its rotations are exp(+i angle/2 P): the angles are ours with the other sign.
    """

    def __init__(self, case: Case) -> None:
        self.circuit = ParametricQuantumCircuit(case.num_qubits)
        self.state = QuantumState(case.num_qubits)
        self.data = case.data() if case.batch else None
        self.num_parameters = case.num_parameters
        rotations = [entry for step in case.steps for entry in add(self.circuit, step)]
        steps, factors = zip(*rotations, strict=True)
        self.factors = np.array(factors)
        self.slots = np.array([-1 if s.slot is None else s.slot for s in steps])
        self.features = np.array([-1 if s.feature is None else s.feature for s in steps])
        self.observable = Observable(case.num_qubits)
        for coefficient, word in case.terms:
            self.observable.add_operator(coefficient, " ".join(f"{p} {q}" for p, q in word))

    def set_angles(self, parameters: RealArray, features: RealArray | None) -> None:
        """Set every rotation's angle."""
        angles = parameters[self.slots]
        if features is not None:
            angles = np.where(self.features >= 0, features[self.features], angles)
        for k, angle in enumerate((angles * self.factors).tolist()):
            self.circuit.set_parameter(k, angle)

    def slopes(self) -> RealArray:
        """Return the gradient of <H> with respect to the parameters ``(P,)``."""
        trained = self.slots >= 0
        rotations = np.array(self.circuit.backprop(self.observable)) * self.factors
        return np.bincount(self.slots[trained], rotations[trained], self.num_parameters)

    def expectation(self) -> float:
        """Return <H> at the angles that are set."""
        self.state.set_zero_state()
        self.circuit.update_quantum_state(self.state)
        return self.observable.get_expectation_value(self.state)

    def value(self, parameters: RealArray) -> float:
        if self.data is not None:
            return self(parameters)[0]
        self.set_angles(parameters, None)
        return self.expectation()

    def __call__(self, parameters: RealArray) -> tuple[float, RealArray]:
        if self.data is None:
            self.set_angles(parameters, None)
            return nan, self.slopes()
        loss, gradient = 0.0, np.zeros(self.num_parameters)
        for features in self.data:
            self.set_angles(parameters, features)
            value = self.expectation()
            loss += value**2 / len(self.data)
            gradient += 2 * value * self.slopes() / len(self.data)
        return loss, gradient


def build(case: Case) -> Qulacs:
    """Build a case."""
    return Qulacs(case)


def add(circuit: ParametricQuantumCircuit, step: Step) -> Iterator[tuple[Step, float]]:
    """Append a gate; yield each rotation that it took, with its angle's factor."""
    qubits = list(step.qubits)
    if step.gate in LETTERS:
        yield rotation(circuit, step, qubits, LETTERS[step.gate], -1.0)
    elif step.gate == "crx":  # controlled rotations have no gradient in Qulacs
        yield rotation(circuit, step, qubits[1:], (1,), -0.5)
        yield rotation(circuit, step, qubits, (3, 1), 0.5)
    elif step.matrix is not None:
        circuit.add_dense_matrix_gate(qubits, step.matrix)
    else:
        names = {"cx": "CNOT", "cz": "CZ", "swap": "SWAP", "h": "H", "t": "T"}
        getattr(circuit, f"add_{names[step.gate]}_gate")(*qubits)


def rotation(
    circuit: ParametricQuantumCircuit,
    step: Step,
    qubits: list[int],
    letters: tuple[int, ...],
    factor: float,
) -> tuple[Step, float]:
    """Append exp(+i angle/2 P); return the step and the factor."""
    if len(qubits) == 1:
        getattr(circuit, f"add_parametric_R{'IXYZ'[letters[0]]}_gate")(qubits[0], 0.0)
    else:
        circuit.add_parametric_multi_Pauli_rotation_gate(qubits, list(letters), 0.0)
    return step, factor
