"""Trained values in the user's own circuit, and QPY files."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qiskit import QuantumCircuit, qpy, transpile
from qiskit.circuit import Parameter as QiskitParameter
from qiskit.circuit.library import efficient_su2, zz_feature_map
from qiskit.quantum_info import Statevector

from circuits import (
    BindingError,
    Circuit,
    ConversionError,
    Input,
    Parameter,
    from_qiskit,
    to_qiskit,
)
from circuits.interop.qiskit import write_back
from circuits.interop.qiskit.values import element_names


def state(circuit: QuantumCircuit) -> Any:
    return Statevector(circuit).data


def test_values_go_back_to_the_users_circuit() -> None:
    qc = efficient_su2(3, reps=1)
    imported = from_qiskit(qc, values=np.linspace(0.1, 1.2, 12))
    trained = write_back(imported, qc)
    assert trained.num_parameters == 0
    assert qc.num_parameters == 12
    found = imported.statevector(engine="reference").numpy()
    assert np.abs(found - state(trained)).max() < 1e-13


def test_features_stay_symbols() -> None:
    features, ansatz = zz_feature_map(2), efficient_su2(2, reps=1)
    qc = features.compose(ansatz)
    imported = from_qiskit(qc, inputs={"data": features.parameters})
    assert list(write_back(imported, qc).parameters) == list(features.parameters)


def through_pickle(circuit: Circuit) -> Circuit:
    made = pickle.loads(pickle.dumps(circuit))
    assert isinstance(made, Circuit)
    return made


@pytest.mark.parametrize("way", [Circuit.deep_clone, Circuit.copy, through_pickle])
def test_copy_knows_where_it_came_from(way: Callable[[Circuit], Circuit]) -> None:
    features, ansatz = zz_feature_map(2), efficient_su2(2, reps=1)
    qc = features.compose(ansatz)
    imported = from_qiskit(qc, inputs={"data": features.parameters})
    copied = way(imported).assign(np.linspace(0.1, 0.8, 8))
    assert copied.import_report == imported.import_report
    trained = write_back(copied, qc)
    assert list(trained.parameters) == list(features.parameters)
    point = [0.4, 0.9]
    expected = state(trained.assign_parameters(point))
    found = copied.statevector(inputs={"data": point}, engine="reference").numpy()
    assert np.abs(found - expected).max() < 1e-13


def test_report_of_a_clone_is_its_own() -> None:
    imported = from_qiskit(efficient_su2(2, reps=1))
    imported.deep_clone().import_report.mapped["ry"] = 99
    assert imported.import_report.mapped["ry"] == 4


def test_parameter_that_vanished_in_transpilation_is_not_missed() -> None:
    a, b = QiskitParameter("a"), QiskitParameter("b")
    qc = QuantumCircuit(1)
    qc.rz(a, 0)
    qc.ry(b, 0)
    qc.ry(-b, 0)
    imported = from_qiskit(qc, values=[0.5, 0.25])
    short = transpile(qc, basis_gates=["rz", "ry"], optimization_level=3, seed_transpiler=1)
    assert write_back(imported, short).num_parameters == 0


def test_exported_circuit_takes_vectors_and_unnamed_parameters() -> None:
    w, unnamed, x = Parameter([0.3, 0.6], name="w"), Parameter([0.9]), Input("x", 1)
    circuit = Circuit(1).rx(w[1], 0).ry(w[0], 0).rz(unnamed, 0).rx(x[0], 0)
    exported = to_qiskit(circuit)
    bound = write_back(circuit, exported)
    assert [item.operation.params[0] for item in bound.data[:3]] == [0.6, 0.3, 0.9]
    assert [p.name for p in bound.parameters] == ["x[0]"]
    assert dict(element_names("w", w)) == {"w[0]": 0.3, "w[1]": 0.6}


def test_other_circuit_is_refused() -> None:
    imported = from_qiskit(efficient_su2(2, reps=1))
    qc = QuantumCircuit(1)
    qc.rx(QiskitParameter("other"), 0)
    with pytest.raises(BindingError, match=r"got one without 'other'\. It has"):
        write_back(imported, qc)


def test_arguments_in_the_wrong_order_are_refused() -> None:
    qc = efficient_su2(2, reps=1)
    with pytest.raises(ConversionError, match=r"got QuantumCircuit and Circuit. Write write_back"):
        write_back(qc, from_qiskit(qc))  # type: ignore[arg-type]


def example() -> Circuit:
    a, w, x = Parameter(0.4, name="a"), Parameter([0.3, 0.6], name="w"), Input("x", 3)
    circuit = Circuit(2, "example").h(0).rx(2 * a + w[0], 0).cry(a * x[2], 1, 0, ctrl_state=0)
    return circuit.rz(x[0], 1).diagonal([1, 1j], [1]).measure(1, 0)


def test_file_keeps_symbols_values_and_inputs(tmp_path: Path) -> None:
    circuit, path = example(), tmp_path / "example.qpy"
    circuit.save_qpy(path)
    loaded = Circuit.load_qpy(path)
    assert loaded.name == "example"
    assert loaded.measured == {0: 1}
    assert {p.name: p.item() for p in loaded.parameters()} == {"a": 0.4, "w[0]": 0.3}
    assert [(x.name, x.shape) for x in loaded.inputs] == [("x", (3,))]
    rows = np.random.default_rng(1).normal(size=(4, 3))
    expected = circuit.statevector(inputs={"x": rows}).numpy()
    assert np.abs(loaded.statevector(inputs={"x": rows}).numpy() - expected).max() < 1e-14


def test_file_of_an_imported_circuit_has_the_users_symbols(tmp_path: Path) -> None:
    qc, path = efficient_su2(2, reps=2), tmp_path / "ansatz.qpy"
    from_qiskit(qc, values=np.arange(12.0)).save_qpy(path)
    loaded = Circuit.load_qpy(str(path))
    assert [p.item() for p in loaded.parameters()] == list(range(12))
    assert list(to_qiskit(loaded).parameters) == list(qc.parameters)


def test_qiskits_own_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "own.qpy"
    with path.open("wb") as file:
        qpy.dump(efficient_su2(2, reps=1), file)
    assert len(Circuit.load_qpy(path).parameters()) == 8


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.qpy"
    for content in (b"OPENQASM 2.0; include something;", b"QISKIT"):
        path.write_bytes(content)
        with pytest.raises(
            ConversionError, match=r"needs a QPY file, got .*Write it with save_qpy"
        ):
            Circuit.load_qpy(path)
    with path.open("wb") as file:
        qpy.dump([QuantumCircuit(1), QuantumCircuit(1)], file)
    with pytest.raises(ConversionError, match="needs a file with one circuit, got 2"):
        Circuit.load_qpy(path)


@pytest.mark.parametrize(
    "note",
    [
        3,
        None,
        {"values": 3},
        {"values": {"a": "3"}},
        {"inputs": {"x": "a"}},
        {"inputs": {"x": [3]}},
    ],
    ids=str,
)
def test_metadata_that_is_not_ours_is_refused(note: object, tmp_path: Path) -> None:
    qc, path = efficient_su2(2, reps=1), tmp_path / "own.qpy"
    qc.metadata = {"ketgrad": note}
    with path.open("wb") as file:
        qpy.dump(qc, file)
    with pytest.raises(ConversionError, match=r"metadata that save_qpy wrote.*Remove 'ketgrad'"):
        Circuit.load_qpy(path)
