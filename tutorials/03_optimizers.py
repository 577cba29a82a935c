"""Four ways to the ground state of molecular hydrogen, side by side.

Run it: ``python tutorials/03_optimizers.py``. It takes a few seconds.

All start from the same circuit with the same angles and stop at chemical accuracy. They differ in
what they ask of the circuit. Adam wants one gradient a step. L-BFGS wants several, and chooses the
length of its steps. The natural gradient also wants to know how far apart the states are that the
angles lead to: one more evolution of the circuit for each angle. Rotosolve wants no gradient at
all, and moves one angle after the other to its minimum: two energies for each angle, of which only
the gates after it are new.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import qml
from qml.demo import hydrogen_circuit

Make = Callable[[qml.Circuit, qml.PauliSum], qml.Optimizer]

OPTIMIZERS: dict[str, Make] = {
    "Adam": lambda circuit, h: qml.Adam(circuit.parameters(), lr=0.05),
    "L-BFGS": lambda circuit, h: qml.LBFGS(
        circuit.parameters(), max_iter=1, line_search_fn="strong_wolfe"
    ),
    "natural gradient": lambda circuit, h: qml.QuantumNaturalGradient(
        circuit.parameters(), circuit, lr=0.5, regularization=1e-2
    ),
    "Rotosolve": lambda circuit, h: qml.Rotosolve(circuit.parameters(), circuit, h),
}


@dataclass
class Race:
    """What one optimizer needed.

    Attributes:
        steps: calls of ``step``.
        gradients: evaluations of energy and gradient.
        seconds: for the steps, without looking at the energy between them.
        error: above the exact energy at the end, in hartree.
    """

    steps: int = 0
    gradients: int = 0
    seconds: float = 0.0
    error: float = float("inf")


def run(make: Make, max_steps: int) -> Race:
    """Train until the energy is within chemical accuracy."""
    molecule, circuit = qml.load_h2(), hydrogen_circuit()
    optimizer = make(circuit, molecule.hamiltonian)
    race = Race()

    def closure() -> qml.Tensor:
        race.gradients += 1
        optimizer.zero_grad()
        energy = circuit.expectation(molecule.hamiltonian)
        energy.backward()
        return energy

    # Rotosolve knows its objective; the others are told the loss by a closure.
    closures = [] if isinstance(optimizer, qml.Rotosolve) else [closure]
    while race.steps < max_steps and race.error > qml.CHEMICAL_ACCURACY:
        started = time.perf_counter()
        optimizer.step(*closures)
        race.seconds += time.perf_counter() - started
        race.steps += 1
        with qml.no_grad():
            energy = circuit.expectation(molecule.hamiltonian).item()
        race.error = energy - molecule.exact_energy
    return race


def main(max_steps: int = 200) -> float:
    """Print the table, and return the largest error."""
    for make in OPTIMIZERS.values():
        run(make, 1)  # compiles the kernels, which is nobody's time
    print(f"steps to chemical accuracy ({qml.CHEMICAL_ACCURACY:g} hartree), 48 angles")
    print(f"{'optimizer':18}{'steps':>6}{'gradients':>11}{'seconds':>9}{'error':>11}")
    races = {name: run(make, max_steps) for name, make in OPTIMIZERS.items()}
    for name, race in races.items():
        print(f"{name:18}{race.steps:6d}{race.gradients:11d}{race.seconds:9.3f}{race.error:11.1e}")
    return max(race.error for race in races.values())


if __name__ == "__main__":
    main()
