"""Pauli evolution: the product formula that hardware runs, and the exact exponential."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter
from qiskit.circuit.library import HamiltonianGate, PauliEvolutionGate
from qiskit.quantum_info import Operator, SparseObservable, SparsePauliOp
from qiskit.synthesis import LieTrotter, MatrixExponential, SuzukiTrotter
from qiskit_circuits import deviation, matrix, random_values
from scipy.linalg import expm

from circuits import ConversionError, X
from circuits.interop import from_qiskit

A, B = Parameter("a"), Parameter("b")
MIXED = SparsePauliOp(["XXI", "IZY", "ZZZ", "III"], [0.5, 1, 2, 0.3])
COMMUTING = SparsePauliOp(["ZZI", "IZZ", "IIZ", "III"], [0.5, 1, 2, 0.3])
WHERE = [2, 0, 1]

SYNTHESES: dict[str, Any] = {
    "default": None,
    "two steps": LieTrotter(reps=2),
    "second order": SuzukiTrotter(order=2, reps=2),
    "wrapped": LieTrotter(wrap=True),
    "fountain": LieTrotter(cx_structure="fountain", insert_barriers=True),
}


def evolution(operator: Any, time: Any, synthesis: Any = None) -> QuantumCircuit:
    circuit = QuantumCircuit(3)
    circuit.append(PauliEvolutionGate(operator, time=time, synthesis=synthesis), WHERE)
    return circuit


@pytest.mark.parametrize("operator", [MIXED, COMMUTING, [MIXED, COMMUTING]], ids=["m", "c", "list"])
@pytest.mark.parametrize("case", SYNTHESES)
def test_definition_is_the_product_formula(case: str, operator: Any) -> None:
    circuit = evolution(operator, A * B, SYNTHESES[case])
    values = random_values(circuit, seed=3)
    expected = Operator(circuit.decompose(reps=3).assign_parameters(values)).data
    assert np.abs(matrix(from_qiskit(circuit), values) - expected).max() < 1e-13


def test_product_formula_is_one_rotation_a_term() -> None:
    assert from_qiskit(evolution(MIXED, A)).count_ops() == {
        "pauli_rotation": 2,
        "rxx": 1,
        "global_phase": 1,
    }


@pytest.mark.parametrize("time", [0.4, A * B], ids=["number", "symbol"])
@pytest.mark.parametrize("operator", [MIXED, COMMUTING], ids=["mixed", "commuting"])
def test_exact_is_the_matrix_exponential(operator: SparsePauliOp, time: Any) -> None:
    circuit = QuantumCircuit(3)
    circuit.append(PauliEvolutionGate(operator, time=time), [0, 1, 2])
    values = None if isinstance(time, float) else [0.8, 0.5]
    found = matrix(from_qiskit(circuit, evolution="exact"), values)
    assert np.abs(found - expm(-0.4j * operator.to_matrix())).max() < 1e-13


def test_projectors_are_taken_by_the_definition() -> None:
    circuit = evolution(SparseObservable.from_list([("01+", 0.5), ("IZX", 1.0)]), A)
    values = random_values(circuit, seed=3)
    expected = Operator(circuit.decompose(reps=3).assign_parameters(values)).data
    assert np.abs(matrix(from_qiskit(circuit), values) - expected).max() < 1e-13


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_exact_synthesis_is_exact() -> None:
    assert deviation(evolution(MIXED, 0.4, MatrixExponential())) < 1e-13


def test_label_order_on_three_qubits() -> None:  # case O12
    circuit = QuantumCircuit(3)
    circuit.h([0, 1, 2])
    operator = SparsePauliOp(["IIZ", "IZI", "IZZ"])
    circuit.append(PauliEvolutionGate(operator, time=A), [0, 1, 2])
    imported = from_qiskit(circuit, values=[0.3])
    found = imported.expectation([X(0), X(1), X(2)], engine="reference")
    assert found.tolist() == pytest.approx([0.6811788772, 0.6811788772, 1.0], abs=1e-10)
    found[0].backward()
    assert imported.parameters()[0].grad.item() == pytest.approx(-1.8640781719, abs=1e-10)


def test_identity_term_with_symbolic_time_under_control() -> None:  # case O13
    block = QuantumCircuit(2)
    block.append(PauliEvolutionGate(SparsePauliOp(["II"], [0.5]), time=A), [0, 1])
    circuit = QuantumCircuit(3)
    circuit.h(0)
    circuit.append(block.to_gate().control(1, annotated=False), [0, 1, 2])
    imported = from_qiskit(circuit, values=[0.8])
    found = imported.expectation(X(0), engine="reference")
    assert found.item() == pytest.approx(0.9210609940, abs=1e-10)
    found.backward()
    assert imported.parameters()[0].grad.item() == pytest.approx(-0.1947091712, abs=1e-10)


def test_wide_exact_evolution_with_a_symbol_is_refused() -> None:
    circuit = QuantumCircuit(9)
    circuit.append(HamiltonianGate(np.eye(512), A), range(9))
    with pytest.raises(ConversionError, match=r"at most 8 qubits.*'hamiltonian' at position 0"):
        from_qiskit(circuit)
