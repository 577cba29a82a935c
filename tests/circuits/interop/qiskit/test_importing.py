"""Whole circuits: registers, layouts, known bugs of other importers, cost, and training."""

from __future__ import annotations

import json
import math
import time
from importlib import resources
from typing import Any

import numpy as np
import pytest
import qiskit
from qiskit import AncillaRegister, ClassicalRegister, QuantumCircuit, QuantumRegister, transpile
from qiskit.circuit import Clbit, Parameter, ParameterVector, Qubit
from qiskit.circuit import library as lib
from qiskit.quantum_info import SparsePauliOp, Statevector
from qiskit_circuits import bound, deviation, random_values

from circuits import Circuit, ConversionError, PauliSum, X, Z, from_qiskit, to_qiskit
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


def test_registers_keep_their_order() -> None:  # case O17
    registers = [QuantumRegister(1, "cin"), QuantumRegister(2, "a"), QuantumRegister(2, "b")]
    circuit = QuantumCircuit(*registers)
    circuit.x(0)
    imported = from_qiskit(circuit)
    assert imported.probabilities(engine="reference").numpy().argmax() == 1
    assert imported.import_report.registers == {"cin": (0,), "a": (1, 2), "b": (3, 4)}


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
    assert imported.measured == {3: 2, 1: 0}
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


# -- bugs that other importers had ----------------------------------------------------------------


def test_vector_elements_are_ordered_by_index() -> None:  # case O08
    t = ParameterVector("t", 12)
    circuit = QuantumCircuit(2)
    for k in range(12):
        place = {2: (circuit.ry, 0), 10: (circuit.ry, 1)}.get(k, (circuit.rz, 0))
        place[0](t[k], place[1])
    imported = from_qiskit(circuit, values=[0.1 * k for k in range(12)])
    found = imported.expectation([Z(0), Z(1)], engine="reference").tolist()
    assert found == pytest.approx([0.9800665778, 0.5403023059], abs=1e-10)


def test_list_follows_sorted_names_and_mapping_the_names() -> None:  # case O09
    theta, gamma, lam = Parameter("theta"), Parameter("gamma"), Parameter("lam")
    circuit = QuantumCircuit(1)
    circuit.u(theta, gamma, lam, 0)
    imported = from_qiskit(circuit)
    assert imported.parameter_names() == ["gamma", "lam", "theta"]
    by_name = imported.probabilities(values={theta: 1.0, gamma: 2.0, "lam": 3.0})
    by_list = imported.probabilities(values=[1.0, 2.0, 3.0])
    assert by_name.numpy()[1] == pytest.approx(0.2298488471, abs=1e-10)
    assert by_list.numpy()[1] == pytest.approx(0.9949962483, abs=1e-10)


@pytest.mark.parametrize(
    ("angle", "value", "slopes"),
    [
        (A * B, 0.9553364891, [-0.1477601033, -0.1773121240]),
        (2 * A + B, math.cos(1.7), [-1.9833296209, -0.9916648105]),
    ],
    ids=["product", "affine"],
)
def test_expression_in_an_angle_is_trained_by_the_chain_rule(
    angle: Any, value: float, slopes: list[float]
) -> None:  # case O10
    circuit = QuantumCircuit(1)
    circuit.h(0)
    circuit.rz(angle, 0)
    imported = from_qiskit(circuit, values={"a": 0.6, "b": 0.5})
    found = imported.expectation(X(0))
    found.backward()
    assert found.item() == pytest.approx(value, abs=1e-10)
    assert [p.grad.item() for p in imported.parameters()] == pytest.approx(slopes, abs=1e-10)


def test_controlled_phase_is_the_same_bound_late_or_early() -> None:  # case O11
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.cx(0, 1)
    circuit.cp(A, 0, 1)
    circuit.cx(0, 1)
    circuit.h(0)
    imported = from_qiskit(circuit, values=[0.7])
    late, early = imported.expectation(Z(0)), from_qiskit(bound(circuit, [0.7])).expectation(Z(0))
    late.backward()
    assert late.item() == pytest.approx(0.7648421873, abs=1e-10)
    assert early.item() == pytest.approx(late.item(), abs=1e-14)
    assert imported.parameters()[0].grad.item() == pytest.approx(-0.6442176872, abs=1e-10)
    assert imported.expectation(Z(0), values=[math.pi]).item() == pytest.approx(-1.0, abs=1e-14)


def test_controlled_rotation_by_pi_keeps_its_phase() -> None:  # case O14
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.crx(math.pi, 0, 1)
    circuit.append(lib.RXGate(math.pi).control(1, annotated=True), [0, 1])
    circuit.h(0)
    assert from_qiskit(circuit).expectation(Z(0)).item() == pytest.approx(-1.0, abs=1e-14)


def test_open_controls_survive_both_ways() -> None:  # case O15
    circuit = QuantumCircuit(5)
    circuit.cx(0, 1, ctrl_state=0)
    circuit.x(2)
    circuit.ccx(2, 3, 4, ctrl_state=1)
    for imported in (from_qiskit(circuit), from_qiskit(to_qiskit(from_qiskit(circuit)))):
        assert imported.expectation([Z(1), Z(4)]).tolist() == pytest.approx([-1.0, -1.0])


def test_symbolic_phase_of_a_controlled_custom_gate_is_trained() -> None:  # case O16
    gate = QuantumCircuit(1, global_phase=A).to_gate()
    circuit = QuantumCircuit(2)
    circuit.h(0)
    circuit.append(gate.control(1, annotated=False), [0, 1])
    imported = from_qiskit(circuit, values=[0.6])
    assert imported.parameter_names() == ["a"]
    found = imported.expectation(X(0))
    found.backward()
    assert found.item() == pytest.approx(0.8253356149, abs=1e-10)
    assert imported.parameters()[0].grad.item() == pytest.approx(-0.5646424734, abs=1e-10)


def test_conditional_block_is_refused_by_position() -> None:  # case O18
    circuit = QuantumCircuit(2, 1)
    circuit.x(0)
    circuit.measure(0, 0)
    with circuit.if_test((circuit.clbits[0], 1)):
        circuit.x(1)
    with pytest.raises(ConversionError, match=r"'if_else' at position 2.*Remove the block"):
        from_qiskit(circuit)


def test_composed_circuit_takes_new_values_each_time() -> None:  # case O19
    part = QuantumCircuit(1)
    part.rx(A, 0)
    circuit = QuantumCircuit(1)
    circuit.append(part.to_gate(), [0])
    imported = from_qiskit(circuit)
    found = [imported.expectation(Z(0), values=[x]).item() for x in (1.0, 2.0, 1.0)]
    assert found == pytest.approx([0.5403023059, -0.4161468365, 0.5403023059], abs=1e-10)


def test_subset_of_qubits_is_measured() -> None:  # case O23
    circuit = QuantumCircuit(5, 3)
    circuit.x(4)
    for clbit, qubit in enumerate((1, 3, 4)):
        circuit.measure(qubit, clbit)
    assert from_qiskit(circuit).counts(shots=16, seed=1) == {"100": 16}


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
        start = time.perf_counter()
        from_qiskit(circuit)
        best = min(best, time.perf_counter() - start)
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
