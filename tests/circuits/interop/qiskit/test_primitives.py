"""Our primitives give what Qiskit's exact ones give, shapes included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from qiskit import ClassicalRegister, QuantumCircuit, QuantumRegister
from qiskit.circuit import Parameter
from qiskit.circuit.library import efficient_su2, zz_feature_map
from qiskit.primitives import StatevectorEstimator, StatevectorSampler
from qiskit.quantum_info import SparseObservable, SparsePauliOp, Statevector

from circuits import Circuit, ConversionError
from circuits.interop.qiskit import KetgradEstimator, KetgradSampler

ANSATZ = efficient_su2(3, reps=1)
RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(5, ANSATZ.num_parameters))
THREE = [SparsePauliOp(["ZZI", "XIY"], [1.0, 0.3]), "XXX", {"IIZ": 0.5, "YIY": -2.0}]


def column(observables: list[Any]) -> list[list[Any]]:
    return [[observable] for observable in observables]


PUBS: dict[str, tuple[Any, ...]] = {
    "one observable, one set": (ANSATZ, "ZZZ", VALUES[0]),
    "one observable, sets": (ANSATZ, "ZZZ", VALUES),
    "column against sets": (ANSATZ, column(THREE), VALUES),
    "pairs": (ANSATZ, THREE, VALUES[:3]),
    "table of sets": (ANSATZ, THREE, VALUES[:4].reshape(2, 2, 1, -1)),
    "nothing to bind": (QuantumCircuit(3), column(THREE)),
    "by name": (ANSATZ, THREE[0], {tuple(p.name for p in ANSATZ.parameters): VALUES}),
    "symbols in expressions": (zz_feature_map(3, reps=1), THREE[0], VALUES[:, :3]),
}


@pytest.mark.parametrize("precision", [0.0, 0.1])
@pytest.mark.parametrize("name", PUBS)
def test_estimator_equals_qiskits(name: str, precision: float) -> None:
    ours, theirs = [
        kind(seed=3).run([PUBS[name]], precision=precision).result()[0]
        for kind in (KetgradEstimator, StatevectorEstimator)
    ]
    assert ours.data.evs.shape == ours.data.stds.shape == ours.data.shape == theirs.data.shape
    assert np.abs(ours.data.evs - theirs.data.evs).max() < 1e-13
    assert (ours.data.stds == precision).all()
    assert ours.metadata == theirs.metadata


def test_values_of_a_column_of_observables_have_the_published_shape() -> None:
    pub = (ANSATZ, column(THREE), VALUES)
    assert KetgradEstimator().run([pub]).result()[0].data.evs.shape == (3, 5)


def test_projectors_are_observables() -> None:
    terms = [("01+", 0.5), ("rII", 1.0), ("0I1", -1.0), ("ZlX", 0.2)]
    words = SparsePauliOp.from_sparse_observable(SparseObservable.from_list(terms).as_paulis())
    found = KetgradEstimator().run([(ANSATZ, dict(terms), VALUES)]).result()[0].data.evs
    expected = StatevectorEstimator().run([(ANSATZ, words, VALUES)]).result()[0].data.evs
    assert np.abs(found - expected).max() < 1e-13


def test_default_precision_counts_where_nothing_else_is_asked() -> None:
    estimator = KetgradEstimator(default_precision=0.2, seed=1)
    pubs = [(ANSATZ, "ZZZ", VALUES[0]), (ANSATZ, "ZZZ", VALUES[0], 0.3)]
    results = estimator.run(pubs).result()
    assert [float(result.data.stds) for result in results] == [0.2, 0.3]


def test_one_run_serves_a_pub(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    right = Circuit.expectation
    monkeypatch.setattr(
        Circuit, "expectation", lambda self, *a, **k: calls.append(a) or right(self, *a, **k)
    )
    monkeypatch.setattr(QuantumCircuit, "assign_parameters", None)
    KetgradEstimator().run([(ANSATZ, column([*THREE, "XXX"]), VALUES)]).result()
    ((observables,),) = calls
    assert len(observables) == 3


def test_what_the_import_refuses_is_refused() -> None:
    circuit = QuantumCircuit(1, 1)
    circuit.h(0)
    circuit.reset(0)
    with pytest.raises(ConversionError, match="'reset' at position 1"):
        KetgradEstimator().run([(circuit, "Z")]).result()


def measured() -> QuantumCircuit:
    """Two registers of which one crosses a byte, a bit that nothing is measured to, symbols."""
    a, b = ClassicalRegister(2, "a"), ClassicalRegister(9, "b")
    circuit = QuantumCircuit(QuantumRegister(3), a, b)
    circuit.rx(Parameter("t"), 0)
    circuit.cx(0, 1)
    circuit.ry(2 * Parameter("s"), 2)
    circuit.measure([0, 1, 2], [b[8], a[1], b[0]])
    return circuit


def test_sampler_draws_from_qiskits_distribution() -> None:
    values = np.array([[0.3, 1.9], [2.0, 0.4]])
    shots = 20_000
    (result,) = KetgradSampler(seed=5).run([(measured(), values)], shots=shots).result()
    (other,) = StatevectorSampler(seed=5).run([(measured(), values)], shots=10).result()
    assert {name: (x.shape, x.num_bits) for name, x in result.data.items()} == {
        name: (x.shape, x.num_bits) for name, x in other.data.items()
    }
    for k, row in enumerate(values):
        bare = measured().remove_final_measurements(inplace=False).assign_parameters(row)
        chances = Statevector(bare).probabilities()
        for state, chance in enumerate(chances):
            wanted_a = (state >> 1 & 1) << 1
            wanted_b = (state >> 2 & 1) | (state & 1) << 8
            a = result.data.a[k].array
            b = result.data.b[k].array.astype(int)
            hits = (a[:, 0] == wanted_a) & (b[:, 0] * 256 + b[:, 1] == wanted_b)
            deviation = np.sqrt(max(chance * (1 - chance), 1e-12) / shots)
            assert abs(hits.mean() - chance) < 5 * deviation


def test_certain_outcomes_are_qiskits() -> None:
    circuit = QuantumCircuit(3)
    circuit.x([0, 2])
    circuit.measure_all()
    for pub in (circuit, (circuit, None, 7)):
        ours, theirs = [
            kind(default_shots=5, seed=0).run([pub]).result()[0]
            for kind in (KetgradSampler, StatevectorSampler)
        ]
        assert ours.data.meas.get_counts() == theirs.data.meas.get_counts()
        assert ours.metadata == theirs.metadata


def test_sets_of_values_of_a_circuit_without_symbols() -> None:
    circuit = QuantumCircuit(1)
    circuit.x(0)
    circuit.measure_all()
    pub = (circuit, np.zeros((2, 3, 0)))
    ours, theirs = [
        kind(seed=0).run([pub], shots=4).result()[0].data.meas
        for kind in (KetgradSampler, StatevectorSampler)
    ]
    assert ours.shape == theirs.shape == (2, 3)
    assert (ours.array == theirs.array).all()


def test_circuit_without_classical_registers_warns() -> None:
    with pytest.warns(UserWarning, match="without classical registers"):
        KetgradSampler().run([QuantumCircuit(1)]).result()
