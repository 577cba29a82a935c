"""What must work with Qiskit 1.4; ``scripts/check_qiskit_1`` runs it in an environment of its own.

The tests run with Qiskit 2. Here every kind of call is made once: import with expressions, states,
gradients, export, QPY, observables, primitives, hardware runner, OpenQASM, and a refusal.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import qiskit
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter, ParameterVector
from qiskit.circuit.library import PauliEvolutionGate
from qiskit.primitives import StatevectorEstimator, StatevectorSampler
from qiskit.quantum_info import SparsePauliOp, Statevector

from circuits import Circuit, ConversionError, PauliSum, from_qasm, from_qiskit, to_qasm, to_qiskit
from circuits.interop.qiskit import (
    HardwareRunner,
    KetgradEstimator,
    KetgradSampler,
    verify_import,
    write_back,
)

OPERATOR = SparsePauliOp(["ZZI", "XIY", "IIZ"], [1.0, 0.5, -0.3])


def build() -> QuantumCircuit:
    """A circuit with expressions, controls, definitions, an evolution, and a symbolic phase."""
    a, w = Parameter("a"), ParameterVector("w", 11)
    block = QuantumCircuit(2, name="block", global_phase=a)
    block.crx(a * w[2], 0, 1)
    qc = QuantumCircuit(3, global_phase=0.3)
    qc.h(range(3))
    qc.append(block.to_gate().control(1, annotated=False), [2, 0, 1])
    qc.rzz(2 * w[10] - a, 0, 2)
    qc.append(PauliEvolutionGate(SparsePauliOp(["XX", "ZI"]), time=w[1].sin()), [1, 2])
    qc.mcp(a**2, [0, 1], 2)
    qc.cx(0, 1, ctrl_state=0)
    return qc


def check_circuits(qc: QuantumCircuit, values: np.ndarray) -> Circuit:
    found = verify_import(qc)
    assert max(found.state, found.reversed_state) < 1e-12
    imported = from_qiskit(qc, values=values)
    assert imported.parameter_names() == [p.name for p in qc.parameters]
    state = imported.statevector().numpy()
    expected = Statevector(write_back(imported, qc).decompose(reps=6)).data
    assert np.abs(state - expected).max() < 1e-12
    exported = from_qiskit(to_qiskit(imported), values=values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "circuit.qpy"
        imported.save_qpy(path)
        loaded = Circuit.load_qpy(path)
    for made in (exported, loaded):
        assert np.abs(made.statevector().numpy() - state).max() < 1e-12
    overlap = np.vdot(from_qasm(to_qasm(plain(), 2)).statevector().numpy(), plain().statevector())
    assert abs(abs(overlap) - 1) < 1e-12
    return imported


def plain() -> Circuit:
    return Circuit(3).h(0).cx(0, 1).crx(0.3, 1, 2).rzz(0.2, 0, 1)


def check_primitives(qc: QuantumCircuit, imported: Circuit, values: np.ndarray) -> None:
    flat = qc.decompose(reps=6)
    batch = np.stack([values, values / 2])
    ours, theirs = [
        kind().run([(flat, [[OPERATOR], [SparsePauliOp("XYZ")]], batch)]).result()[0].data.evs
        for kind in (KetgradEstimator, StatevectorEstimator)
    ]
    assert ours.shape == theirs.shape == (2, 2)
    assert np.abs(ours - theirs).max() < 1e-12
    certain = QuantumCircuit(2)
    certain.x(1)
    certain.measure_all()
    for kind in (KetgradSampler, StatevectorSampler):
        assert kind().run([certain], shots=5).result()[0].data.meas.get_counts() == {"10": 5}
    observable = PauliSum.from_qiskit(OPERATOR)
    imported.expectation(observable).backward()
    slopes = [p.grad.item() for p in imported.parameters()]
    found = HardwareRunner(KetgradEstimator()).gradient(imported, observable)
    assert np.abs(found.values - slopes).max() < 1e-12


def check_refusal() -> None:
    qc = QuantumCircuit(1, 1)
    qc.measure(0, 0)
    qc.x(0).c_if(0, 1)
    message = ""
    try:
        from_qiskit(qc)
    except ConversionError as error:
        message = str(error)
    assert "'x' at position 1" in message


def main() -> None:
    assert qiskit.__version__.startswith("1."), qiskit.__version__
    qc = build()
    values = np.linspace(0.2, 0.9, qc.num_parameters)
    imported = check_circuits(qc, values)
    check_primitives(qc, imported, values)
    check_refusal()
    print(f"Qiskit {qiskit.__version__}: all of it works")


if __name__ == "__main__":
    main()
