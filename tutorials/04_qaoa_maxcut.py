# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Cutting a graph in two: QAOA
#
# Divide the nodes of a graph into two sides so that as many edges as possible lead across. That is
# MaxCut, and it is hard: nobody knows a method that is fast for every large graph. The *quantum
# approximate optimization algorithm* prepares a state with a few angles, in which good cuts are
# more probable than bad ones, and measures it.
#
# With 12 nodes all 4096 cuts can be counted, so that we know how good the answers are.

# %%
import matplotlib.pyplot as plt
import numpy as np

import qml

plt.style.use("seaborn-v0_8-colorblind")
NODES = 12

# %% tags=["parameters"]
MAX_LAYERS = 4  # QAOA with one layer, two, ... up to so many
STEPS = 150  # of the optimizer, for each of them

# %% [markdown]
# ## The graph
#
# Every node has three neighbours: the ends of the edges are paired up at random, until no edge
# occurs twice and none leads back to its own node.


# %%
def random_graph(seed: int = 7, degree: int = 3) -> list[tuple[int, int]]:
    """Draw a graph in which every node has the same number of neighbours."""
    generator = np.random.default_rng(seed)
    ends = np.repeat(np.arange(NODES), degree)
    while True:
        pairs = np.sort(generator.permutation(ends).reshape(-1, 2), axis=1)
        different = np.unique(pairs, axis=0)
        if len(different) == len(pairs) and (pairs[:, 0] != pairs[:, 1]).all():
            return [(int(a), int(b)) for a, b in different]


edges = random_graph()
first, second = np.array(edges).T
print(len(edges), "edges:", edges)

# %% [markdown]
# A cut is a string of 12 bits: bit k is the side of node k. So a basis state of 12 qubits *is* a
# cut, and qubit k belongs to node k. Here every one of them is counted.

# %%
sides = np.arange(1 << NODES)[:, None] >> np.arange(NODES) & 1  # (4096, 12)
sizes = (sides[:, first] != sides[:, second]).sum(axis=1)  # edges that each cut crosses
best, random_cut = int(sizes.max()), len(edges) / 2
print(f"the best cut crosses {best} of {len(edges)} edges, a random one {random_cut:g} on average")

# %% [markdown]
# ## The energy is minus the number of cut edges
#
# $Z_i Z_j$ is +1 if both nodes are on the same side, else -1. So $H = \sum \frac{1}{2}(Z_i Z_j -
# 1)$ over the edges is minus the number of edges that are cut, and the best cut is the ground
# state.

# %%
hamiltonian = qml.maxcut_hamiltonian(edges)
print(hamiltonian)

winner = qml.Circuit(NODES)
for node in np.flatnonzero(sides[sizes.argmax()]):
    winner.x(node)  # puts the node on side 1
print("energy of the best cut:", winner.expectation(hamiltonian).item())

# %% [markdown]
# ## The ansatz
#
# QAOA starts from all cuts with equal probability. A layer turns the phase of each cut by its
# energy, exp(-iγH), and then mixes neighbouring cuts, exp(-iβX) on every qubit: phases become
# probabilities. Layer k has its own γ and β, so that p layers have 2p angles, whatever the size
# of the graph.
#
# Longer circuits are harder to train from scratch. We start p + 1 layers from the p that were
# found: good angles lie on smooth curves, which are stretched over one layer more (Zhou et al.,
# 2020, arXiv:1812.01041).


# %%
def longer(angles: np.ndarray) -> np.ndarray:
    """Stretch the curves of all γ and of all β over one layer more."""
    old = np.linspace(0.0, 1.0, len(angles) // 2)
    new = np.linspace(0.0, 1.0, len(angles) // 2 + 1)
    return np.concatenate([np.interp(new, old, half) for half in np.split(angles, 2)])


circuits = []
angles = np.array([0.4, 0.4])  # gamma[0], beta[0]
for layers in range(1, MAX_LAYERS + 1):
    circuit = qml.qaoa(edges, layers, initial=angles)
    optimizer = qml.Adam(circuit.parameters(), lr=0.05)
    for _ in range(STEPS):
        optimizer.zero_grad()
        circuit.expectation(hamiltonian).backward()
        optimizer.step()
    circuits.append(circuit)
    trained = np.array([p.item() for p in circuit.parameters()])
    print(f"p = {layers}   gamma {trained[:layers].round(2)}   beta {trained[layers:].round(2)}")
    angles = longer(trained)

# %% [markdown]
# ## How good are the cuts?
#
# Of each circuit: the cut that a measurement gives on average, the best of 100 measurements, and
# the probability to hit one of the best cuts with a single one.

# %%
expected, samples, chances = [], [], []
for layers, circuit in enumerate(circuits, start=1):
    with qml.no_grad():
        expected.append(-circuit.expectation(hamiltonian).item())
    samples.append(sizes[circuit.sample(100, seed=0)])
    chances.append(circuit.probabilities().numpy()[sizes == best].sum())
    print(
        f"p = {layers}   average {expected[-1]:6.3f}   ratio to the best {expected[-1] / best:.3f}"
        f"   best of 100: {samples[-1].max()}   P(a best cut) {chances[-1]:.3f}"
    )

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
depths = np.arange(1, MAX_LAYERS + 1)
left.axhline(1.0, color="C2", linestyle="--", label="best cut, by counting all")
left.plot(depths, np.array(expected) / best, "o-", label="QAOA")
left.axhline(random_cut / best, color="0.5", linestyle=":", label="random cuts")
left.set(xlabel="layers p", ylabel="average cut / best cut", xticks=depths)
left.legend(frameon=False, loc="center right")

ticks = np.arange(best + 1)
chosen = circuits[-1].probabilities().numpy()
right.bar(ticks - 0.2, [(sizes == k).mean() for k in ticks], 0.4, color="0.7", label="random cuts")
right.bar(ticks + 0.2, [chosen[sizes == k].sum() for k in ticks], 0.4, label=f"p = {MAX_LAYERS}")
right.set(xlabel="edges cut", ylabel="probability", xticks=ticks[::2])
right.legend(frameon=False, loc="upper left")
plt.show()

# %% [markdown]
# And here is the best cut among the 100 measurements of the deepest circuit: filled nodes on one
# side, open ones on the other, cut edges drawn strong.

# %%
measured = circuits[-1].sample(100, seed=0)
cut = sides[measured[sizes[measured].argmax()]]
around = 2 * np.pi * np.arange(NODES) / NODES
x, y = np.cos(around), np.sin(around)

figure, axes = plt.subplots(figsize=(4.2, 4.2), layout="constrained")
for a, b in edges:
    style = {"color": "C2", "linewidth": 1.8} if cut[a] != cut[b] else {"color": "0.75"}
    axes.plot(x[[a, b]], y[[a, b]], zorder=1, **style)
fill = np.where(cut == 1, "#0072B2", "white")
axes.scatter(x, y, s=300, c=fill, edgecolors="#0072B2", linewidths=1.5, zorder=2)
for node in range(NODES):
    colour = "white" if cut[node] else "black"
    axes.text(x[node], y[node], node, ha="center", va="center", color=colour, fontsize=9)
axes.set(aspect="equal", title=f"{sizes[measured].max()} of {len(edges)} edges are cut")
axes.axis("off")
plt.show()

# %%
result = {
    "ratios": [value / best for value in expected],
    "best": best,
    "sampled": int(samples[-1].max()),
    "random": random_cut / best,
}
result

# %% [markdown]
# ## What you have learned
#
# - A puzzle on bits is an observable made of Z's: `maxcut_hamiltonian` writes it down, its ground
#   state is the answer.
# - `qml.qaoa` builds the circuit; two angles a layer are trained like any others. Deeper circuits
#   come closer to the best cut.
# - `sample` measures. The average need not be perfect: one good sample among a hundred is enough.
#   Of the 4096 cuts only four are best, so a random one hits them once in a thousand times; the
#   circuit with four layers, in four of ten. Whether such circuits beat the best classical methods
#   on large graphs is not known.
#
# So far circuits stood alone. In `05_hybrid_classifier.py` one stands between layers of a network.
