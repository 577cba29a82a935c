# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # When a gradient vanishes
#
# Take a deep circuit of many qubits, draw its angles at random, and look at the gradient: it is
# almost zero, almost everywhere. Such a landscape is called a *barren plateau* (McClean et al.,
# 2018, arXiv:1803.11173). This notebook measures how fast gradients vanish with qubits and with
# depth, and tries two ways out.

# %%
import matplotlib.pyplot as plt
import numpy as np

import qml

plt.style.use("seaborn-v0_8-colorblind")

# %% tags=["parameters"]
QUBITS = (2, 4, 6, 8, 10)  # widths to be compared
LAYERS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # depths to be compared
SAMPLES = 200  # random angles for each circuit
STEPS = 120  # of the training at the end

# %% [markdown]
# ## Measuring slopes
#
# The ansatz has RY and RZ on every qubit, then CX between neighbours, layer by layer. A batch of
# `values`, one row of random angles each, gives a batch of energies, and one `backward()` the
# gradients at all of these places: 200 gradients with hundreds of elements each, at once.
#
# By symmetry the mean slope is zero. What counts is its *variance*, the mean of its square.


# %%
def ansatz(qubits: int, layers: int) -> qml.Circuit:
    """RY and RZ on every qubit, and CX between neighbours."""
    return qml.hardware_efficient(qubits, layers, initial=0.0, entanglement="pairwise")


def mean_squares(circuit: qml.Circuit, energy: qml.PauliSum, starts: np.ndarray) -> np.ndarray:
    """Return the mean square of the slope along each angle, over all starting points."""
    values = qml.Tensor(starts, requires_grad=True)
    circuit.expectation(energy, values=values).sum().backward()
    return (values.grad.numpy() ** 2).mean(axis=0)


def random_angles(circuit: qml.Circuit, seed: int) -> np.ndarray:
    """One row of angles for each sample, all between -pi and pi."""
    shape = (SAMPLES, len(circuit.parameters()))
    return np.random.default_rng(seed).uniform(-np.pi, np.pi, shape)


# %% [markdown]
# ## More qubits
#
# Two observables, one on two qubits only, one on all of them: $Z_0Z_1$, and the projector on
# |0...0⟩, which is what one would use to make a circuit reach a given state.

# %%
depth = LAYERS[-1]
local, everywhere = [], []
for qubits in QUBITS:
    circuit = ansatz(qubits, depth)
    starts = random_angles(circuit, seed=qubits)
    local.append(mean_squares(circuit, qml.Z(0) @ qml.Z(1), starts).mean())
    everywhere.append(mean_squares(circuit, qml.Projector("0" * qubits), starts).mean())
    print(f"{qubits:2d} qubits   Z0 Z1 {local[-1]:.1e}   projector {everywhere[-1]:.1e}")

# The slope of a straight line through the logarithms: by how much a qubit more divides.
decay = {
    name: float(2 ** -np.polyfit(QUBITS, np.log2(found), 1)[0])
    for name, found in (("local", local), ("everywhere", everywhere))
}
print(f"a qubit more divides the variance by {decay['local']:.2f} and {decay['everywhere']:.2f}")

# %% [markdown]
# For a random state in $2^n$ dimensions an observable on few qubits varies by $2^{-n}$, the
# probability of one basis state by $4^{-n}$. A deep random circuit makes states that cannot be told
# from random ones, and its slopes inherit both laws.

# %%
widths = np.array(QUBITS)
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.semilogy(QUBITS, local, "o-", label="Z on qubits 0 and 1")
axes.semilogy(QUBITS, everywhere, "s-", label="projector on |0...0⟩")
axes.semilogy(QUBITS, local[0] * 2.0 ** (widths[0] - widths), "C0:", label="law 2^-n")
axes.semilogy(QUBITS, everywhere[0] * 4.0 ** (widths[0] - widths), "C1:", label="law 4^-n")
axes.set(xlabel="qubits", ylabel="variance of the slope", xticks=QUBITS)
axes.set_title(f"{depth} layers, random angles")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# On hardware a slope is estimated from shots, with an error of about $1/\sqrt{\text{shots}}$. To
# see a slope of size s at all takes $1/s^2$ shots: a thousand at variance 10⁻³, a million at 10⁻⁶.
# A simulator has exact slopes, but steps become as small as they are.
#
# ## More layers
#
# Now only $Z_0Z_1$. A shallow circuit connects these two qubits to few others, however many there
# are: the slope does not know the width. With every layer they see more of the circuit, until at a
# depth of about the number of qubits they see all of it. Drawn is the steepest direction among the
# RY angles of the first layer.

# %%
curves = {}
for qubits in QUBITS[1:]:
    curves[qubits] = []
    for layers in LAYERS:
        circuit = ansatz(qubits, layers)
        squares = mean_squares(circuit, qml.Z(0) @ qml.Z(1), random_angles(circuit, seed=layers))
        curves[qubits].append(squares[: 2 * qubits : 2].max())

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for qubits, found in curves.items():
    axes.loglog(LAYERS, found, "o-", markersize=4, label=f"{qubits} qubits")
axes.set(xlabel="layers", ylabel="variance of the slope", title="Into the plateau, layer by layer")
axes.set_xticks(LAYERS, LAYERS)
axes.minorticks_off()
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Do not start at a random place
#
# The plateau is where *typical* angles are. Two starts that are not typical:
#
# - **Small angles**: a normal distribution so narrow that the whole circuit stays near the
#   identity. `small_angles` takes the variance 1 / (4 S (L + 2)), for L layers and terms on S
#   qubits, for which a lower bound of the gradient is proved (Zhang et al., 2022,
#   arXiv:2203.09376).
# - **Identity blocks**: half of the circuit is random, the other half is its inverse, with angles
#   of its own that start equal. Together they are the identity, at first (Grant et al., 2019,
#   arXiv:1903.05076).
#
# The energy is now that of a chain of spins in a transverse field,
# $H = -\sum Z_k Z_{k+1} - \sum X_k$.


# %%
def chain(qubits: int) -> qml.PauliSum:
    """The transverse-field Ising chain with open ends, at its critical point."""
    energy = qml.PauliSum()
    for k in range(qubits):
        energy -= qml.X(k)
        if k + 1 < qubits:
            energy -= qml.Z(k) @ qml.Z(k + 1)
    return energy


def start(kind: str, qubits: int, seed: int) -> qml.Circuit:
    """A circuit of the same size, with one of three kinds of starting angles."""
    if kind == "identity blocks":
        half = ansatz(qubits, depth // 2)
        return qml.identity_blocks(half, initial=qml.uniform_angles(seed=seed))
    initial = {
        "random": qml.uniform_angles(seed=seed),
        "small angles": qml.small_angles(layers=depth, locality=2, seed=seed),
    }[kind]
    return qml.hardware_efficient(qubits, depth, initial=initial, entanglement="pairwise")


slopes = {}
for kind in ("random", "small angles", "identity blocks"):
    slopes[kind] = []
    for qubits in QUBITS:
        starts = []
        for seed in range(10):
            circuit = start(kind, qubits, seed)
            starts.append([p.item() for p in circuit.parameters()])
        slopes[kind].append(mean_squares(circuit, chain(qubits), np.array(starts)).mean())

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for kind, found in slopes.items():
    axes.semilogy(QUBITS, found, "o-", label=kind)
axes.set(xlabel="qubits", ylabel="variance of the slope", xticks=QUBITS)
axes.set_title(f"Ising chain, {depth} layers, three kinds of starts")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Does it matter for training?
#
# The widest circuit, from the three starts, with plain gradient descent, whose steps are as long as
# the slopes. The ground state's energy is known: 1 - 1 / sin(π / (4n + 2)) (Pfeuty, 1970).

# %%
energy = chain(QUBITS[-1])
ground = 1 - 1 / np.sin(np.pi / (4 * QUBITS[-1] + 2))
runs = {}
for kind in slopes:
    circuit = start(kind, QUBITS[-1], seed=0)
    optimizer = qml.SGD(circuit.parameters(), lr=0.01)
    runs[kind] = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = circuit.expectation(energy)
        loss.backward()
        optimizer.step()
        runs[kind].append(loss.item())
    print(f"{kind:16} {runs[kind][0]:+.3f} -> {runs[kind][-1]:+.3f}   (ground state {ground:+.3f})")

# %%
figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
for kind, energies in runs.items():
    axes.plot(energies, label=kind)
axes.axhline(ground, color="0.4", linestyle="--", label="ground state")
axes.set(xlabel="step", ylabel="energy", title=f"{QUBITS[-1]} qubits, {depth} layers")
axes.legend(frameon=False)
plt.show()

# %%
result = {
    "decay": decay,
    "slopes": {kind: float(found[-1]) for kind, found in slopes.items()},
    "last": {kind: energies[-1] for kind, energies in runs.items()},
    "ground": float(ground),
}
result

# %% [markdown]
# ## What you have learned
#
# - In deep random circuits slopes shrink exponentially with the number of qubits: like 2⁻ⁿ in
#   variance for observables on few qubits, like 4⁻ⁿ for those on all. That is a property of the
#   landscape, not of the way gradients are computed.
# - Shallow circuits with local observables do not have the problem (Cerezo et al., 2021,
#   arXiv:2001.00550).
# - Start where the circuit is simple: `small_angles` and `identity_blocks` keep slopes alive at the
#   start. They promise nothing about the way to the minimum.
# - Before a long training, look at the gradients: a batch of random starts costs one call.
#
# Next: `10_where_values_live.py`, about devices, and what moves between them.
