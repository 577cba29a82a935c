"""A Qiskit circuit, trained here, and back in Qiskit on a noisy backend.

Run it: ``python tutorials/07_qiskit_round_trip.py``. The backend's noise model needs qiskit-aer;
it takes a few seconds.

The circuit is Qiskit's, with Qiskit's parameters. It is imported with its symbols, trained with
exact gradients, and the trained values are put back into the same Qiskit circuit. That one is
compiled for a five-qubit backend and measured with shots, and a few steps of training with
gradients by the parameter-shift rule are done there, too.
"""

from __future__ import annotations

import numpy as np
from qiskit import QuantumCircuit, generate_preset_pass_manager
from qiskit.circuit.library import efficient_su2
from qiskit.primitives import BackendEstimatorV2
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.quantum_info import SparsePauliOp, Statevector

import qml
from circuits.interop.qiskit import HardwareRunner, write_back

# The transverse-field Ising chain of three sites at its critical point.
HAMILTONIAN = SparsePauliOp(["ZZI", "IZZ", "XII", "IXI", "IIX"], [-1.0, -1.0, -1.0, -1.0, -1.0])


def train(circuit: QuantumCircuit, steps: int) -> qml.Circuit:
    """Import the circuit with its symbols and minimise the energy with exact gradients."""
    start = np.random.default_rng(3).uniform(-0.1, 0.1, circuit.num_parameters)
    imported = qml.from_qiskit(circuit, values=start)
    print(imported.import_report)
    energy_of = qml.PauliSum.from_qiskit(HAMILTONIAN)
    optimizer = qml.Adam(imported.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        energy = imported.expectation(energy_of)
        energy.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step:3d}   energy {energy.item():+.6f}")
    return imported


def compile_for(backend: GenericBackendV2, precision: float) -> HardwareRunner:
    """Run on the backend: its pass manager compiles, its shots give the standard errors."""
    passes = generate_preset_pass_manager(optimization_level=2, backend=backend, seed_transpiler=1)
    estimator = BackendEstimatorV2(backend=backend, options={"seed_simulator": 1})
    return HardwareRunner(estimator, passes, precision=precision)


def main(steps: int = 200, noisy_steps: int = 3, precision: float = 0.02) -> float:
    """Train, go back to Qiskit, run with noise, and return the energy that was measured."""
    circuit = efficient_su2(3, reps=2)
    imported = train(circuit, steps)

    # Back: the user's own circuit with numbers, and the same energy by Qiskit.
    trained = write_back(imported, circuit)
    energy = Statevector(trained).expectation_value(HAMILTONIAN).real
    exact = np.linalg.eigvalsh(HAMILTONIAN.to_matrix())[0]
    print(f"Qiskit's energy of the trained circuit {energy:+.6f}, ground state {exact:+.6f}")

    runner = compile_for(GenericBackendV2(5, seed=1), precision)
    energy_of = qml.PauliSum.from_qiskit(HAMILTONIAN)
    measured = runner.estimate(imported, energy_of)
    print(f"on the backend {measured.values:+.3f} +- {measured.standard_errors:.3f}")

    # Training on the backend goes on from there: one pub of shifted angles a gradient.
    optimizer = qml.SGD(imported.parameters(), lr=0.02)
    for _ in range(noisy_steps):
        optimizer.zero_grad()
        runner.expectation(imported, energy_of).backward()
        optimizer.step()
    measured = runner.estimate(imported, energy_of)
    print(f"after {noisy_steps} steps there {measured.values:+.3f}")

    # The same circuit as text, for everything else.
    print(qml.to_qasm(imported).splitlines()[0])
    return float(measured.values)


if __name__ == "__main__":
    main()
