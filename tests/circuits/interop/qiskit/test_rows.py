"""Every standard gate, plain and under controls, is Qiskit's."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter
from qiskit.circuit import library as lib
from qiskit.circuit.library import get_standard_gate_name_mapping
from qiskit_circuits import deviation

from circuits import GATES
from circuits.interop import from_qiskit
from circuits.interop.qiskit.rows import class_of, controlled_row, rows_by_class

STANDARD = {
    name: gate
    for name, gate in get_standard_gate_name_mapping().items()
    if name not in ("delay", "reset", "measure")
}


def test_standard_gates_have_a_row_each() -> None:
    assert {class_of(gate) for gate in STANDARD.values()} <= rows_by_class().keys()
    assert len(STANDARD) >= 50


@pytest.mark.parametrize("ctrl_state", [None, 1, 0], ids=["plain", "control", "open control"])
@pytest.mark.parametrize("name", STANDARD)
def test_gate_on_shuffled_qubits_is_qiskits(name: str, ctrl_state: int | None) -> None:
    rng = np.random.default_rng(len(name))
    gate = STANDARD[name].base_class(*rng.uniform(-3, 3, len(STANDARD[name].params)))
    if ctrl_state is not None:
        gate = gate.control(1, ctrl_state=ctrl_state, annotated=False)
    circuit = QuantumCircuit(gate.num_qubits + 1, global_phase=0.3)
    circuit.append(gate, list(rng.permutation(gate.num_qubits + 1)[: gate.num_qubits]))
    assert deviation(circuit) < 1e-13


@pytest.mark.parametrize("annotated", [False, True], ids=["controlled gate", "annotated"])
@pytest.mark.parametrize("name", STANDARD)
def test_gate_keeps_its_symbols_under_mixed_controls(name: str, annotated: bool) -> None:
    symbols = [Parameter(f"t{k}") for k in range(len(STANDARD[name].params))]
    gate = STANDARD[name].base_class(*symbols).control(2, ctrl_state=1, annotated=annotated)
    circuit = QuantumCircuit(gate.num_qubits)
    circuit.append(gate, list(reversed(range(gate.num_qubits))))
    assert [p.name for p in from_qiskit(circuit).parameters()] == [p.name for p in symbols]
    assert deviation(circuit, seed=len(name)) < 1e-13


@pytest.mark.parametrize("ctrl_state", [0, 1, 2, 3])
def test_multi_controlled_gates_keep_their_control_state(ctrl_state: int) -> None:
    circuit = QuantumCircuit(5)
    circuit.mcx([3, 1], 0, ctrl_state=ctrl_state)
    circuit.append(lib.MCXGate(4, ctrl_state=5 + ctrl_state), [4, 0, 2, 1, 3])
    circuit.append(lib.C3XGate(ctrl_state=ctrl_state), [0, 1, 4, 3])
    circuit.append(lib.MCPhaseGate(0.7, 2, ctrl_state=ctrl_state), [2, 0, 4])
    circuit.append(
        lib.CUGate(0.1, 0.2, 0.3, 0.4).control(2, ctrl_state=ctrl_state, annotated=False),
        [1, 4, 0, 2],
    )
    circuit.append(lib.CUGate(0.1, 0.2, 0.3, 0.4, ctrl_state=0), [2, 3])
    assert deviation(circuit) < 1e-13


def test_controlled_gates_take_the_row_that_has_a_name() -> None:
    circuit = QuantumCircuit(6)
    for k in range(1, 6):
        circuit.append(lib.XGate().control(k, annotated=False), range(k + 1))
    assert from_qiskit(circuit).count_ops() == {"mcx": 3, "cx": 1, "ccx": 1}
    assert controlled_row(GATES["ry"], 1) is GATES["cry"]


def test_gate_on_more_qubits_than_base_and_controls_is_taken_by_its_definition() -> None:
    circuit = QuantumCircuit(5)
    circuit.append(lib.MCMTGate(lib.RYGate(Parameter("a")), 2, 3), [4, 0, 2, 1, 3])
    assert deviation(circuit) < 1e-13


def test_users_gate_named_h_is_not_hadamard() -> None:
    block = QuantumCircuit(1, name="h")
    block.x(0)
    circuit = QuantumCircuit(1)
    circuit.append(block.to_gate(), [0])
    imported = from_qiskit(circuit)
    assert imported.count_ops() == {"x": 1}
    assert imported.import_report.decomposed == {"h": 1}


def test_users_subclass_of_a_standard_gate_is_taken_by_its_definition() -> None:
    class Flip(lib.RXGate):
        def _define(self) -> None:
            self.definition = QuantumCircuit(1)
            self.definition.z(0)

    circuit = QuantumCircuit(1)
    circuit.append(Flip(0.3), [0])
    assert from_qiskit(circuit).count_ops() == {"z": 1}
