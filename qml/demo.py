"""The demonstration: the ground state of molecular hydrogen with a variational circuit."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import sin
from pathlib import Path

from autodiff import no_grad
from circuits import Circuit
from qml.ansaetze.layered import hardware_efficient
from qml.datasets import CHEMICAL_ACCURACY, Molecule, load_h2
from qml.optim.adam import Adam
from qml.plots import save_energy_plot
from qml.progress import progress_bar

LAYERS = 6
LEARNING_RATE = 0.05


@dataclass(frozen=True)
class Run:
    """A finished training.

    Attributes:
        molecule: what was solved.
        energies: in hartree, before each step and after the last.
        seconds: for all steps.
    """

    molecule: Molecule
    energies: list[float]
    seconds: float

    @property
    def error(self) -> float:
        """How far above the exact energy the last one is, in hartree."""
        return self.energies[-1] - self.molecule.exact_energy


def hydrogen_circuit() -> Circuit:
    """Return X on qubits 0 and 1, then six layers of RY, RZ and a ring of CX on 4 qubits.

    The 48 angles start at 0.04 sin(0.37 k), k = 1 ... 48: small, different, without random numbers.
    """
    initial = [0.04 * sin(0.37 * k) for k in range(1, 8 * LAYERS + 1)]
    ansatz = hardware_efficient(4, LAYERS, initial=initial)
    return Circuit(4, name="hydrogen").x(0).x(1).compose(ansatz)


def train(steps: int, *, engine: str = "numba", quiet: bool = True) -> Run:
    """Minimise the energy of hydrogen.

    Args:
        steps: of Adam.
        engine: ``"numba"`` or ``"reference"``.
        quiet: without a progress bar.
    """
    molecule, circuit = load_h2(), hydrogen_circuit()
    optimizer = Adam(circuit.parameters(), lr=LEARNING_RATE)
    energies = []
    started = time.perf_counter()
    with progress_bar(steps, quiet=quiet) as bar:
        for _ in range(steps):
            optimizer.zero_grad()
            energy = circuit.expectation(molecule.hamiltonian, engine=engine)
            energy.backward()
            optimizer.step()
            energies.append(energy.item())
            bar.update()
    with no_grad():
        energies.append(circuit.expectation(molecule.hamiltonian, engine=engine).item())
    return Run(molecule, energies, time.perf_counter() - started)


def table(run: Run) -> str:
    """Return the energies at some steps as text."""
    last = len(run.energies) - 1
    shown = sorted({*range(0, last, max(last // 10, 1)), last})
    lines = ["  step   energy (hartree)   above exact"]
    for step in shown:
        above = run.energies[step] - run.molecule.exact_energy
        lines.append(f"{step:6d}   {run.energies[step]:16.9f}   {above:11.2e}")
    return "\n".join(lines)


def summary(run: Run) -> str:
    """Return what the run achieved as text."""
    molecule = run.molecule
    reached = "within" if run.error <= CHEMICAL_ACCURACY else "NOT yet within"
    steps = len(run.energies) - 1
    return "\n".join(
        [
            f"Hartree-Fock energy  {molecule.hartree_fock_energy:14.9f} hartree",
            f"exact energy         {molecule.exact_energy:14.9f} hartree",
            f"trained energy       {run.energies[-1]:14.9f} hartree",
            f"error                {run.error:14.2e} hartree, {reached} chemical accuracy "
            f"({CHEMICAL_ACCURACY:g})",
            f"time                 {run.seconds:14.2f} s for {steps} steps, compilation included",
        ]
    )


def run_demo(steps: int, engine: str, output: Path, quiet: bool) -> Run:
    """Train, print what happens, save the picture, and return the run."""
    if not quiet:
        print(f"Molecular hydrogen, STO-3G, 0.70 angstrom: {hydrogen_circuit()!r}")
        if engine == "numba":
            print("compiling the kernels once, which takes a while ...", flush=True)
    run = train(steps, engine=engine, quiet=quiet)
    molecule = run.molecule
    save_energy_plot(
        run.energies,
        molecule.exact_energy,
        output,
        title=f"Molecular hydrogen at {molecule.bond_length:.2f} angstrom, {molecule.basis}: "
        f"Adam, learning rate {LEARNING_RATE:g}",
        references=[("Hartree-Fock", molecule.hartree_fock_energy)],
    )
    if not quiet:
        print(f"\n{table(run)}\n")
    print(f"{summary(run)}\npicture              {output}")
    return run
