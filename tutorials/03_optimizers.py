# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Four ways downhill
#
# Four optimizers start from the same circuit with the same 48 angles, and stop when the energy of
# molecular hydrogen is known to chemical accuracy. They differ in what they ask of the circuit:
#
# | optimizer | asks for | does with it |
# |---|---|---|
# | Adam | one gradient a step | a step of about `lr` for every angle, however steep it is |
# | L-BFGS | several gradients a step | learns the curvature, and searches along a line |
# | natural gradient | a gradient and the metric | measures steps by how far the *state* moves |
# | Rotosolve | two energies an angle | moves one angle after the other to its minimum |

# %%
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import matplotlib.pyplot as plt
import numpy as np

import qml

plt.style.use("seaborn-v0_8-colorblind")

# %% tags=["parameters"]
MAX_STEPS = 200  # after which an optimizer has to give up

# %% [markdown]
# ## The problem
#
# RY and RZ on every qubit and a ring of CX, six times. The start is near zero, different for every
# angle, and without random numbers, so that the race is the same everywhere.

# %%
molecule = qml.load_h2()


def build_circuit() -> qml.Circuit:
    """Two electrons in the lower orbital, then an ansatz of 48 angles."""
    initial = 0.04 * np.sin(0.37 * np.arange(1, 49))
    return qml.Circuit(4).x(0).x(1).compose(qml.hardware_efficient(4, 6, initial=initial))


print(molecule.hamiltonian)

# %% [markdown]
# ## The optimizers
#
# All but Rotosolve are given the circuit's Parameters, and find the gradients there. The natural
# gradient also gets the circuit: it needs the metric tensor $g_{ij} =
# \mathrm{Re}\,\langle\partial_i\psi|(1 - |\psi\rangle\langle\psi|)|\partial_j\psi\rangle$, and
# steps along $g^{-1}\nabla E$. Rotosolve gets circuit and observable, and needs nothing else: as a
# function of *one* angle of a rotation, every energy is $m + b\cos\theta + c\sin\theta$, whose
# minimum follows from three values.

# %%
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

# %% [markdown]
# ## The race
#
# An optimizer that evaluates the loss by itself, several times a step, is given a *closure*: a
# function that clears the gradients, computes the loss, goes backward, and returns the loss. The
# others take it too, so one loop serves all.


# %%
@dataclass
class Race:
    """What one optimizer needed: gradients, seconds, and its error in hartree after each step."""

    gradients: int = 0
    seconds: float = 0.0
    errors: list[float] = field(default_factory=list)

    @property
    def steps(self) -> int:
        return len(self.errors)


def run(make: Make, max_steps: int) -> Race:
    """Train until the energy is within chemical accuracy."""
    circuit, race = build_circuit(), Race()
    optimizer = make(circuit, molecule.hamiltonian)

    def closure() -> qml.Tensor:
        race.gradients += 1
        optimizer.zero_grad()
        energy = circuit.expectation(molecule.hamiltonian)
        energy.backward()
        return energy

    # Rotosolve knows its objective; the others are told the loss by the closure.
    closures = [] if isinstance(optimizer, qml.Rotosolve) else [closure]
    while race.steps < max_steps:
        started = time.perf_counter()
        optimizer.step(*closures)
        race.seconds += time.perf_counter() - started
        with qml.no_grad():  # looking at the energy is not counted
            energy = circuit.expectation(molecule.hamiltonian).item()
        race.errors.append(energy - molecule.exact_energy)
        if race.errors[-1] <= qml.CHEMICAL_ACCURACY:
            break
    return race


for make in OPTIMIZERS.values():
    run(make, 1)  # compiles what has to be compiled, which is nobody's time
races = {name: run(make, MAX_STEPS) for name, make in OPTIMIZERS.items()}

print(f"{'optimizer':18}{'steps':>6}{'gradients':>11}{'seconds':>9}{'error':>11}")
for name, race in races.items():
    counts = f"{race.steps:6d}{race.gradients:11d}"
    print(f"{name:18}{counts}{race.seconds:9.3f}{race.errors[-1]:11.1e}")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for name, race in races.items():
    steps = np.arange(1, race.steps + 1)
    left.semilogy(steps, race.errors, "o-", markersize=3, label=name)
left.axhspan(1e-4, qml.CHEMICAL_ACCURACY, color="0.9", label="chemical accuracy")
left.set(xlabel="step", ylabel="error in hartree", ylim=(1e-4, 20), title="What a step achieves")
left.legend(frameon=False, loc="upper right")
bars = right.barh(list(races), [1000 * race.seconds for race in races.values()], color="C0")
right.bar_label(bars, fmt="%.0f", padding=3)
right.invert_yaxis()
right.set(xlabel="milliseconds until chemical accuracy", title="What all steps cost")
right.margins(x=0.15)
plt.show()

# %% [markdown]
# A step is not a step. One of the natural gradient costs 48 evolutions of the circuit besides its
# gradient, a sweep of Rotosolve two energies for each of the 48 angles, of which only the gates
# behind the angle are new. The times depend on the machine and on what else it does; the numbers of
# steps do not.

# %%
result = {
    name: {"steps": race.steps, "gradients": race.gradients, "error": race.errors[-1]}
    for name, race in races.items()
}
result

# %% [markdown]
# ## What you have learned
#
# - All optimizers are used alike: `step(closure)`; those that need one gradient only may as well
#   be used with `zero_grad()`, `backward()`, `step()`.
# - Adam needs the most steps and the least thought. L-BFGS is good where gradients are exact, as
#   they are here and are not on hardware. The natural gradient and Rotosolve know that they have a
#   circuit before them, and need a fraction of the steps.
# - Compare optimizers by what they cost, not by their steps.
#
# The page on optimizers in the documentation lists all of them, with formulas. Next:
# `04_qaoa_maxcut.py`, where a circuit solves a puzzle on a graph.
