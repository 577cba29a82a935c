"""Every ansatz and encoding: width, number of Parameters, unitarity, gradients, docs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import qml
from circuits.engines.registry import ENGINES
from qml.ansaetze.table import ANSAETZE, Row

CASES = [
    pytest.param(row, settings, id=f"{name}-{k}")
    for name, row in ANSAETZE.items()
    for k, settings in enumerate(row.settings)
]
every_case = pytest.mark.parametrize(("row", "settings"), CASES)


def build(row: Row, settings: Mapping[str, Any], seed: int = 0) -> qml.Circuit:
    initial = {"initial": qml.uniform_angles(-1.0, 1.0, seed=seed)}
    takes = "initial" in inspect.signature(row.function).parameters
    return row.function(**settings, **(initial if takes else {}))


def features(circuit: qml.Circuit) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    return {x.name: generator.uniform(-1, 1, (2, *x.shape)) for x in circuit.inputs}


def test_names_are_public() -> None:
    assert len(ANSAETZE) == 10
    for name, row in ANSAETZE.items():
        assert getattr(qml, name) is row.function


@every_case
def test_width_and_counts(row: Row, settings: Mapping[str, Any]) -> None:
    circuit = build(row, settings)
    assert circuit.num_qubits == settings.get("num_qubits", 3)
    assert len(circuit.parameters()) == row.parameters(**settings)
    assert all(p.shape == () for p in circuit.parameters())
    assert sum(x.numel() for x in circuit.inputs) == row.features(**settings)
    assert circuit.size() > 0
    names = circuit.parameter_names()
    assert len(set(names)) == len(names)
    assert [p.name for p in circuit.parameters()] == names


@every_case
def test_unitary_and_every_angle_matters(row: Row, settings: Mapping[str, Any]) -> None:
    circuit = build(row, settings)
    inputs = {name: values[0] for name, values in features(circuit).items()}
    matrix = circuit.unitary(inputs=inputs, engine="reference").numpy()
    np.testing.assert_allclose(matrix @ matrix.conj().T, np.eye(len(matrix)), atol=1e-13)
    for parameter in circuit.parameters():
        moved = {parameter: parameter.item() + 0.5}
        other = circuit.unitary(inputs=inputs, values=moved, engine="reference").numpy()
        assert np.abs(other - matrix).max() > 1e-3


@every_case
@pytest.mark.parametrize("engine", ENGINES)
def test_gradients(row: Row, settings: Mapping[str, Any], engine: str) -> None:
    circuit = build(row, settings)
    n = circuit.num_qubits
    observable = qml.PauliSum({"X" * n: 0.5, "Y" + "Z" * (n - 1): 1.0, "Z" * n: -0.75})
    given = {name: qml.Tensor(x, requires_grad=True) for name, x in features(circuit).items()}
    vector = qml.parameters_to_vector(circuit.parameters()) if circuit.parameters() else None
    angles = [] if vector is None else [qml.Tensor(vector.numpy(), requires_grad=True)]

    def values(*tensors: qml.Tensor) -> qml.Tensor:
        inputs = dict(zip(given, tensors[len(angles) :], strict=True))
        chosen = tensors[0] if angles else None
        return circuit.expectation(observable, inputs=inputs, values=chosen, engine=engine)

    assert qml.gradcheck(values, *angles, *given.values())


@pytest.mark.parametrize("name", ANSAETZE)
def test_docstring_has_all_sections(name: str) -> None:
    text = inspect.getdoc(ANSAETZE[name].function) or ""
    for section in ("Args:", "Raises:", "Example:", "Reference:"):
        assert f"\n{section}\n" in text
    for argument in inspect.signature(ANSAETZE[name].function).parameters:
        assert f"\n    {argument}: " in text


@every_case
def test_circuits_go_to_qiskit(row: Row, settings: Mapping[str, Any]) -> None:
    circuit = build(row, settings)
    exported = qml.to_qiskit(circuit)
    assert exported.num_qubits == circuit.num_qubits
    assert len(exported.parameters) == len(circuit.parameters()) + row.features(**settings)
