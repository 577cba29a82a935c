"""Which symbols become Inputs, and the identity of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter, ParameterVector
from qiskit.circuit.library import efficient_su2, zz_feature_map
from qiskit.quantum_info import SparsePauliOp, Statevector

from circuits import BindingError, ConversionError, Z
from circuits.interop import from_qiskit
from circuits.interop.qiskit.symbol_inputs import identity

V = ParameterVector("v", 12)
A = Parameter("a")


def mixed() -> QuantumCircuit:
    circuit = QuantumCircuit(1)
    for angle in (V[10], A, V[2], V[1] * A):
        circuit.rx(angle, 0)
    return circuit


GIVEN: dict[str, Any] = {
    "vector": V,
    "name of the vector": "v",
    "Parameters": [V[1], V[2], V[10]],
    "names": ["v[1]", "v[2]", "v[10]"],
}


@pytest.mark.parametrize("given", GIVEN)
def test_vector_becomes_an_input(given: str) -> None:
    imported = from_qiskit(mixed(), inputs={"x": GIVEN[given]}, values=[0.5])
    assert [p.name for p in imported.parameters()] == ["a"]
    (x,) = imported.inputs
    assert (x.name, x.shape) == ("x", (3,) if isinstance(GIVEN[given], list) else (12,))
    values = dict(zip(imported.import_report.inputs["x"], np.linspace(0, 1, *x.shape), strict=True))
    found = imported.expectation(
        Z(0), inputs={"x": list(values.values())}, engine="reference"
    ).item()
    total = values["v[10]"] + 0.5 + values["v[2]"] + values["v[1]"] * 0.5
    assert found == pytest.approx(np.cos(total), abs=1e-12)


def test_feature_map_and_ansatz_agree_with_qiskit_for_a_batch() -> None:
    features, ansatz = zz_feature_map(3), efficient_su2(3, reps=1)
    circuit = features.compose(ansatz)
    imported = from_qiskit(circuit, inputs={"x": features.parameters})
    rng = np.random.default_rng(2)
    rows, values = rng.uniform(-1, 1, (4, 3)), rng.uniform(-1, 1, 12)
    found = imported.expectation(Z(0) @ Z(2), inputs={"x": rows}, values=values)
    for row, value in zip(rows, found.tolist(), strict=True):
        point = dict(zip(features.parameters, row, strict=True))
        point |= dict(zip(ansatz.parameters, values, strict=True))
        state = Statevector(circuit.assign_parameters(point))
        expected = state.expectation_value(SparsePauliOp("ZIZ")).real
        assert value == pytest.approx(expected, abs=1e-12)


def test_single_parameter_may_stand_alone() -> None:
    imported = from_qiskit(mixed(), inputs={"angle": A})
    assert imported.inputs[0].shape == (1,)


BAD: dict[str, tuple[Any, str]] = {
    "unknown name": ({"x": ["b"]}, "input 'x' needs Parameters of the circuit or their names"),
    "another Parameter": ({"x": [Parameter("a")]}, "got Parameter.a.*It has"),
    "foreign vector": ({"x": ParameterVector("w", 2)}, "input 'x' needs symbols of the circuit"),
    "number": ({"x": 3}, "or their names, got 3"),
    "two inputs": ({"x": [A], "y": [A]}, "input 'y' needs symbols of its own, got 'a' twice"),
    "no mapping": ([A], "needs inputs as a mapping from Input names to symbols, got "),
    "a name alone": ("a", "needs inputs as a mapping from Input names to symbols, got 'a'"),
    "repeated": ({"x": [A, A]}, "input 'x' needs symbols of its own, got 'a' twice"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_inputs_are_refused(case: str) -> None:
    given, match = BAD[case]
    with pytest.raises(ConversionError, match=match):
        from_qiskit(mixed(), inputs=given)


def test_parameters_have_qiskits_order_names_and_identity() -> None:
    circuit = mixed()
    parameters = from_qiskit(circuit).parameters()
    assert [p.name for p in parameters] == ["a", "v[1]", "v[2]", "v[10]"]
    assert [p.uuid for p in parameters] == [identity(q) for q in circuit.parameters]
    assert identity(A) == str(A.uuid)
    assert identity(V[1]) != identity(V[2])
    assert [p.item() for p in parameters] == [0.0] * 4


VALUES: dict[str, Any] = {
    "list": [1.0, 2.0, 3.0, 4.0],
    "Parameters": {A: 1.0, V[1]: 2.0, V[2]: 3.0, V[10]: 4.0},
    "names": {"v[10]": 4.0, "a": 1.0, "v[2]": 3.0, "v[1]": 2.0},
}


@pytest.mark.parametrize("case", VALUES)
def test_values_are_given_in_order_by_parameter_or_by_name(case: str) -> None:
    imported = from_qiskit(mixed(), values=VALUES[case])
    assert [p.item() for p in imported.parameters()] == [1.0, 2.0, 3.0, 4.0]


def test_values_are_given_by_vector() -> None:
    w = ParameterVector("w", 3)
    circuit = QuantumCircuit(1)
    for k in (2, 0, 1):
        circuit.rx(w[k], 0)
    imported = from_qiskit(circuit, values={w: [0.1, 0.2, 0.3]})
    assert [p.item() for p in imported.parameters()] == [0.1, 0.2, 0.3]
    rows = np.array([[0.1, 0.2, 0.3], [1.0, 1.0, 1.0]])
    found = imported.expectation(Z(0), values={w: rows}, engine="reference")
    assert found.tolist() == pytest.approx(np.cos(rows.sum(axis=1)))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        ({V: [0.1, 0.2]}, "one number for each of the 12 elements of ParameterVector"),
        ({V: 0.1}, r"12 elements of ParameterVector.*got shape \(\)"),
        ({Parameter("b"): 0.1}, "Parameters of the circuit or their names"),
    ],
    ids=["short", "number", "unknown"],
)
def test_values_that_do_not_fit_are_refused(values: Any, match: str) -> None:
    with pytest.raises(BindingError, match=match):
        from_qiskit(mixed(), values=values)
