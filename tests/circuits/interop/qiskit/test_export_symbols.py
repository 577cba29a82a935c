"""Angles become Qiskit's expressions with the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter as QiskitParameter
from qiskit.circuit import ParameterVector

import autodiff as ad
from circuits import Circuit, ConversionError, Input, Parameter, Z, from_qiskit, to_qiskit
from circuits.binding import bind

A, W, X = Parameter(0.4, name="a"), Parameter([0.3, 0.6, 0.9], name="w"), Input("x", 2)
POINT = {"a": 0.4, "w[0]": 0.3, "w[1]": 0.6, "w[2]": 0.9, "x[0]": 0.25, "x[1]": -0.5}

ANGLES: dict[str, Any] = {
    "one": A,
    "element": W[1],
    "affine": 2 * A - W[0] / 3 + 0.5,
    "input": X[1],
    "product": A * X[0] + W[2],
    "functions": ad.sin(A) * ad.exp(X[1]) - ad.arctan(W[0]) / ad.cos(A),
    "powers": (A + 1) ** 2 - 2**A + ad.sqrt(W[1]),
    "parts": ad.abs(X[1]) + ad.sign(X[1]) * ad.log(A),
    "inverse functions": ad.arcsin(A) + ad.arccos(X[1]) + ad.tan(W[0]),
    "whole vector": (W * W).sum() + W.sum() / 3,
    "inner product": ad.dot(W, W) * 0.5,
    "scaled program": -1.0 * (A * W[0]),
}


def circuit_of(*angles: Any) -> Circuit:
    circuit = Circuit(1)
    for angle in angles:
        circuit.rz(angle, 0)
    return circuit


@pytest.mark.parametrize("name", ANGLES)
def test_expression_has_the_same_value(name: str) -> None:
    circuit = circuit_of(ANGLES[name])
    inputs = {x.name: [0.25, -0.5] for x in circuit.inputs}
    expected = bind(circuit, inputs, None).angles().tolist()
    exported = to_qiskit(circuit)
    bound = exported.assign_parameters({p: POINT[p.name] for p in exported.parameters})
    assert [float(item.operation.params[0]) for item in bound.data] == pytest.approx(expected)


def test_inverse_of_a_program_is_exported_with_its_sign() -> None:
    circuit = circuit_of(A * W[0]).inverse()
    exported = to_qiskit(circuit)
    bound = exported.assign_parameters({p: POINT[p.name] for p in exported.parameters})
    assert float(bound.data[0].operation.params[0]) == pytest.approx(-0.12)


def test_complex_constants_of_a_real_angle_survive() -> None:
    a, b = QiskitParameter("a"), QiskitParameter("b")
    qc = QuantumCircuit(1)
    qc.rz(1j * a * 1j * b, 0)
    exported = to_qiskit(from_qiskit(qc))
    values = bind(from_qiskit(exported, values=[0.5, 0.25]), None, None).angles()
    assert values.tolist() == [-0.125]


def test_inputs_and_vectors_become_vectors() -> None:
    exported = to_qiskit(circuit_of(W[2], X[1], A))
    assert [p.name for p in exported.parameters] == ["a", "w[2]", "x[1]"]
    vector = exported.parameters[2].vector
    assert (vector.name, len(vector)) == ("x", 2)
    imported = from_qiskit(exported, inputs={"x": "x"}, values={"a": 0.4, "w[2]": 0.9})
    assert imported.inputs[0].shape == (2,)
    found = imported.expectation(Z(0), inputs={"x": [0.1, 0.2]}, engine="reference")
    assert found.item() == pytest.approx(1.0)


def test_names_and_identity_are_kept() -> None:
    unnamed = Parameter(0.1)
    exported = to_qiskit(circuit_of(A, unnamed))
    assert {p.name: str(p.uuid) for p in exported.parameters} == {"a": A.uuid, "p0": unnamed.uuid}


def test_ten_elements_keep_their_order() -> None:
    vector = ParameterVector("t", 12)
    circuit = to_qiskit(from_qiskit(to_qiskit(circuit_of(A))))
    assert [p.name for p in circuit.parameters] == ["a"]
    for k in (11, 2, 10):
        circuit.rx(vector[k], 0)
    again = to_qiskit(from_qiskit(circuit))
    assert list(again.parameters) == list(circuit.parameters)
    assert [p.name for p in again.parameters] == ["a", "t[2]", "t[10]", "t[11]"]


def test_clash_of_names_is_refused() -> None:
    with pytest.raises(ConversionError, match=r"different names, got \['w\[1\]'\] twice"):
        to_qiskit(circuit_of(W[0], Parameter(0.1, name="w[1]")))


REFUSED: dict[str, Callable[[], Any]] = {
    "tanh": lambda: ad.tanh(A),
    "maximum": lambda: ad.maximum(A, W[0]),
    "where": lambda: ad.where(np.array(True), ad.sigmoid(A), A),
}


@pytest.mark.parametrize("name", REFUSED)
def test_function_that_qiskit_lacks_is_refused(name: str) -> None:
    with pytest.raises(ConversionError, match="expressions that Qiskit has too, got '"):
        to_qiskit(circuit_of(REFUSED[name]()))


@pytest.mark.parametrize("name", ["logsumexp", "softmax"])
def test_functions_of_vectors_that_qiskit_lacks_are_named(name: str) -> None:
    value = getattr(ad, name)(W)
    circuit = circuit_of(value[0] if value.shape else value)
    with pytest.raises(ConversionError, match=f"expressions that Qiskit has too, got '{name}'"):
        to_qiskit(circuit)


def test_shared_parts_that_do_not_fit_into_a_tree_are_refused() -> None:
    y: Any = A + 1
    for _ in range(5000):
        y = y * y / y
    with pytest.raises(ConversionError, match="up to 10000 operations once shared parts"):
        to_qiskit(circuit_of(y))
    x: Any = A
    for _ in range(8):
        x = x * x
    assert to_qiskit(circuit_of(x)).num_parameters == 1
