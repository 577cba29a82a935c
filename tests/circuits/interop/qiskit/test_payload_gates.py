"""Library gates that carry matrices, patterns and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import AnnotatedOperation, ControlModifier, Gate, Parameter
from qiskit.circuit import library as lib
from qiskit.quantum_info import Operator, Pauli, random_clifford, random_unitary
from qiskit_circuits import deviation, matrix

from circuits.interop import from_qiskit
from circuits.interop.qiskit.payload_gates import PAYLOAD_GATES

A, B = Parameter("a"), Parameter("b")
HERMITIAN = np.array([[1, 0.2 - 0.1j], [0.2 + 0.1j, 2]])

GATES: dict[str, tuple[Gate, str]] = {
    "unitary": (lib.UnitaryGate(random_unitary(4, seed=1)), "unitary"),
    "diagonal": (lib.DiagonalGate([1, -1, 1j, np.exp(0.3j)]), "diagonal"),
    "permutation": (lib.PermutationGate([2, 0, 1]), "permutation"),
    "pauli": (lib.PauliGate("XYZ"), "pauli"),
    "rotation": (lib.PauliProductRotationGate(Pauli("XYZ"), A * B), "pauli_rotation"),
    "negative rotation": (lib.PauliProductRotationGate(Pauli("-ZIX"), A), "pauli_rotation"),
    "hamiltonian": (lib.HamiltonianGate(HERMITIAN, 0.3), "unitary"),
}


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("controlled", [False, True], ids=["plain", "open control"])
@pytest.mark.parametrize("case", GATES)
def test_gate_on_shuffled_qubits_is_qiskits(case: str, controlled: bool) -> None:
    gate, name = GATES[case]
    whole = AnnotatedOperation(gate, ControlModifier(1, 0)) if controlled else gate
    circuit = QuantumCircuit(4)
    circuit.append(whole, [2, 0, 3, 1][: whole.num_qubits])
    assert deviation(circuit) < 1e-13
    assert from_qiskit(circuit).count_ops() == {name: 1}


def test_every_handler_has_a_case_here_or_in_test_evolution() -> None:
    assert {type(gate).__name__ for gate, _ in GATES.values()} | {
        "PauliEvolutionGate",
        "Clifford",
    } == {cls.__name__ for cls in PAYLOAD_GATES}


def test_hamiltonian_keeps_a_symbolic_time() -> None:
    circuit = QuantumCircuit(2)
    circuit.append(lib.HamiltonianGate(HERMITIAN, 2 * A), [1])
    numbers = QuantumCircuit(2)
    numbers.append(lib.HamiltonianGate(HERMITIAN, 0.6), [1])
    found = matrix(from_qiskit(circuit), [0.3])
    assert np.abs(found - Operator(numbers).data).max() < 1e-13


@pytest.mark.parametrize("seed", range(3))
def test_clifford_is_qiskits(seed: int) -> None:
    circuit = QuantumCircuit(3)
    circuit.append(random_clifford(3, seed=seed), [2, 0, 1])
    assert deviation(circuit) < 1e-13


def test_users_subclass_is_taken_by_its_definition() -> None:
    class Labelled(lib.UnitaryGate):
        def _define(self) -> None:
            self.definition = QuantumCircuit(1)
            self.definition.x(0)

    circuit: Any = QuantumCircuit(1)
    circuit.append(Labelled(np.eye(2)), [0])
    assert from_qiskit(circuit).count_ops() == {"x": 1}
