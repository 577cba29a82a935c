# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The hydrogen molecule, with a circuit from Qiskit
#
# How strongly are two hydrogen atoms bound? A *variational quantum eigensolver* answers such
# questions: a circuit with angles prepares a state, its energy is evaluated, and an optimizer
# changes the angles until the energy is as low as it gets. No state has less energy than the ground
# state, so what comes out is never too low.
#
# You bring the circuit and the Hamiltonian from Qiskit; they are trained here, and go back.

# %%
import matplotlib.pyplot as plt
import numpy as np
from qiskit import QuantumCircuit
from qiskit.circuit.library import efficient_su2
from qiskit.quantum_info import Statevector

import qml
from circuits.interop.qiskit import write_back

plt.style.use("seaborn-v0_8-colorblind")

# %% tags=["parameters"]
STEPS = 100  # of the optimizer

# %% [markdown]
# ## The problem, in Qiskit's words
#
# In a small basis (STO-3G) the two electrons have four places to be: four qubits, each 1 if its
# place is taken. The Hamiltonian is a sum of 15 Pauli words, in hartree.

# %%
molecule = qml.load_h2()  # at a distance of 0.70 angstrom
hamiltonian = qml.to_qiskit(molecule.hamiltonian)  # Qiskit's SparsePauliOp
print(type(hamiltonian).__name__, "of", len(hamiltonian), "words")
for label, coefficient in hamiltonian.to_list()[:5]:
    print(f"{label}  {coefficient.real:+.6f}")

# %% [markdown]
# The circuit starts from |0011⟩, both electrons in the lower orbital. That is the *Hartree-Fock*
# state, the best guess without entanglement. What follows is a standard circuit of Qiskit's
# library: RY rotations, and four chains of CX. While all angles are zero, the four chains undo one
# another, so that near zero we start near Hartree-Fock.

# %%
qc = QuantumCircuit(4)
qc.x([0, 1])
qc.compose(efficient_su2(4, su2_gates=["ry"], reps=4, entanglement="linear"), inplace=True)
print(qc.num_parameters, "symbols, the first ones", [p.name for p in list(qc.parameters)[:3]])

# %% [markdown]
# ## Import
#
# Every symbol of Qiskit's circuit becomes a Parameter with the same name. A Parameter also has a
# value; `values` says where it starts. We start near zero, but not at zero, where some slopes
# vanish by symmetry. The report tells what was mapped, and would tell what was left out.

# %%
start = np.random.default_rng(0).normal(0.0, 0.1, qc.num_parameters)
circuit = qml.from_qiskit(qc, values=start)
observable = qml.PauliSum.from_qiskit(hamiltonian)
circuit.import_report

# %% [markdown]
# ## Train
#
# As in the first notebook: `zero_grad`, `backward`, `step`. Adam adapts the length of its steps to
# each angle. One reverse sweep through the circuit gives the derivatives with respect to all
# angles.

# %%
optimizer = qml.Adam(circuit.parameters(), lr=0.05)
energies = []
for step in range(STEPS):
    optimizer.zero_grad()
    energy = circuit.expectation(observable)
    energy.backward()
    optimizer.step()
    energies.append(energy.item())
    if step % 20 == 0:
        print(f"step {step:3d}   energy {energies[-1]:.6f} hartree")

with qml.no_grad():
    energies.append(circuit.expectation(observable).item())
print(f"trained    {energies[-1]:.6f} hartree\nexact      {molecule.exact_energy:.6f} hartree")

# %% [markdown]
# The lower part of the picture has the error on a logarithmic scale. *Chemical accuracy*, the green
# band, is what chemists need to predict the speed of a reaction: 1.6 millihartree.

# %%
qml.energy_plot(
    energies,
    molecule.exact_energy,
    title="Molecular hydrogen, circuit from Qiskit",
    references=[("Hartree-Fock", molecule.hartree_fock_energy)],
)

# %% [markdown]
# ## What does the state look like?
#
# Which basis states does it consist of? Both electrons in the lower orbital, |0011⟩, with a
# small admixture of both in the upper one, |1100⟩. The admixture is why the energy lies below
# Hartree-Fock: the electrons avoid each other. The number of electrons came out right by itself,
# although the circuit could have prepared any number.

# %%
probabilities = circuit.probabilities().numpy()
order = np.argsort(-probabilities)[:6]
figure, axes = plt.subplots(figsize=(6.0, 3.0), layout="constrained")
bars = axes.bar([f"{k:04b}" for k in order], np.maximum(probabilities[order], 1e-12))
axes.bar_label(bars, fmt="%.1e")
axes.set(yscale="log", ylim=(1e-9, 30.0), xlabel="basis state", ylabel="probability")
axes.set_title("The six most probable basis states")
plt.show()

# %% [markdown]
# ## Back to Qiskit
#
# `write_back` puts the trained numbers into *your* circuit, not into a translation of ours. What
# Qiskit computes from it is the energy that was found here.

# %%
trained = write_back(circuit, qc)
qiskit_energy = Statevector(trained).expectation_value(hamiltonian).real
result = {
    "energy": energies[-1],
    "qiskit_energy": float(qiskit_energy),
    "exact": molecule.exact_energy,
    "hartree_fock": molecule.hartree_fock_energy,
    "first": energies[0],
}
result

# %% [markdown]
# ## What you have learned
#
# - `qml.from_qiskit` takes a Qiskit circuit with its symbols, `PauliSum.from_qiskit` an operator.
# - A variational energy never falls below the exact one, so lower is always better. Twenty
#   angles are enough to bring hydrogen to chemical accuracy.
# - `write_back` returns the result to the circuit that you brought, and Qiskit agrees with it.
#
# Adam is one of many ways downhill: `03_optimizers.py` compares four. The way to noisy hardware is
# `11_qiskit_round_trip.py`.
