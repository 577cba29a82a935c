# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Moving to a GPU
#
# The hydrogen molecule of the second notebook, trained on a GPU: one argument says where. This
# notebook makes the move, counts what a training step launches and sends, and asks the plan where
# the time would go, which says for which circuits a GPU pays.
#
# It runs without a GPU. `"emulated"`, which every machine with a C++ compiler has, stands in for
# one: the circuit's CUDA kernels are built by g++ and run on the CPU, slowly, and every launch
# and every move is counted as on a GPU. So this notebook counts, and measures no time. With a
# GPU, write `DEVICE = "cuda"` below; all else stays.

# %%
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np

import qml

plt.style.use("seaborn-v0_8-colorblind")

# %% tags=["parameters"]
DEVICE = "emulated"  # with a GPU: "cuda"
STEPS = 100  # of the optimizer

# %% [markdown]
# ## Is there a GPU?
#
# A device that cannot be used says why, and what to do; nothing falls back to the CPU by itself.
# `python -m qml doctor` runs a small circuit on every engine and device, and shows the same
# lines:
#
# ```text
# device cpu         PASS  value and gradient are right (2.6 s)
# device emulated    PASS  value and gradient are right (2.4 s)
# device cuda        FAIL  the device 'cuda' needs CuPy, got none installed.
#                          Install it: pip install "cupy-cuda13x[ctk]" for CUDA 13, or ...
# ```
#
# On this machine:

# %%
try:
    print("there is a GPU:", qml.Tensor([1.0, 2.0], device="cuda"))
except qml.DeviceUnavailable as error:
    print(error)

# %% [markdown]
# ## One argument
#
# The problem is that of `02_h2_from_qiskit.py`: both electrons in the lower orbital, then RY
# rotations and chains of CX, and the energy of the molecule. A `QuantumLayer` is a circuit with
# what is measured.

# %%
molecule = qml.load_h2()
start = np.random.default_rng(0).normal(0.0, 0.1, 20)


def build() -> qml.Circuit:
    """Return the circuit, with Parameters of its own."""
    ansatz = qml.two_local(4, 4, rotations=["ry"], entanglement="linear", initial=start)
    return qml.Circuit(4).x([0, 1]).compose(ansatz)


def training(layer: qml.QuantumLayer) -> Callable[[], qml.Tensor]:
    """Return a training step, which does not know where it runs."""
    optimizer = qml.Adam(layer.parameters(), lr=0.05)

    def step() -> qml.Tensor:
        optimizer.zero_grad()
        energy = layer()
        energy.backward()
        optimizer.step()
        return energy

    return step


def energies_of(step: Callable[[], qml.Tensor]) -> list[float]:
    """Train, and read all energies at the end."""
    return qml.stack([step() for _ in range(STEPS)]).tolist()


on_cpu = energies_of(training(qml.QuantumLayer(build(), molecule.hamiltonian)))
layer = qml.QuantumLayer(build(), molecule.hamiltonian, device=DEVICE)  # the argument
there = energies_of(training(layer))
print(f"on the CPU   {on_cpu[-1]:.9f} hartree")
print(f"there        {there[-1]:.9f} hartree\nexact        {molecule.exact_energy:.9f} hartree")

# %%
qml.energy_plot(
    there,
    molecule.exact_energy,
    title=f"Molecular hydrogen, trained on {DEVICE!r}",
    references=[("Hartree-Fock", molecule.hartree_fock_energy)],
)

# %% [markdown]
# ## What a step launches and sends
#
# `stats` counts. A *launch* is a request to the device to run an op. The angles are still on the
# CPU, where the optimizer changes them: in every step they go up, and their gradients come back.


# %%
KINDS = ("launches", "kernels", "uploads", "downloads")


def count(step: Callable[[], qml.Tensor]) -> dict[str, float]:
    """Return the counts of a step; the first two, which send tables, are not counted."""
    step(), step()
    qml.reset_stats()
    for _ in range(10):
        step()
    return {kind: getattr(qml.stats(DEVICE), kind) / 10 for kind in KINDS}


counts = {"device=": count(training(layer))}
print(counts["device="])
print(qml.stats(DEVICE))

# %% [markdown]
# ## The kernels
#
# `engine="cuda"` is the engine for GPUs, and what `"cuda"` runs by default; on the stand-in one
# asks for it. It works by *kernels*, programs for the device. A step starts two of them, whatever
# the number of gates: one takes the circuit forward, up to the energy, and one goes back for all
# derivatives.

# %%
layer = qml.QuantumLayer(build(), molecule.hamiltonian, device=DEVICE, engine="cuda")
counts["CUDA kernels"] = count(training(layer))
print(counts["CUDA kernels"])

# %% [markdown]
# Both were known before anything ran: `plan` says how many kernels there will be and how many
# bytes of states they move. With the bandwidth of a GPU's memory, here 4.8 TB/s from the data
# sheet of an H200, it says how long that takes at least.

# %%
BANDWIDTH = 4.8e12  # bytes a second
options = {"device": DEVICE, "engine": "cuda", "bandwidth": BANDWIDTH}
forecast = build().plan(molecule.hamiltonian, **options)
print(forecast)

# %% [markdown]
# ## Where the time would go
#
# Some hundred bytes: four qubits keep no GPU busy. A launch takes some microseconds, whatever it
# does; for hydrogen nothing else counts, and there is no reason to leave the CPU. Each further
# qubit doubles the bytes; the launches hardly grow. The picture asks the plan for a value with
# its gradient of wider circuits, in single precision, which GPUs prefer. Nothing of it is run:
# these are predictions, a launch is taken to cost 5 microseconds, and ketgrad has not been timed on
# a GPU yet.

# %%
LAUNCH = 5e-6  # seconds, an order of magnitude
widths = list(range(4, 25, 2))
launching, moving = [], []
for width in widths:
    wide = qml.hardware_efficient(width, 4, initial=0.1)
    work = wide.plan(qml.Z(0), dtype="complex64", **options).outline.device
    launching.append(LAUNCH * sum(work.launches))
    moving.append(work.seconds)

figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
axes.semilogy(widths, launching, "o-", label="launching kernels")
axes.semilogy(widths, moving, "s-", label="moving states")
axes.set(xlabel="qubits", ylabel="seconds", xticks=widths)
axes.set_title("A value and its gradient on a GPU, predicted")
axes.legend(frameon=False)
plt.show()
pays = next(n for n, a, b in zip(widths, launching, moving, strict=True) if b > a)
print(f"from about {pays} qubits on, the device works longer than it is asked to")

# %% [markdown]
# The lines jump where a state no longer fits a block's fast memory, which holds 13 qubits in
# single precision at most. Up to there a block computes a whole sample, and a thousand samples
# are still one launch forward and one back. So there are two ways to give a GPU enough to do: a
# large circuit, or a large batch.

# %%
batched = build().plan(molecule.hamiltonian, batch=1000, **options)
print(batched)

# %% [markdown]
# ## Nothing moves any more
#
# `to` moves the Parameters, like in PyTorch. The optimizer's state follows them, the gradients
# are made where they are needed, and nothing crosses between host and device until somebody reads
# a number.

# %%
layer = qml.QuantumLayer(build(), molecule.hamiltonian, engine="cuda").to(DEVICE)
counts["to(device)"] = count(training(layer))
print(counts["to(device)"])

# %% [markdown]
# There are more launches now: the optimizer's own arithmetic runs on the device too. In *graph
# mode*, as in `10_where_values_live.py`, ops join a queue. Forward and backward pass run as one
# launch, and the optimizer's step as a second one. On a GPU, elementwise ops, sums and small
# products of a queue are captured once as a CUDA graph and replayed; the circuit's two kernels
# stand between them.

# %%
layer = qml.QuantumLayer(build(), molecule.hamiltonian, engine="cuda").to(DEVICE)
with qml.local_graph_mode(True):
    moved = energies_of(training(layer))
    counts["graph mode"] = count(training(layer))
print(counts["graph mode"])

# %%
figure, axes = plt.subplots(figsize=(8.0, 4.0), layout="constrained")
for k, (name, counted) in enumerate(counts.items()):
    places = np.arange(len(KINDS)) + 0.2 * (k - 1.5)
    bars = axes.bar(places, [counted[kind] for kind in KINDS], 0.18, label=name)
    axes.bar_label(bars, fmt="%.3g", padding=2)
axes.set(xticks=range(len(KINDS)), xticklabels=KINDS, ylabel="per training step", ylim=(0, 6))
axes.set_title("A training step of hydrogen, counted")
axes.legend(frameon=False)
plt.show()

# %%
result = {
    "energy": there[-1],
    "exact": molecule.exact_energy,
    "difference": max(float(np.abs(np.subtract(on_cpu, x)).max()) for x in (there, moved)),
    "counts": counts,
    "planned": [sum(x.outline.device.launches) for x in (forecast, batched)],
    "pays": pays,
}
result

# %% [markdown]
# ## What you have learned
#
# - `device=` runs a circuit on a GPU, and `to` moves a model there; the training step stays as it
#   is, and so do its results, up to rounding.
# - A small circuit is two kernels a step, one forward and one back, whatever its gates and its
#   batch.
# - `plan` counts launches and bytes before anything runs: small circuits wait for launches, and a
#   GPU pays for large states or large batches.
# - With the Parameters on the device, nothing is sent; graph mode leaves two launches a step.
#
# The documentation has the details: "GPUs" and "Where values live". How the engine works inside
# is on the page "Engines".
