"""Circuits of mqt.bench, and gradients, against what Qiskit's own packages say of them."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from mqt.bench import BenchmarkLevel, get_benchmark
from mqt.bench.benchmarks import get_available_benchmark_names
from qiskit import QuantumCircuit
from qiskit.circuit.library import efficient_su2
from qiskit.quantum_info import SparsePauliOp, Statevector
from qiskit_algorithms.gradients import ReverseEstimatorGradient
from qiskit_circuits import bound, random_values

from circuits import ConversionError, PauliSum, from_qiskit
from circuits.interop.qiskit import write_back

DYNAMIC = {"dynamic_qft", "ghz_dynamic", "iqpe"}
LARGER = {"seven_qubit_steane_code", "shor", "shors_nine_qubit_code"}  # from 13 qubits on
NAMES = sorted(set(get_available_benchmark_names()) - LARGER)


def benchmarks(name: str) -> list[QuantumCircuit]:
    """The algorithm-level circuits of 4 to 8 qubits, of the sizes that there are."""
    found = []
    for size in range(4, 9):
        with suppress(ValueError):  # not every size makes, say, an adder
            made = get_benchmark(name, BenchmarkLevel.ALG, size, random_parameters=False)
            found.append(made)
    assert found
    return found


@pytest.mark.parametrize("name", [n for n in NAMES if n not in DYNAMIC])
def test_benchmark_has_qiskits_state(name: str) -> None:
    for circuit in benchmarks(name):
        values = random_values(circuit, seed=circuit.num_qubits)
        imported = from_qiskit(circuit)
        bare = bound(circuit, values).remove_final_measurements(inplace=False)
        expected = Statevector(bare.decompose(reps=6)).data
        found = imported.statevector(values=values, engine="reference").numpy()
        assert np.abs(found - expected).max() < 1e-12


@pytest.mark.parametrize("name", sorted(DYNAMIC))
def test_dynamic_benchmark_is_refused_by_name(name: str) -> None:
    for circuit in benchmarks(name):
        with pytest.raises(ConversionError, match=r"'if_else' at position \d+.*Remove the block"):
            from_qiskit(circuit)


def test_gradients_of_efficient_su2_are_qiskits() -> None:
    circuit = efficient_su2(4, reps=2)
    operator = SparsePauliOp(["ZZII", "IXXI", "YIZY", "IIIZ"], [0.5, -1.2, 0.3, 2.0])
    values = random_values(circuit, seed=4, low=-3, high=3)
    imported = from_qiskit(circuit, values=values)
    imported.expectation(PauliSum.from_qiskit(operator)).backward()
    found = [p.grad.item() for p in imported.parameters()]
    job = ReverseEstimatorGradient().run([circuit], [operator], [values])
    (expected,) = job.result().gradients
    assert found == pytest.approx(expected.tolist(), abs=1e-12)
    assert write_back(imported, circuit).num_parameters == 0
