"""The ground state of molecular hydrogen with a variational circuit.

Run it: ``python tutorials/01_h2_vqe.py``. It takes a second and writes ``h2_vqe.png``.

A variational quantum eigensolver prepares a state with a parametrised circuit, evaluates the
energy, and lets an optimizer change the angles until the energy is as low as it gets. The lowest
energy that any state can have is the ground state's: what comes out is never too low.
"""

from __future__ import annotations

import numpy as np

import qml
from qml.plots import save_energy_plot


def build_circuit(layers: int = 6) -> qml.Circuit:
    """Build the ansatz: rotations that are trained, and CX gates that entangle."""
    circuit = qml.Circuit(4)
    circuit.x(0).x(1)  # two electrons in the two lowest orbitals
    count = 0
    for _ in range(layers):
        for qubit in range(4):
            for rotation in (circuit.ry, circuit.rz):
                count += 1
                rotation(qml.Parameter(0.04 * np.sin(0.37 * count)), qubit)
        for qubit in range(4):
            circuit.cx(qubit, (qubit + 1) % 4)
    return circuit


def main(steps: int = 100, picture: str = "h2_vqe.png") -> float:
    """Train, print the energies, save the learning curve, and return the last energy."""
    # The Hamiltonian is a sum of Pauli words with coefficients in hartree.
    h2 = qml.load_h2()
    print(h2.hamiltonian)

    circuit = build_circuit()
    print(circuit)

    # The circuit's angles are Parameters, so any optimizer takes them as they are.
    optimizer = qml.Adam(circuit.parameters(), lr=0.05)
    energies = []
    for step in range(steps):
        optimizer.zero_grad()
        energy = circuit.expectation(h2.hamiltonian)
        energy.backward()  # one reverse sweep gives all 48 derivatives
        optimizer.step()
        energies.append(energy.item())
        if step % 10 == 0:
            print(f"step {step:3d}   energy {energy:.6f} hartree")

    with qml.no_grad():
        energies.append(circuit.expectation(h2.hamiltonian).item())
    print(f"trained {energies[-1]:.6f}, exact {h2.exact_energy:.6f} hartree")

    # Which basis states does the trained state consist of? Two electrons: two ones each.
    probabilities = circuit.probabilities().numpy()
    for index in np.argsort(-probabilities)[:3]:
        print(f"|{index:04b}>  {probabilities[index]:.5f}")

    save_energy_plot(energies, h2.exact_energy, picture, title="Molecular hydrogen, trained")
    return energies[-1]


if __name__ == "__main__":
    main()
