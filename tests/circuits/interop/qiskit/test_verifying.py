"""The check that users run on their own circuits, and that it fails for a wrong import."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter, ParameterVector
from qiskit.circuit import library as lib
from qiskit.quantum_info import SparsePauliOp

from circuits import CapacityError, Circuit, ConversionError
from circuits.interop.qiskit import verify_import, verifying

A = Parameter("a")
X = ParameterVector("x", 3)


def everything() -> QuantumCircuit:
    block = QuantumCircuit(2, name="block", global_phase=A)
    block.crx(A * X[0], 0, 1)
    circuit = QuantumCircuit(4, 2, global_phase=0.3)
    circuit.prepare_state([0.6, 0, 0, 0.8j], [0, 2])
    circuit.append(block.to_gate().control(1, annotated=False), [3, 1, 2])
    evolution = lib.PauliEvolutionGate(SparsePauliOp(["XX", "ZI", "IY"]), time=X[2].sin())
    circuit.append(evolution, [1, 3])
    circuit.delay(10, 0)
    circuit.barrier()
    circuit.measure([3, 0], [0, 1])
    return circuit


CIRCUITS: dict[str, Any] = {
    "ansatz": lambda: lib.efficient_su2(3, reps=1),
    "everything": everything,
    "numbers only": lambda: lib.quantum_volume(3, seed=1),
    "empty": lambda: QuantumCircuit(2),
}


@pytest.mark.parametrize("name", CIRCUITS)
def test_import_is_verified(name: str) -> None:
    found = verify_import(CIRCUITS[name]())
    assert max(found.state, found.reversed_state) < 1e-12
    assert found.gradient < 1e-8


def test_inputs_take_part() -> None:
    assert verify_import(everything(), inputs={"x": X}).gradient < 1e-8


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_exact_evolution_is_verified() -> None:
    circuit = QuantumCircuit(2)
    circuit.h([0, 1])
    circuit.append(lib.PauliEvolutionGate(SparsePauliOp(["ZZ", "ZI"]), time=A), [0, 1])
    assert verify_import(circuit, evolution="exact").state < 1e-13


def wrong_phase(circuit: Circuit) -> Circuit:
    return circuit.global_phase(1e-6)


def wrong_slope(circuit: Circuit) -> Circuit:
    """The same at the point, with another derivative."""
    (step,) = circuit.instructions
    bent = Circuit(1)
    (p,) = circuit.parameters()
    bent.rx(p + 1e-3 * (p - verifying_point()) * 1.0, 0)
    bent.import_report = circuit.import_report
    assert step.name == "rx"
    return bent


def verifying_point() -> float:
    return float(np.random.default_rng(0).uniform(0.1, 0.9))


@pytest.mark.parametrize("fault", [wrong_phase, wrong_slope])
def test_wrong_import_is_found(fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = QuantumCircuit(1)
    circuit.rx(A, 0)
    right = verifying.import_circuit
    monkeypatch.setattr(verifying, "import_circuit", lambda *args: fault(right(*args)))
    with pytest.raises(ConversionError, match=r"verify_import needs states within 1e-09"):
        verify_import(circuit)


def test_boxes_loops_and_gates_of_any_name_are_verified() -> None:
    index, body = Parameter("i"), QuantumCircuit(1, global_phase=A)
    body.rx(index * A, 0)
    outer = QuantumCircuit(2)
    outer.for_loop(range(3), index, body, [1], [])
    misnamed = QuantumCircuit(1, name="measure")
    misnamed.t(0)
    circuit = QuantumCircuit(2, 1)
    circuit.h(0)
    circuit.box(outer, [1, 0], [])
    circuit.append(misnamed.to_gate(), [0])
    circuit.measure(0, 0)
    assert verify_import(circuit).gradient < 1e-8


ANGLES: dict[str, Any] = {
    "fast": (100 * A).sin(),
    "steep": 100 * A.exp(),
    "real far out": (A - 10).log(),
    "narrow": (2 * A).arcsin(),
}


@pytest.mark.parametrize("name", ANGLES)
def test_angles_of_any_kind_are_verified(name: str) -> None:
    circuit = QuantumCircuit(1)
    circuit.h(0)
    circuit.rz(ANGLES[name], 0)
    assert verify_import(circuit).state < 1e-12


def test_angles_that_are_real_at_no_common_point_are_refused() -> None:
    circuit = QuantumCircuit(1)
    circuit.rx((A - 3).log(), 0)
    circuit.rx((2 - A).log(), 0)
    with pytest.raises(ConversionError, match="real numbers at one point"):
        verify_import(circuit)


def without_value(circuit: Circuit) -> Circuit:
    """A gradient that is NaN where the state is right."""
    (p,) = circuit.parameters()
    bent = Circuit(1)
    bent.rx(p + (0.0 * (p - verifying_point())) ** 0.5, 0)
    bent.import_report = circuit.import_report
    return bent


def test_nan_is_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = QuantumCircuit(1)
    circuit.rx(A, 0)
    right = verifying.import_circuit
    monkeypatch.setattr(verifying, "import_circuit", lambda *args: without_value(right(*args)))
    with pytest.raises(ConversionError, match="gradient=nan"):
        verify_import(circuit)


def test_wide_circuit_is_refused_by_its_size() -> None:
    with pytest.raises(CapacityError, match="60 qubits"):
        verify_import(QuantumCircuit(60))


def test_circuit_that_qiskit_cannot_run_is_refused() -> None:
    readout = QuantumCircuit(1, 1, name="readout")
    readout.measure(0, 0)
    circuit = QuantumCircuit(1, 1)
    circuit.append(readout.to_instruction(), [0], [0])
    with pytest.raises(ConversionError, match="Qiskit's Statevector can run"):
        verify_import(circuit)
