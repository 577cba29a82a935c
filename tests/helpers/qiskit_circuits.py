"""Qiskit circuits beside their imports: matrices at random values, and the comparison of both."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from qiskit import QuantumCircuit
from qiskit.quantum_info import Operator

from circuits import Circuit
from circuits.interop import from_qiskit

Matrix = NDArray[np.complex128]


def random_values(
    circuit: QuantumCircuit, seed: int, low: float = 0.2, high: float = 0.9
) -> NDArray[np.float64]:
    """One value for each of Qiskit's Parameters, in the order of ``circuit.parameters``."""
    return np.random.default_rng(seed).uniform(low, high, circuit.num_parameters)


def bound(circuit: QuantumCircuit, values: NDArray[np.float64]) -> QuantumCircuit:
    """The circuit with numbers in the place of its symbols."""
    return circuit.assign_parameters(dict(zip(circuit.parameters, values, strict=True)))


def matrix(circuit: Circuit, values: Any = None) -> Matrix:
    """Our circuit's matrix, from the reference engine."""
    return circuit.unitary(values=values, engine="reference").numpy()


def deviation(circuit: QuantumCircuit, seed: int = 0, **options: Any) -> float:
    """Largest difference of the matrices, at random values, global phase included."""
    values = random_values(circuit, seed)
    expected = Operator(bound(circuit, values)).data
    return float(np.abs(matrix(from_qiskit(circuit, **options), values) - expected).max())
