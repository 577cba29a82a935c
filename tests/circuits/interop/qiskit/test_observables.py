"""Observables from Qiskit and back, and on the qubits of a transpiled circuit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import transpile
from qiskit.circuit import Parameter as QiskitParameter
from qiskit.circuit.library import efficient_su2
from qiskit.quantum_info import (
    Operator,
    Pauli,
    SparseObservable,
    SparsePauliOp,
    Statevector,
    random_hermitian,
)

from circuits import (
    Circuit,
    ConversionError,
    Hermitian,
    ObservableError,
    Parameter,
    PauliSum,
    Projector,
    QubitError,
    X,
    Z,
    from_qiskit,
    to_qiskit,
)
from circuits.interop.qiskit import apply_layout, observable_from_qiskit

MIXED = SparseObservable.from_list([("01I", 0.5), ("ZXI", -0.25), ("+Yl", 2.0), ("III", 0.1)])

OPERATORS: dict[str, Any] = {
    "words": SparsePauliOp(["XYZ", "IZI", "XYZ"], [1.0, -0.5, 0.25]),
    "Pauli": Pauli("-XIY"),
    "no terms": SparsePauliOp.from_list([], num_qubits=3),
    "projectors": MIXED,
    "matrix": Operator(random_hermitian(8, seed=1)),
}


def dense(operator: Any) -> Any:
    if isinstance(operator, SparseObservable):
        operator = SparsePauliOp.from_sparse_observable(operator.as_paulis())
    return operator.data if isinstance(operator, Operator) else operator.to_matrix()


@pytest.mark.parametrize("convert", [PauliSum.from_qiskit, observable_from_qiskit])
@pytest.mark.parametrize("name", OPERATORS)
def test_operator_has_the_same_matrix(name: str, convert: Any) -> None:
    found = convert(OPERATORS[name])
    assert np.abs(found.matrix(3) - dense(OPERATORS[name])).max() < 1e-13


@pytest.mark.parametrize("name", OPERATORS)
def test_way_back_has_the_same_matrix(name: str) -> None:
    back = to_qiskit(observable_from_qiskit(OPERATORS[name]), 3)
    assert np.abs(dense(back) - dense(OPERATORS[name])).max() < 1e-13


def test_equal_words_are_added_up() -> None:
    assert PauliSum.from_qiskit(OPERATORS["words"]) == PauliSum({"XYZ": 1.25, "IZI": -0.5})


def test_projectors_stay_projectors() -> None:
    half = SparseObservable.from_list([("01I", 0.5)])
    assert repr(observable_from_qiskit(half)) == "0.5 * Projector('01', (1, 2))"
    assert isinstance(to_qiskit(observable_from_qiskit(half), 3), SparseObservable)


def test_wide_words_keep_all_qubits() -> None:
    label = "X" + 68 * "I" + "Z"
    assert PauliSum.from_qiskit(SparsePauliOp(label)) == PauliSum({label: 1.0})


def test_rounding_of_the_imaginary_part_is_dropped() -> None:
    assert PauliSum.from_qiskit(SparsePauliOp(["Z"], [1 + 1e-15j])) == PauliSum({"Z": 1.0})


REFUSED: dict[str, tuple[Any, str]] = {
    "complex": (SparsePauliOp(["X", "Z"], [1.0, 1e-6j]), "needs real coefficients"),
    "symbolic": (
        SparsePauliOp(["X"], np.array([QiskitParameter("t")], dtype=object)),
        "needs numbers as coefficients.*assign_parameters",
    ),
    "state": (Statevector([1, 0]), "got Statevector. Convert it"),
    "text": ("ZZ", "got str"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_operators_are_refused(name: str) -> None:
    operator, match = REFUSED[name]
    for convert in (PauliSum.from_qiskit, observable_from_qiskit):
        with pytest.raises(ConversionError, match=match):
            convert(operator)


def test_operator_that_is_not_hermitian_is_refused() -> None:
    with pytest.raises(ObservableError, match="Hermitian"):
        observable_from_qiskit(Operator(np.array([[0, 1], [0, 0]])))


def test_each_kind_goes_to_its_class_in_qiskit() -> None:
    assert to_qiskit(Z(0) @ X(2)) == SparsePauliOp("XIZ")
    assert to_qiskit(Parameter(0.5) * Z(0), 2) == SparsePauliOp(["IZ"], [0.5])
    assert isinstance(to_qiskit(Projector("01", (2, 0)) + Z(1)), SparseObservable)
    assert isinstance(to_qiskit(Hermitian([[0, 1], [1, 0]], 1)), Operator)


def test_width_belongs_to_observables() -> None:
    assert to_qiskit(Z(0), 3).num_qubits == 3
    with pytest.raises(QubitError, match="needs qubits below 2, got"):
        to_qiskit(X(2), 2)
    with pytest.raises(ConversionError, match="num_qubits for observables only, got 2 for a Circ"):
        to_qiskit(Circuit(2), 2)


def test_layout_moves_the_observable_as_qiskit_does() -> None:
    circuit = efficient_su2(3, reps=1)
    chain = transpile(
        circuit,
        basis_gates=["rz", "sx", "x", "cx"],
        coupling_map=[[0, 1], [1, 2], [2, 3], [1, 0], [2, 1], [3, 2]],
        initial_layout=[3, 1, 2],
        seed_transpiler=1,
    )
    operator = SparsePauliOp(["ZXI", "IYZ"], [1.0, 0.5])
    ours = PauliSum.from_qiskit(operator)
    expected = PauliSum.from_qiskit(operator.apply_layout(chain.layout))
    assert apply_layout(ours, chain.layout, 4) == expected
    layout = from_qiskit(chain).import_report.layout
    assert apply_layout(ours, layout, 4) == expected


def test_layout_needs_words_and_a_place_for_each_qubit() -> None:
    with pytest.raises(ObservableError, match="needs a PauliSum, got Projector"):
        apply_layout(Projector("01"), [0, 1])  # type: ignore[arg-type]
    with pytest.raises(ObservableError, match="got 2 places for qubit 2"):
        apply_layout(Z(2), [0, 1])


@pytest.mark.parametrize("convert", [PauliSum.from_qiskit, observable_from_qiskit])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4)], ids=str)
def test_operator_that_is_not_on_qubits_is_refused(shape: tuple[int, int], convert: Any) -> None:
    with pytest.raises(ConversionError, match="needs to act on qubits, got one from dimensions"):
        convert(Operator(np.ones(shape)))


@pytest.mark.parametrize("width", [0, -1, "3", 2.0, True])
def test_width_is_a_positive_integer(width: Any) -> None:
    with pytest.raises(QubitError, match="needs num_qubits as an integer from 1 on"):
        to_qiskit(Z(0), width)


def test_layout_of_a_circuit_that_was_not_transpiled_moves_nothing() -> None:
    assert apply_layout(Z(0) @ X(1), None) == Z(0) @ X(1)


def test_layout_has_one_place_a_qubit() -> None:
    with pytest.raises(ObservableError, match=r"a place of its own for every qubit, got \[1, 1\]"):
        apply_layout(Z(0) @ X(1), [1, 1])
    for wrong in ([-1], ["a"], [0.5]):
        with pytest.raises(QubitError, match="places of qubits as integers from 0 on"):
            apply_layout(Z(0), wrong)
    with pytest.raises(ObservableError, match="Qiskit's layout or a list of qubits, got 3"):
        apply_layout(Z(0), 3)
