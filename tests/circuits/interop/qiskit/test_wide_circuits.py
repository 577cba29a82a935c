"""Circuits that were transpiled to a wide device, with few of its qubits in use."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from qiskit import ClassicalRegister, QuantumCircuit, transpile
from qiskit.circuit import Parameter
from qiskit.primitives import StatevectorEstimator, StatevectorSampler
from qiskit.quantum_info import SparseObservable, SparsePauliOp
from qiskit.transpiler import CouplingMap

from circuits import PauliSum, Z, from_qiskit, to_qiskit
from circuits.interop.qiskit import (
    KetgradEstimator,
    KetgradSampler,
    apply_layout,
    write_back,
)

OPERATOR = SparsePauliOp(["IZZX", "IIZZ", "ZIIX", "XXII", "IIIY"], [1.0, 0.3, -0.5, 2.0, 0.7])


def narrow() -> QuantumCircuit:
    """Four qubits, the last of which is idle; two classical bits read qubit 0."""
    a, b = Parameter("a"), Parameter("b")
    qc = QuantumCircuit(4)
    qc.ry(a, 0)
    qc.cx(0, 1)
    qc.rx(a + 2 * b, 2)
    qc.cx(1, 2)
    qc.barrier()
    return qc


def transpiled(qc: QuantumCircuit) -> QuantumCircuit:
    return transpile(
        qc,
        coupling_map=CouplingMap.from_line(127),
        basis_gates=["rz", "sx", "x", "cx"],
        initial_layout=[100, 102, 101, 7],
        seed_transpiler=1,
    )


def measured(qc: QuantumCircuit) -> QuantumCircuit:
    first, second = ClassicalRegister(2, "first"), ClassicalRegister(3, "second")
    qc.add_register(first, second)
    qc.measure([0, 2, 0], [first[0], first[1], second[2]])
    return qc


VALUES = np.array([[0.4, -0.3], [1.1, 0.2]])


def test_width_is_kept_and_idle_qubits_are_left_out_on_request() -> None:
    qc = transpiled(narrow())
    imported = from_qiskit(qc)
    small = imported.without_idle_qubits()
    assert (imported.num_qubits, small.num_qubits) == (127, 3)
    assert imported.import_report.places == tuple(range(127))
    report = small.import_report
    assert [q for q, place in enumerate(report.places) if place is not None] == [100, 101, 102]
    assert [report.places[q] for q in (100, 101, 102)] == [0, 1, 2]
    virtual = qc.layout.final_index_layout()
    assert report.layout == tuple(report.places[q] for q in virtual)
    assert report.layout[3] is None
    assert report.registers == {"q": (0, 1, 2)}
    assert ("qubit", "left out", 124, "idle, in |0>: 0-99, 103-126") in report.rows()
    assert "left out" not in str(imported.import_report)


@pytest.mark.parametrize("physical", [False, True])
def test_observables_follow(physical: bool) -> None:
    qc = transpiled(narrow())
    small = from_qiskit(qc).without_idle_qubits()
    report = small.import_report
    if physical:
        words = PauliSum.from_qiskit(OPERATOR.apply_layout(qc.layout))
        moved = apply_layout(words, report.places)
    else:
        moved = apply_layout(PauliSum.from_qiskit(OPERATOR), report.layout)
    plain = from_qiskit(narrow())
    expected = plain.expectation(PauliSum.from_qiskit(OPERATOR), values=VALUES).numpy()
    found = small.expectation(moved, values=VALUES).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)


def test_words_that_become_equal_are_added() -> None:
    assert apply_layout(2.0 * Z(0) @ Z(1) + 0.5 * Z(0), [0, None]) == 2.5 * Z(0)


def test_symbols_and_reports_survive() -> None:
    qc = transpiled(narrow())
    small = from_qiskit(qc, values=[0.5, 0.25]).without_idle_qubits()
    assert write_back(small, qc).num_parameters == 0
    assert copy.deepcopy(small).import_report == small.import_report
    assert pickle.loads(pickle.dumps(small)).import_report == small.import_report
    wide = QuantumCircuit(127).compose(to_qiskit(small), from_qiskit(qc).used_qubits())
    assert from_qiskit(wide) == from_qiskit(qc)


def test_measured_bits_are_kept() -> None:
    qc = transpiled(measured(narrow()))
    imported = from_qiskit(qc, values=[np.pi, 0.0])
    small = imported.without_idle_qubits()
    assert set(small.measured) == set(imported.measured) == {0, 1, 4}
    assert small.counts(10, seed=0) == {"10001": 10}


def test_primitives_leave_idle_qubits_out() -> None:
    isa = transpiled(narrow())
    wide = OPERATOR.apply_layout(isa.layout)
    found = KetgradEstimator().run([(isa, wide, VALUES)]).result()[0].data.evs
    (expected,) = (StatevectorEstimator().run([(narrow(), OPERATOR, VALUES)]).result(),)
    np.testing.assert_allclose(found, expected[0].data.evs, rtol=0, atol=1e-12)
    bits = KetgradSampler(seed=3).run([(transpiled(measured(narrow())), VALUES)]).result()[0].data
    assert np.array_equal(bits.first.array & 1, bits.second.array >> 2)


@pytest.mark.parametrize("letter", list("IXYZ01+-rl"))
def test_letters_on_idle_qubits(letter: str) -> None:
    qc = QuantumCircuit(3)
    qc.ry(0.3, 1)
    observable = SparseObservable.from_list([(f"{letter}Z{letter}", 1.5)])
    found = KetgradEstimator().run([(qc, observable)]).result()[0].data.evs
    matrix = SparsePauliOp.from_sparse_observable(observable.as_paulis())
    expected = StatevectorEstimator().run([(qc, matrix)]).result()[0].data.evs
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_circuit_without_gates_is_in_zero() -> None:
    qc = QuantumCircuit(2)
    evs = KetgradEstimator().run([(qc, ["ZZ", "XI", "II"])]).result()[0].data.evs
    assert evs.tolist() == [1.0, 0.0, 1.0]


def test_two_bits_read_one_qubit_as_in_qiskit() -> None:
    qc = measured(narrow()).assign_parameters([np.pi, 0.0])
    ours, theirs = (
        sampler.run([qc], shots=20).result()[0].data
        for sampler in (KetgradSampler(seed=0), StatevectorSampler(seed=0))
    )
    for name in ("first", "second"):
        assert getattr(ours, name).get_counts() == getattr(theirs, name).get_counts()
    imported = from_qiskit(qc)
    assert from_qiskit(to_qiskit(imported)) == imported
