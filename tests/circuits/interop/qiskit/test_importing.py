"""Whole circuits: registers, layouts, known bugs of other importers, cost, and training."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest
import qiskit
from qiskit import AncillaRegister, ClassicalRegister, QuantumCircuit, QuantumRegister, transpile
from qiskit.circuit import Clbit, Parameter, ParameterVector, Qubit
from qiskit.circuit import library as lib
from qiskit.quantum_info import SparsePauliOp, Statevector
from qiskit_circuits import bound, deviation, random_values

from circuits import Circuit, ConversionError, PauliSum, X, Z, from_qiskit
from circuits.interop.qiskit.importing import handler_of
from circuits.interop.qiskit.values import write_back

A, B = Parameter("a"), Parameter("b")

HAMILTONIAN = SparsePauliOp(["ZZI", "IZX", "XIY"], [1.0, 0.5, -0.3])
LIBRARY: dict[str, Any] = {
    "n_local": lambda: lib.n_local(3, ["ry", "rz"], "cx", "linear", reps=1),
    "efficient_su2": lambda: lib.efficient_su2(3, reps=2),
    "real_amplitudes": lambda: lib.real_amplitudes(4, entanglement="circular", reps=2),
    "excitation_preserving": lambda: lib.excitation_preserving(3, reps=1),
    "pauli_two_design": lambda: lib.pauli_two_design(3, seed=1),
    "z_feature_map": lambda: lib.z_feature_map(3),
    "zz_feature_map": lambda: lib.zz_feature_map(3, reps=2),
    "pauli_feature_map": lambda: lib.pauli_feature_map(3, reps=1, paulis=["Z", "YY", "ZXZ"]),
    "qaoa_ansatz": lambda: lib.qaoa_ansatz(SparsePauliOp(["ZZI", "IZZ"]), reps=2),
    "evolved": lambda: lib.evolved_operator_ansatz([HAMILTONIAN, SparsePauliOp("ZIX")]),
    "variational": lambda: lib.hamiltonian_variational_ansatz(HAMILTONIAN, reps=1),
    "iqp": lambda: lib.iqp(np.array([[1, 2, 0], [2, 3, 1], [0, 1, 2]])),
    "random_iqp": lambda: lib.random_iqp(4, seed=1),
    "qft": lambda: lib.QFTGate(4).definition,
    "unitary_overlap": lambda: lib.unitary_overlap(lib.zz_feature_map(3), lib.zz_feature_map(3)),
    "fourier_checking": lambda: lib.fourier_checking([1, -1, -1, -1], [1, 1, -1, -1]),
    "hidden_linear": lambda: lib.hidden_linear_function([[1, 1, 0], [1, 0, 1], [0, 1, 1]]),
    "quantum_volume": lambda: lib.quantum_volume(4, seed=1),
    "grover": lambda: lib.grover_operator(marked()),
    "phase_estimation": lambda: lib.phase_estimation(2, QuantumCircuit(1, global_phase=0.3)),
}


def marked() -> QuantumCircuit:
    oracle = QuantumCircuit(3)
    oracle.ccz(0, 1, 2)
    return oracle


@pytest.mark.parametrize("name", LIBRARY)
def test_library_circuit_gives_qiskits_state(name: str) -> None:
    circuit = LIBRARY[name]()
    values = random_values(circuit, seed=5)
    imported = from_qiskit(circuit)
    assert [p.name for p in imported.parameters()] == [p.name for p in circuit.parameters]
    found = imported.statevector(values=values, engine="reference").numpy()
    expected = Statevector(bound(circuit, values).decompose(reps=6)).data
    assert np.abs(found - expected).max() < 1e-12


# -- registers ------------------------------------------------------------------------------------


def test_aliased_and_ancilla_registers_and_loose_bits() -> None:
    bits, bit = [Qubit() for _ in range(3)], Clbit()
    ancilla, classical = AncillaRegister(1, "anc"), ClassicalRegister(2, "c")
    circuit = QuantumCircuit(bits, [bit], ancilla, classical)
    circuit.add_register(QuantumRegister(bits=[bits[2], bits[0]], name="alias"))
    circuit.h(bits[1])
    circuit.rx(A, circuit.qregs[-1][0])
    circuit.cx(bits[0], ancilla[0])
    assert deviation(circuit) < 1e-13
    circuit.measure(ancilla[0], classical[1])
    circuit.measure(bits[1], bit)
    imported = from_qiskit(circuit)
    assert imported.measured == {2: 3, 0: 1}
    assert imported.import_report.registers == {"anc": (3,), "alias": (2, 0)}
    assert imported.import_report.classical_registers == {"c": (1, 2)}


def test_transpiled_circuit_is_imported_with_its_layout() -> None:
    circuit = lib.efficient_su2(3, reps=1)
    chain = transpile(
        circuit,
        basis_gates=["rz", "sx", "x", "cx"],
        coupling_map=[[0, 1], [1, 2], [2, 3], [1, 0], [2, 1], [3, 2]],
        initial_layout=[3, 1, 2],
        seed_transpiler=1,
    )
    imported = from_qiskit(chain)
    layout = imported.import_report.layout
    assert layout == tuple(chain.layout.final_index_layout())
    values = dict(zip((p.name for p in circuit.parameters), np.linspace(0, 2, 12), strict=True))
    assert list(values) == [p.name for p in imported.parameters()]
    direct = from_qiskit(circuit).expectation(Z(0) @ X(2), values=values)
    moved = imported.expectation(Z(layout[0]) @ X(layout[2]), values=values)
    assert moved.item() == pytest.approx(direct.item(), abs=1e-12)


# -- what it costs, and what it does not do -------------------------------------------------------


def test_nothing_is_bound_or_transpiled(monkeypatch: pytest.MonkeyPatch) -> None:
    circuits = [build() for build in LIBRARY.values()]

    def forbidden(*args: Any, **options: Any) -> None:
        raise AssertionError("the import must not call this")

    monkeypatch.setattr(qiskit, "transpile", forbidden)
    monkeypatch.setattr(qiskit.compiler, "transpile", forbidden)
    monkeypatch.setattr(qiskit.transpiler.PassManager, "run", forbidden)
    monkeypatch.setattr(QuantumCircuit, "assign_parameters", forbidden)
    for circuit in circuits:
        assert from_qiskit(circuit).size() > 0


def test_import_costs_less_than_60_microseconds_an_operation() -> None:
    circuit = lib.efficient_su2(20, reps=20)
    assert circuit.size() == 1220
    best = math.inf
    for _ in range(5):
        start = time.thread_time()
        from_qiskit(circuit)
        best = min(best, time.thread_time() - start)
    assert best < 0.080


def test_other_things_are_refused() -> None:
    with pytest.raises(ConversionError, match="needs a QuantumCircuit, got RXGate"):
        from_qiskit(lib.RXGate(0.1))
    with pytest.raises(
        ConversionError, match=r"evolution from .'definition', 'exact'., got 'fast'"
    ):
        from_qiskit(QuantumCircuit(1), evolution="fast")


def test_handlers_are_found_by_class() -> None:
    assert handler_of(lib.DiagonalGate) is not None
    assert handler_of(lib.QFTGate) is None


# -- training -------------------------------------------------------------------------------------


def adam(circuit: Circuit, observable: Any, steps: int, rate: float) -> None:
    """Adam with PyTorch's defaults (Kingma and Ba, 2015, arXiv:1412.6980)."""
    parameters = circuit.parameters()
    first, second = np.zeros(len(parameters)), np.zeros(len(parameters))
    for step in range(1, steps + 1):
        for p in parameters:
            p.zero_grad()
        circuit.expectation(observable).backward()
        slope = np.array([p.grad.item() for p in parameters])
        first = 0.9 * first + 0.1 * slope
        second = 0.999 * second + 0.001 * slope**2
        move = rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
        for p, change in zip(parameters, move, strict=True):
            p.set_(p.item() - change)


def test_h2_trains_and_its_values_go_back_to_qiskit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = resources.files("qml").joinpath("data/h2_sto3g_0.70A.json").read_text()
    data = json.loads(text)
    terms = data["terms"] if "terms" in data else data["hamiltonian"]
    pairs = list(terms.items()) if isinstance(terms, dict) else [tuple(t) for t in terms]
    hamiltonian = SparsePauliOp.from_list(pairs)
    circuit = lib.efficient_su2(4, reps=3)
    start = {q: 0.04 * math.sin(0.37 * k) for k, q in enumerate(circuit.parameters, start=1)}
    prepared = QuantumCircuit(4)
    prepared.x([0, 1])
    circuit = prepared.compose(circuit)
    imported = from_qiskit(circuit, values=start)
    observable = PauliSum.from_qiskit(hamiltonian)

    def forbidden(*args: Any, **options: Any) -> None:
        raise AssertionError("training must not call Qiskit")

    with monkeypatch.context() as patch:
        for owner, name in ((QuantumCircuit, "assign_parameters"), (SparsePauliOp, "to_list")):
            patch.setattr(owner, name, forbidden)
        adam(imported, observable, steps=150, rate=0.05)
        energy = imported.expectation(observable).item()
    exact = np.linalg.eigvalsh(hamiltonian.to_matrix())[0]
    assert exact == pytest.approx(-1.1361894542078266, abs=1e-10)
    assert exact - 1e-10 < energy < exact + 1.6e-3
    trained = write_back(imported, circuit)
    assert trained.num_parameters == 0
    state = Statevector(trained)
    assert state.expectation_value(hamiltonian).real == pytest.approx(energy, abs=1e-10)


def calls_of_qiskit(run: Callable[[], object]) -> list[str]:
    """The functions of Qiskit, Python's and compiled ones, that a call runs."""
    found = []
    folder = str(Path(qiskit.__file__).parent)

    def watch(frame: FrameType, event: str, given: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            found.append(frame.f_code.co_qualname)
        elif event == "c_call" and str(getattr(given, "__module__", None)).startswith("qiskit"):
            found.append(given.__qualname__)

    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def test_training_calls_nothing_of_qiskit() -> None:
    features, ansatz = lib.zz_feature_map(3), lib.efficient_su2(3, reps=1)
    qc = features.compose(ansatz)
    assert calls_of_qiskit(lambda: from_qiskit(qc))
    imported = from_qiskit(qc, inputs={"x": features.parameters}, values=np.linspace(0.1, 0.9, 12))
    rows = np.random.default_rng(1).normal(size=(4, 3))

    def train() -> None:
        imported.expectation(Z(0) @ X(2), inputs={"x": rows}).sum().backward()
        imported.assign([p.item() - 0.1 * p.grad.item() for p in imported.parameters()])
        imported.counts(10, inputs={"x": rows[0]}, seed=0)

    assert calls_of_qiskit(train) == []


def test_angles_without_a_value_at_zero_are_named_and_warn_of_nothing() -> None:
    v, x = ParameterVector("v", 3), Parameter("x")
    qc = QuantumCircuit(1)
    qc.rx(v[1] / v[2], 0)
    qc.ry(x * v[0], 0)
    circuit = from_qiskit(qc, inputs={"x": [x]})
    assert circuit.import_report.undefined == ("v[1]", "v[2]")
    assert "angles of v[1], v[2] have no value" in str(circuit.import_report)
    assert "pass values=" in circuit.import_report._repr_html_()
    found = circuit.expectation(Z(0), inputs={"x": [0.5]}, engine="reference")
    assert math.isnan(found.item())
    given = from_qiskit(qc, inputs={"x": [x]}, values=[0.1, 0.2, 0.4])
    assert given.import_report.undefined == ()
    assert "have no value" not in str(given.import_report)
