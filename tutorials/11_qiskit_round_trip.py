# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # From Qiskit, through training, onto a noisy backend, and back
#
# The circuit is Qiskit's, with Qiskit's parameters. It is imported with its symbols, checked,
# trained with exact gradients, and the trained values are put back into the same Qiskit circuit.
# That one is compiled for a five-qubit backend and measured with shots and noise; then training
# goes on *there*, with gradients by the parameter-shift rule.
#
# The backend is a fake one, which needs `qiskit-aer`; a real one is used in the same way.

# %%
import matplotlib.pyplot as plt
import numpy as np
from qiskit import QuantumCircuit, generate_preset_pass_manager
from qiskit.circuit.library import efficient_su2
from qiskit.primitives import BackendEstimatorV2
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit.quantum_info import SparsePauliOp, Statevector

import qml
from circuits.interop.qiskit import HardwareRunner, verify_import, write_back

plt.style.use("seaborn-v0_8-colorblind")

# %% tags=["parameters"]
STEPS = 200  # of training on the simulator
NOISY_STEPS = 6  # of training on the backend
PRECISION = 0.02  # what is asked of the backend for each Pauli word: about 1 / PRECISION² shots

# %% [markdown]
# ## A problem in Qiskit's words
#
# Three spins in a chain with a transverse field, and a circuit with a symbol in every rotation.

# %%
hamiltonian = SparsePauliOp(["ZZI", "IZZ", "XII", "IXI", "IIX"], [-1.0] * 5)
exact = float(np.linalg.eigvalsh(hamiltonian.to_matrix())[0])
qc = efficient_su2(3, reps=2)
print(qc.num_parameters, "symbols; ground state energy", round(exact, 6))

# %% [markdown]
# ## Import, and check the import
#
# `verify_import` compares states, with their global phase, and gradients with Qiskit's own, at a
# random point. It is a way to trust the import of *your* circuit.

# %%
start = np.random.default_rng(3).uniform(-0.1, 0.1, qc.num_parameters)
circuit = qml.from_qiskit(qc, values=start)
checked = verify_import(qc)
print(f"largest difference of states {checked.state:.1e}, of gradients {checked.gradient:.1e}")
assert circuit.parameter_names() == [p.name for p in qc.parameters]
circuit.import_report

# %% [markdown]
# ## Train with exact gradients

# %%
observable = qml.PauliSum.from_qiskit(hamiltonian)
optimizer = qml.Adam(circuit.parameters(), lr=0.1)
energies = []
for _ in range(STEPS):
    optimizer.zero_grad()
    energy = circuit.expectation(observable)
    energy.backward()
    optimizer.step()
    energies.append(energy.item())
print(f"first {energies[0]:+.6f}   last {energies[-1]:+.6f}   exact {exact:+.6f}")

# %% [markdown]
# ## Back to Qiskit
#
# `write_back` assigns the trained values to the user's own circuit. Qiskit's simulator gives the
# same energy.

# %%
trained: QuantumCircuit = write_back(circuit, qc)
qiskit_energy = float(Statevector(trained).expectation_value(hamiltonian).real)
with qml.no_grad():
    difference = abs(qiskit_energy - circuit.expectation(observable).item())
print(f"Qiskit's energy {qiskit_energy:+.6f}, which differs from ours by {difference:.1e}")

# %% [markdown]
# ## Onto a backend
#
# A `HardwareRunner` needs an estimator, which measures, and a pass manager, which compiles for the
# backend's gates and connections. Estimates come with their standard errors.

# %%
backend = GenericBackendV2(5, seed=1)
passes = generate_preset_pass_manager(optimization_level=2, backend=backend, seed_transpiler=1)
estimator = BackendEstimatorV2(backend=backend, options={"seed_simulator": 1})
runner = HardwareRunner(estimator, passes, precision=PRECISION)

compiled = passes.run(trained)
print("compiled for the backend:", dict(compiled.count_ops()))
before = runner.estimate(circuit, observable)
print(f"measured {before.values:+.3f} +- {before.standard_errors:.3f}, without noise {exact:+.3f}")

# %% [markdown]
# The error bar covers the shots only. Gates and readout that are not quite right add an error of
# their own, which more shots do not remove; on this backend it is no larger than the bar.
#
# ## Gradients on the backend
#
# There is no way back through hardware, but there is a rule: for a rotation, the slope is half the
# difference of the energies with the angle shifted by ±π/2, exactly. `runner.gradient` measures all
# of them in one request, each with its standard error.

# %%
turned = start  # where slopes are large
circuit.assign(turned)
measured = runner.gradient(circuit, observable)
for p in circuit.parameters():
    p.zero_grad()
circuit.expectation(observable).backward()
slopes = np.array([p.grad.item() for p in circuit.parameters()])

figure, axes = plt.subplots(figsize=(7, 3.5), layout="constrained")
ticks = np.arange(slopes.size)
axes.bar(ticks, slopes, color="0.8", label="exact, one reverse sweep")
axes.errorbar(
    ticks, measured.values, 2 * measured.standard_errors, fmt="C0o", label="backend, shifted angles"
)
axes.set(xlabel="angle", ylabel="slope", title="Gradients, with two standard errors")
axes.set(xticks=ticks, ylim=(None, 0.7))
axes.legend(frameon=False, ncols=2, loc="upper center")
plt.show()

# %% [markdown]
# ## Training on the backend
#
# `runner.expectation` gives a Tensor whose `backward()` measures the shifted circuits, so that the
# training loop stays as it was. We start where the first training started.

# %%
optimizer = qml.SGD(circuit.parameters(), lr=0.1)
noisy, errors = [], []
for _ in range(NOISY_STEPS):
    optimizer.zero_grad()
    runner.expectation(circuit, observable).backward()
    optimizer.step()
    estimate = runner.estimate(circuit, observable)
    noisy.append(float(estimate.values))
    errors.append(float(estimate.standard_errors))
print("measured after each step:", np.round(noisy, 2))

# %%
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.plot(np.arange(STEPS), energies, label="simulator, exact gradients, Adam")
axes.errorbar(
    np.arange(1, NOISY_STEPS + 1), noisy, errors, fmt="C2.-", label="backend, shots and noise, SGD"
)
value, error = float(before.values), float(before.standard_errors)
axes.axhspan(value - error, value + error, color="C1", alpha=0.4, label="trained, on the backend")
axes.axhline(exact, color="0.3", linestyle="--", label="ground state")
axes.set(xlabel="step", ylabel="energy", xscale="symlog", xlim=(0, STEPS))
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## As text, for everything else
#
# OpenQASM 3 keeps the symbols.

# %%
text = qml.to_qasm(circuit)
code = [line for line in text.splitlines() if not line.startswith("//")]
print("\n".join([*code[:4], "...", *code[-4:]]))
assert qml.from_qasm(text).parameter_names() == circuit.parameter_names()

# %%
result = {
    "exact": exact,
    "first": energies[0],
    "trained": energies[-1],
    "difference": difference,
    "measured": value,
    "noisy": noisy,
    "slope_error": float(np.abs(measured.values - slopes).max()),
}
result

# %% [markdown]
# ## What you have learned
#
# - A Qiskit circuit comes in with its symbols, and `verify_import` proves that it is the same.
#   After training, `write_back` fills *your* circuit.
# - Exact gradients cost one reverse sweep on a simulator. On hardware they cost two circuits an
#   angle and come with error bars; the training loop is the same.
# - So train on the simulator as far as it reaches, and let the hardware have the last steps.
