"""TensorCircuit-NG on JAX: one compiled function for value and gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorcircuit as tc

from benchmarks.cases import Case, RealArray
from benchmarks.libraries import Evaluation

# Any in this file: JAX's traced arrays.
NAMES = {"cx": "cnot"}


class TensorCircuit(Evaluation):
    """Value and gradient of a case's loss; compiled at the first call."""

    def __init__(self, case: Case) -> None:
        self.backend = tc.set_backend("jax")
        tc.set_dtype("complex64" if case.single else "complex128")
        self.case = case
        self.hamiltonian = self.sparse_hamiltonian()
        self.data = self.backend.convert_to_tensor(case.data()) if case.batch else None
        self.function = self.backend.jit(self.backend.value_and_grad(self.loss))

    def sparse_hamiltonian(self) -> Any:
        """Return H as a sparse matrix: one product in place of a contraction for each term."""
        structures = np.zeros((len(self.case.terms), self.case.num_qubits), int)
        for row, (_, word) in zip(structures, self.case.terms, strict=True):
            for letter, qubit in word:
                row[qubit] = "IXYZ".index(letter)
        weights = [coefficient for coefficient, _ in self.case.terms]
        return tc.quantum.PauliStringSum2COO(structures.tolist(), weights)

    def expectation(self, parameters: Any, features: Any) -> Any:
        """Return <H> of one sample."""
        circuit = tc.Circuit(self.case.num_qubits)
        for step in self.case.steps:
            gate = getattr(circuit, NAMES.get(step.gate, step.gate))
            if step.matrix is not None:  # the first qubit is the most significant one
                gate(*step.qubits[::-1], unitary=step.matrix)
            elif step.feature is not None:
                gate(*step.qubits, theta=features[step.feature])
            elif step.slot is not None:
                gate(*step.qubits, theta=parameters[step.slot])
            else:
                gate(*step.qubits)
        return tc.templates.measurements.sparse_expectation(circuit, self.hamiltonian)

    def loss(self, parameters: Any) -> Any:
        """Return <H>, or the mean over the samples of <H>^2."""
        if self.data is None:
            return self.expectation(parameters, None)
        each = self.backend.vmap(self.expectation, vectorized_argnums=1)
        return self.backend.mean(each(parameters, self.data) ** 2)

    def __call__(self, parameters: RealArray) -> tuple[float, RealArray]:
        value, gradient = self.function(self.backend.convert_to_tensor(parameters))
        return float(value), np.asarray(gradient)


def build(case: Case) -> TensorCircuit:
    """Build a case."""
    return TensorCircuit(case)
