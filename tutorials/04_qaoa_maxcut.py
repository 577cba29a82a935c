"""MaxCut on a graph of 12 nodes with QAOA of one to four layers.

Run it: ``python tutorials/04_qaoa_maxcut.py``. It takes a few seconds and writes
``qaoa_maxcut.png``.

Cut the nodes of a graph into two sides so that as many edges as possible lead across. QAOA turns
the graph into a Hamiltonian whose expectation value is minus the number of cut edges, prepares a
state with 2p angles, and lowers that value. With 12 nodes all 4096 cuts can be counted, so that the
best one is known: what QAOA reaches is shown as a ratio to it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import qml

NODES = 12
Edges = list[tuple[int, int]]


def random_graph(seed: int = 7, degree: int = 3) -> Edges:
    """Draw a graph in which every node has three neighbours: pair up the ends of its edges."""
    generator = np.random.default_rng(seed)
    ends = np.repeat(np.arange(NODES), degree)
    while True:
        pairs = np.sort(generator.permutation(ends).reshape(-1, 2), axis=1)
        different = np.unique(pairs, axis=0)
        if len(different) == len(pairs) and (pairs[:, 0] != pairs[:, 1]).all():
            return [(int(a), int(b)) for a, b in different]


def best_cut(edges: Edges) -> tuple[int, str]:
    """Count the edges that each of the 4096 cuts crosses, and return the largest number."""
    sides = np.arange(1 << NODES)[:, None] >> np.arange(NODES) & 1
    a, b = np.array(edges).T
    cut = (sides[:, a] != sides[:, b]).sum(axis=1)
    best = int(cut.argmax())
    return int(cut[best]), format(best, f"0{NODES}b")


def longer(angles: np.ndarray) -> np.ndarray:
    """Start p + 1 layers from the p that were found: stretch both schedules over one layer more.

    Reference: Zhou, Wang, Choi, Pichler, Lukin (2020), arXiv:1812.01041, appendix B.
    """
    old = np.linspace(0.0, 1.0, len(angles) // 2)
    new = np.linspace(0.0, 1.0, len(angles) // 2 + 1)
    return np.concatenate([np.interp(new, old, half) for half in np.split(angles, 2)])


def solve(edges: Edges, max_layers: int, steps: int) -> list[qml.Circuit]:
    """Train p = 1 ... max_layers, each from the angles of the one before."""
    hamiltonian = qml.maxcut_hamiltonian(edges)
    circuits: list[qml.Circuit] = []
    angles = np.array([0.4, 0.4])  # gamma[0], beta[0]
    for layers in range(1, max_layers + 1):
        circuit = qml.qaoa(edges, layers, initial=angles)
        optimizer = qml.Adam(circuit.parameters(), lr=0.05)
        for _ in range(steps):
            optimizer.zero_grad()
            circuit.expectation(hamiltonian).backward()
            optimizer.step()
        circuits.append(circuit)
        angles = longer(np.array([p.item() for p in circuit.parameters()]))
    return circuits


def expected_cut(circuit: qml.Circuit, edges: Edges) -> float:
    """Return the number of edges that a sample cuts on average."""
    with qml.no_grad():
        return -circuit.expectation(qml.maxcut_hamiltonian(edges)).item()


def save_picture(ratios: list[float], random: float, path: str) -> Path:
    """Draw the ratio over the number of layers, with what random cuts and the best one reach."""
    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.subplots()
    layers = range(1, len(ratios) + 1)
    axes.axhline(1.0, color="#D55E00", linestyle="--", label="best cut, by counting all")
    axes.plot(layers, ratios, "o-", color="#0072B2", label="QAOA")
    axes.axhline(random, color="#666666", linestyle=":", label="random cuts")
    axes.set(xlabel="layers p", ylabel="expected cut / best cut", xticks=list(layers))
    axes.legend(frameon=False, loc="center right")
    figure.savefig(path, dpi=150)
    return Path(path)


def main(max_layers: int = 4, steps: int = 150, picture: str = "qaoa_maxcut.png") -> float:
    """Train, print a table, save a picture, and return the ratio of the last circuit."""
    edges = random_graph()
    best, sides = best_cut(edges)
    print(
        f"{NODES} nodes, {len(edges)} edges; the best of {1 << NODES} cuts crosses {best}: {sides}"
    )
    print("\n  p   expected cut   ratio   best of 100 samples   P(a best cut)")
    ratios = []
    a, b = np.array(edges).T
    for layers, circuit in enumerate(solve(edges, max_layers, steps), start=1):
        cut = expected_cut(circuit, edges)
        bits = circuit.sample(100, seed=0)[:, None] >> np.arange(NODES) & 1
        sampled = int((bits[:, a] != bits[:, b]).sum(axis=1).max())
        every = np.arange(1 << NODES)[:, None] >> np.arange(NODES) & 1
        winners = (every[:, a] != every[:, b]).sum(axis=1) == best
        chance = circuit.probabilities().numpy()[winners].sum()
        ratios.append(cut / best)
        print(f"  {layers}   {cut:12.3f}   {ratios[-1]:.3f}   {sampled:19d}   {chance:13.3f}")
    print(f"\nrandom cuts: ratio {len(edges) / 2 / best:.3f}")
    save_picture(ratios, len(edges) / 2 / best, picture)
    return ratios[-1]


if __name__ == "__main__":
    main()
