"""Measurements, resets, modifiers, blocks and loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import (
    AnnotatedOperation,
    ControlModifier,
    InverseModifier,
    Parameter,
    PowerModifier,
)
from qiskit.circuit import library as lib
from qiskit.quantum_info import Operator, Pauli, Statevector
from qiskit_circuits import deviation, matrix

from circuits import ConversionError
from circuits.interop import from_qiskit

A, B = Parameter("a"), Parameter("b")


def test_barriers_and_delays_are_reported_as_ignored() -> None:
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.barrier()
    circuit.delay(10, 1)
    circuit.barrier(0)
    report = from_qiskit(circuit).import_report
    assert report.ignored == {
        ("barrier", "orders compilation only"): 2,
        ("delay", "does nothing without noise"): 1,
    }


def test_final_measurements_are_a_map_from_qubit_to_classical_bit() -> None:
    circuit = QuantumCircuit(5, 3)
    circuit.x(4)
    circuit.measure([1, 3, 4], [0, 1, 2])
    circuit.barrier()
    imported = from_qiskit(circuit)
    assert imported.measured == {0: 1, 1: 3, 2: 4}
    assert imported.counts(16, seed=1, engine="reference") == {"100": 16}
    assert imported.import_report.mapped == {"x": 1, "measure": 3}


def test_measurement_inside_an_instruction_goes_to_the_right_bit() -> None:
    inner = QuantumCircuit(2, 2, name="readout")
    inner.measure([0, 1], [1, 0])
    circuit = QuantumCircuit(3, 4)
    circuit.append(inner.to_instruction(), [2, 0], [3, 1])
    assert from_qiskit(circuit).measured == {1: 2, 3: 0}


def dynamic(qc: QuantumCircuit) -> None:
    with qc.if_test((qc.clbits[0], 1)):
        qc.x(1)


def leaving_loop(qc: QuantumCircuit) -> None:
    body = QuantumCircuit(1)
    body.break_loop()
    qc.for_loop(range(3), None, body, [1], [])


REFUSED: dict[str, tuple[Any, str]] = {
    "if": (dynamic, r"without control flow, got instruction 'if_else' at position 2 .*\(1,\)"),
    "while": (
        lambda qc: qc.while_loop((qc.clbits[0], 1), QuantumCircuit(1), [1], []),
        "'while_loop' at position 2",
    ),
    "switch": (
        lambda qc: qc.switch(qc.clbits[0], [(0, QuantumCircuit(1))], [1], []),
        "'switch_case' at position 2",
    ),
    "break": (leaving_loop, "'break_loop' inside 'for_loop' at position 2"),
    "reset": (lambda qc: qc.reset(1), r"'reset' at position 2 .*after gates on \[1\].*fresh"),
    "initialize": (
        lambda qc: qc.initialize([0.6, 0.8], 1),
        r"'initialize' at position 2 .*after gates on \[1\]",
    ),
    "gate after": (lambda qc: qc.h(0), r"'h' at position 2 .*mid-circuit measurement of \[0\]"),
    "reset after": (lambda qc: qc.reset(0), r"'reset' at position 2 .*after gates on \[0\]"),
    "same bit": (lambda qc: qc.measure(1, 0), "'measure' at position 2 .*classical bit 0"),
    "Pauli product": (
        lambda qc: qc.append(lib.PauliProductMeasurement(Pauli("XZ")), [0, 1], [1]),
        "'pauli_product_measurement' at position 2 .*of a Pauli word",
    ),
    "store": (
        lambda qc: qc.store(qc.add_var("flag", False), True),
        r"without classical variables.*\['flag'\]",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_unitary_is_refused_with_its_place(case: str) -> None:
    add, match = REFUSED[case]
    circuit = QuantumCircuit(2, 2)
    circuit.cx(0, 1)
    circuit.measure(0, 0)
    add(circuit)
    with pytest.raises(ConversionError, match=match):
        from_qiskit(circuit)


def test_reset_and_initialize_of_fresh_qubits_are_imported() -> None:
    circuit = QuantumCircuit(4)
    circuit.h(1)
    circuit.reset(3)
    circuit.initialize(np.array([1, 1j, 0, 1]) / np.sqrt(3), [0, 2])
    circuit.initialize("1", 3)
    imported = from_qiskit(circuit)
    found = imported.statevector(engine="reference").numpy()
    assert np.abs(found - Statevector(circuit).data).max() < 1e-13
    assert imported.import_report.ignored == {("reset", "the qubit is in |0> here"): 4}


MODIFIED: dict[str, Any] = {
    "inverse then control": (lib.RXGate(B), [InverseModifier(), ControlModifier(1, 0)]),
    "controls then power": (lib.CRYGate(A), [ControlModifier(2, 1), PowerModifier(3)]),
    "two controls": (lib.RZXGate(A), [ControlModifier(1, 0), ControlModifier(1, 1)]),
    "nested": (AnnotatedOperation(lib.HGate(), ControlModifier(1)), [ControlModifier(1, 0)]),
    "fraction of a number": (lib.SGate(), [PowerModifier(0.5), ControlModifier(1)]),
    "fraction of a symbol": (lib.RXGate(A), [PowerModifier(0.5), InverseModifier()]),
    "power 0": (lib.RXGate(A), [PowerModifier(0)]),
}


@pytest.mark.parametrize("case", MODIFIED)
def test_annotated_operation_is_qiskits(case: str) -> None:
    operation = AnnotatedOperation(*MODIFIED[case])
    circuit = QuantumCircuit(4)
    circuit.append(operation, [3, 1, 0, 2][: operation.num_qubits])
    assert deviation(circuit) < 1e-13


UNDONE: dict[str, Any] = {
    "measure": lambda qc: qc.measure(0, 0),
    "reset": lambda qc: qc.reset(0),
    "initialize": lambda qc: qc.initialize([0.6, 0.8], 0),
}


@pytest.mark.parametrize(
    "modifier",
    [ControlModifier(1), InverseModifier(), PowerModifier(2)],
    ids=["control", "inverse", "power"],
)
@pytest.mark.parametrize("name", UNDONE)
def test_what_is_no_gate_has_no_modifier(name: str, modifier: Any) -> None:
    inner = QuantumCircuit(1, 1)
    UNDONE[name](inner)
    operation = AnnotatedOperation(inner.to_instruction(), modifier)
    circuit = QuantumCircuit(2, 1)
    circuit.append(operation, [0, 1][: operation.num_qubits], [0])
    match = f"controls, inverses and powers of gates only, got instruction '{name}'"
    with pytest.raises(ConversionError, match=match):
        from_qiskit(circuit)


def test_absurd_powers_and_loops_are_refused_at_once() -> None:
    body = QuantumCircuit(1)
    body.x(0)
    loop, power = QuantumCircuit(1), QuantumCircuit(1)
    loop.for_loop(range(10**9), None, body, [0], [])
    power.append(AnnotatedOperation(lib.XGate(), PowerModifier(10**9)), [0])
    for circuit in (loop, power):
        with pytest.raises(ConversionError, match=r"at most \d+ operations in definitions, loops"):
            from_qiskit(circuit)


def test_fraction_of_a_modified_gate_is_refused() -> None:
    circuit = QuantumCircuit(2)
    modifiers = [ControlModifier(1), PowerModifier(0.5)]
    circuit.append(AnnotatedOperation(lib.RXGate(A), modifiers), [0, 1])
    with pytest.raises(ConversionError, match="integer powers, got instruction 'annotated'"):
        from_qiskit(circuit)


def test_box_is_inlined() -> None:
    body = QuantumCircuit(2, global_phase=A)
    body.cx(0, 1)
    circuit = QuantumCircuit(3)
    circuit.box(body, [2, 0], [])
    expected = QuantumCircuit(3, global_phase=0.3)
    expected.cx(2, 0)
    imported = from_qiskit(circuit)
    assert np.abs(matrix(imported, [0.3]) - Operator(expected).data).max() < 1e-14
    assert imported.import_report.decomposed == {"box": 1}


def test_loop_over_known_numbers_is_unrolled_with_its_parameter() -> None:
    index = Parameter("i")
    body = QuantumCircuit(1)
    body.rx(index * A + 1, 0)
    body.rz(index.sin(), 0)
    circuit = QuantumCircuit(2)
    circuit.for_loop((0, 3, 5), index, body, [1], [])
    expected = QuantumCircuit(2)
    for k in (0, 3, 5):
        expected.rx(k * 0.3 + 1, 1)
        expected.rz(np.sin(k), 1)
    imported = from_qiskit(circuit)
    assert [p.name for p in imported.parameters()] == ["a"]
    assert np.abs(matrix(imported, [0.3]) - Operator(expected).data).max() < 1e-14
