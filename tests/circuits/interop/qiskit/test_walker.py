"""Walking definitions: custom gates, phases, controls, and what is refused on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Gate, Parameter
from qiskit.circuit import library as lib
from qiskit.quantum_info import Operator
from qiskit_circuits import deviation, matrix

from circuits import ConversionError
from circuits.interop import from_qiskit

A, B = Parameter("a"), Parameter("b")


def block() -> Gate:
    """A gate with a symbolic global phase, nested definitions and a number as phase."""
    inner = QuantumCircuit(1, name="inner", global_phase=0.4)
    inner.rx(A, 0)
    outer = QuantumCircuit(2, name="block", global_phase=A * B)
    outer.crz(A * B, 0, 1)
    outer.append(inner.to_gate(), [1])
    return outer.to_gate()


FORMS: dict[str, Any] = {
    "plain": lambda g: g,
    "controlled": lambda g: g.control(1, annotated=False),
    "open control": lambda g: g.control(2, ctrl_state=1, annotated=False),
    "annotated control": lambda g: g.control(2, ctrl_state=2, annotated=True),
    "inverse": lambda g: g.inverse(),
    "annotated inverse": lambda g: g.inverse(annotated=True),
    "repeat": lambda g: g.repeat(3),
    "power": lambda g: g.power(2, annotated=True),
    "negative power": lambda g: g.power(-2, annotated=True),
}


@pytest.mark.parametrize("form", FORMS)
def test_custom_gate_keeps_its_symbols_and_phases(form: str) -> None:
    gate = FORMS[form](block())
    circuit = QuantumCircuit(4, global_phase=B)
    circuit.append(gate, [3, 0, 2, 1][: gate.num_qubits])
    assert [p.name for p in from_qiskit(circuit).parameters()] == ["a", "b"]
    assert deviation(circuit) < 1e-13


def test_numbers_in_phases_are_one_instruction_at_the_front() -> None:
    circuit = QuantumCircuit(1, global_phase=0.25)
    for _ in range(3):
        part = QuantumCircuit(1, global_phase=0.5)
        circuit.append(part.to_gate(), [0])
    (only,) = from_qiskit(circuit).instructions
    assert (only.name, only.angles) == ("global_phase", (1.75,))


def test_report_counts_what_was_decomposed() -> None:
    circuit = QuantumCircuit(2)
    circuit.append(block(), [0, 1])
    report = from_qiskit(circuit).import_report
    assert report.decomposed == {"block": 1, "inner": 1}
    assert report.mapped == {"global_phase": 2, "crz": 1, "rx": 1}


def test_multiplexers_transforms_and_isometries_are_taken_by_definition() -> None:
    circuit = QuantumCircuit(3)
    circuit.append(lib.UCRYGate([0.1, 0.2]), [0, 1])
    circuit.append(lib.QFTGate(3), [2, 0, 1])
    circuit.append(lib.LinearFunction([[1, 1], [0, 1]]), [0, 2])
    circuit.append(lib.Isometry(np.eye(4)[:, :2], 0, 0), [0, 1])
    circuit.append(lib.UCGate([np.eye(2), np.array([[0, 1], [1, 0]])]), [2, 1])
    assert deviation(circuit) < 1e-13


def test_opaque_gate_is_refused_by_name() -> None:
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.append(Gate("oracle", 2, [A]), [1, 0])
    with pytest.raises(
        ConversionError,
        match=r"definition, got instruction 'oracle' at position 1 on qubits \(1, 0\), opaque",
    ):
        from_qiskit(circuit)


def test_refusal_inside_a_definition_names_the_way_there() -> None:
    inner = QuantumCircuit(1, name="inner")
    inner.append(Gate("oracle", 1, []), [0])
    outer = QuantumCircuit(2, name="outer")
    outer.append(inner.to_gate(), [1])
    circuit = QuantumCircuit(3)
    circuit.append(outer.to_gate(), [0, 2])
    match = r"'oracle' inside 'inner' inside 'outer' at position 0 on qubits \(2,\)"
    with pytest.raises(ConversionError, match=match):
        from_qiskit(circuit)


def test_definition_that_contains_itself_is_refused() -> None:
    class Endless(Gate):
        def __init__(self) -> None:
            super().__init__("endless", 1, [])

        def _define(self) -> None:
            self.definition = QuantumCircuit(1)
            self.definition.append(Endless(), [0])

    circuit = QuantumCircuit(1)
    circuit.append(Endless(), [0])
    with pytest.raises(ConversionError, match=r"nest at most 64 deep.*Break the cycle"):
        from_qiskit(circuit)


def test_definition_that_qiskit_cannot_give_is_refused() -> None:
    class Shy(Gate):
        def _define(self) -> None:
            raise TypeError("no numbers yet")

    circuit = QuantumCircuit(1)
    circuit.append(Shy("shy", 1, [A]), [0])
    with pytest.raises(ConversionError, match=r"'shy' at position 0.*Qiskit says: no numbers yet"):
        from_qiskit(circuit)


@pytest.mark.parametrize(
    "declare",
    [lambda qc: qc.add_var("flag", False), lambda qc: qc.add_stretch("flag")],
    ids=["variable", "stretch"],
)
def test_run_time_variables_are_refused(declare: Any) -> None:
    circuit = QuantumCircuit(1)
    declare(circuit)
    with pytest.raises(ConversionError, match=r"without classical variables.*\['flag'\]"):
        from_qiskit(circuit)


def test_matrix_that_is_not_unitary_is_refused_with_its_place() -> None:
    circuit = QuantumCircuit(1)
    circuit.append(lib.UnitaryGate(np.diag([1.0, 2.0]), check_input=False), [0])
    match = "'unitary' at position 0.*unitary needs a unitary matrix"
    with pytest.raises(ConversionError, match=match):
        from_qiskit(circuit)


class Turn(Gate):
    """A user's class, whose definition follows from its parameters."""

    def __init__(self, first: Any, second: Any) -> None:
        super().__init__("turn", 1, [first, second])

    def _define(self) -> None:
        first, second = self.params
        self.definition = QuantumCircuit(1, global_phase=first / 3)
        self.definition.rx(first / (1 + second * second), 0)


def turn_of_a_circuit(first: Any, second: Any) -> Gate:
    circuit = QuantumCircuit(1, global_phase=first / 3)
    circuit.rx(first, 0)
    circuit.rz(2 * second, 0)
    return circuit.to_gate()


C = Parameter("c")
POINT = {A: 0.3, B: 0.7, C: 0.45}
ASSIGNED: dict[str, tuple[dict[Parameter, Any], tuple[float, float]]] = {
    "swapped": ({A: B, B: A}, (0.7, 0.3)),
    "another symbol": ({A: C * 2}, (0.9, 0.7)),
    "a number": ({A: 0.25}, (0.25, 0.7)),
    "numbers": ({A: 0.25, B: 0.5}, (0.25, 0.5)),
}


@pytest.mark.parametrize("annotated", [False, True], ids=["controlled gate", "annotated"])
@pytest.mark.parametrize("make", [Turn, turn_of_a_circuit])
@pytest.mark.parametrize("case", ASSIGNED)
def test_parameters_assigned_to_a_controlled_gate_count(
    case: str, make: Any, annotated: bool
) -> None:
    """Qiskit leaves the base of a controlled gate the definition of its former parameters."""
    given, numbers = ASSIGNED[case]
    circuit = QuantumCircuit(2)
    circuit.append(make(A, B).control(1, annotated=annotated), [1, 0])
    assigned = circuit.assign_parameters(given)
    expected = QuantumCircuit(2)
    expected.append(make(*numbers).control(1, annotated=False), [1, 0])
    values = {p: POINT[p] for p in assigned.parameters}
    found = matrix(from_qiskit(assigned), values)
    assert np.abs(found - Operator(expected).data).max() < 1e-13


def doubling(levels: int) -> QuantumCircuit:
    """Definitions that each use the one before twice."""
    inner = QuantumCircuit(1)
    inner.x(0)
    for level in range(levels):
        outer = QuantumCircuit(1, name=f"level {level}")
        gate = inner.to_gate()
        outer.append(gate, [0])
        outer.append(gate, [0])
        inner = outer
    return inner


def test_definitions_that_expand_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("circuits.interop.qiskit.walker.MAX_GATES", 1000)
    assert from_qiskit(doubling(8)).size() == 256
    with pytest.raises(ConversionError, match=r"at most 1000 operations in definitions, loops"):
        from_qiskit(doubling(11))
