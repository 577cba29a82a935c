# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Where values live
#
# A device such as a GPU has a memory of its own. What makes programs slow there is often not the
# arithmetic: it is values that travel between host and device, and the price of every single
# *launch*, a request to the device to do something. This notebook counts both for a small training
# script, finds the moves that nobody wanted, and turns some seventy launches a step into two.
#
# It needs no GPU. The device `"emulated"`, which every machine has, stands in for one: slower than
# the CPU, but as strict. NumPy cannot read its memory, and every launch and every move is counted.
# So this notebook counts, and measures no time.

# %%
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np

import qml

plt.style.use("seaborn-v0_8-colorblind")
DEVICE = "emulated"

# %% tags=["parameters"]
STEPS = 30  # of each training

# %% [markdown]
# ## A move is an operation
#
# Values move when you say so: `Tensor(data, device=...)`, `t.to(device)`, and reading on the host
# (`numpy`, `item`, printing). `stats` counts. Gradients travel the same way back.

# %%
qml.reset_stats()
x = qml.Tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x.to(DEVICE)  # an upload of 24 bytes
loss = (y * y).sum()  # two launches
loss.backward()  # more launches, and the gradient comes home: a download
print(qml.stats(DEVICE))
print("gradient", x.grad.tolist(), "on", x.grad.device)

# %% [markdown]
# Nothing moves by itself. Two operands in different places are an error that says what to do.

# %%
try:
    y + qml.Tensor([1.0, 1.0, 1.0])
except qml.DeviceMismatch as error:
    print(error)

# %% [markdown]
# ## A training script, as one writes it first
#
# Points in a square, and the product of their coordinates decides the class. A hybrid model lives
# on the device; the data come from NumPy, batch by batch; loss and accuracy are looked at in every
# step. The function returns the step, which is what we count.

# %%
generator = np.random.default_rng(0)
points = generator.uniform(-1, 1, (8, 32, 2))  # eight batches of 32
labels = (points.prod(axis=-1) > 0).astype(float)


def build() -> tuple[qml.Module, qml.Optimizer]:
    """A circuit between two layers, on the device."""
    seeds = np.random.default_rng(1)
    circuit = qml.data_reuploading(2, 2, initial=qml.small_angles(layers=2, seed=seeds))
    model = qml.Sequential(
        qml.Linear(2, 2, seed=seeds),
        qml.QuantumLayer(circuit, [qml.Z(0), qml.Z(1), qml.Z(0) @ qml.Z(1)]),
        qml.Linear(3, 1, seed=seeds),
    ).to(DEVICE)
    return model, qml.Adam(model.parameters(), lr=0.05)


def as_first_written() -> Callable[[int], qml.Tensor]:
    """Send a batch, train, look at loss and accuracy."""
    model, optimizer = build()

    def step(k: int) -> qml.Tensor:
        x = qml.Tensor(points[k % 8], device=DEVICE)
        y = qml.Tensor(labels[k % 8], device=DEVICE)
        optimizer.zero_grad()
        logits = model(x).squeeze(1)
        loss = qml.binary_cross_entropy_with_logits(logits, y)
        loss.backward()
        optimizer.step()
        loss.item()  # for the progress bar
        qml.accuracy(logits, labels[k % 8])  # this too
        return loss

    return step


# %% [markdown]
# `trace_reads` lists which function reads, writes and moves how much. The rows with "transfer" are
# moves: features and labels of the batch go up, the loss and the logits come down.

# %%
step = as_first_written()
for k in range(8):
    step(k)  # what happens only once shall not be counted
with qml.trace_reads() as trace:
    step(8)
print(trace)

# %% [markdown]
# ## Data moved once, results read late
#
# The batches go to the device before the training, and nothing is looked at on the way: the losses
# stay there, as Tensors, and come down together at the end.


# %%
def data_moved_once() -> Callable[[int], qml.Tensor]:
    """Train; data and results stay on the device."""
    model, optimizer = build()
    batches = [
        (qml.Tensor(x, device=DEVICE), qml.Tensor(y, device=DEVICE))
        for x, y in zip(points, labels, strict=True)
    ]

    def step(k: int) -> qml.Tensor:
        x, y = batches[k % 8]
        optimizer.zero_grad()
        loss = qml.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


KINDS = ("launches", "uploads", "downloads")


def count(step: Callable[[int], qml.Tensor]) -> tuple[dict[str, float], list[float]]:
    """Return the counts for one step, averaged, and the losses."""
    losses = [step(k) for k in range(8)]
    qml.reset_stats()
    losses += [step(k) for k in range(8, 8 + STEPS)]
    counted = qml.stats(DEVICE)
    return {kind: getattr(counted, kind) / STEPS for kind in KINDS}, qml.stack(losses).tolist()


counts, losses = {}, {}
counts["as first written"], losses["as first written"] = count(as_first_written())
counts["data moved once"], losses["data moved once"] = count(data_moved_once())
for name, counted in counts.items():
    print(f"{name:18}", counted)

# %% [markdown]
# ## Graph mode: many ops, one launch
#
# Each op still is a launch. In *graph mode* an op does not run at once: it joins a queue, and gives
# a value that is *pending*. The queue runs as one launch when somebody needs a number, or when
# the optimizer is about to change what queued ops still have to read. Forward and backward pass
# together become one launch, the optimizer's step a second one. The script stays as it is.

# %%
with qml.local_graph_mode(True):
    counts["graph mode"], losses["graph mode"] = count(data_moved_once())
print(f"{'graph mode':18}", counts["graph mode"])

# %%
figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for offset, (name, counted) in zip((-0.27, 0.0, 0.27), counts.items(), strict=True):
    heights = [counted[kind] for kind in KINDS]
    bars = axes.bar(np.arange(len(KINDS)) + offset, heights, 0.25, label=name)
    axes.bar_label(bars, fmt="%.4g", padding=2)
axes.set_yscale("symlog", linthresh=1)
axes.set(xticks=range(len(KINDS)), xticklabels=KINDS, ylabel="per training step", ylim=(0, 1000))
axes.set_title("A training step of a hybrid model, counted")
axes.legend(frameon=False, loc="upper right")
plt.show()

# %% [markdown]
# Nothing is computed differently. The three trainings agree to the last bit:

# %%
same = losses["as first written"] == losses["data moved once"] == losses["graph mode"]
print("the same bits:", same)

# %% [markdown]
# Where you look decides. A glance at the loss between forward and backward pass runs the queue
# before it is full: a third launch, and a download. It does not show in the results, only in the
# counts, so a test on counts is what keeps such a line out of a script.


# %%
def with_a_glance() -> Callable[[int], qml.Tensor]:
    """As before, but the loss is read too early."""
    model, optimizer = build()
    x, y = qml.Tensor(points[0], device=DEVICE), qml.Tensor(labels[0], device=DEVICE)

    def step(k: int) -> qml.Tensor:
        optimizer.zero_grad()
        loss = qml.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        loss.item()  # a glance
        loss.backward()
        optimizer.step()
        return loss

    return step


with qml.local_graph_mode(True):
    glance = count(with_a_glance())[0]
print(glance)

# %% [markdown]
# ## Two devices in one program
#
# Often the classical layers are better off on the CPU, and only the circuit on the device. For
# that, a step is listed once, as a `Program`; a `Runtime` plans which op runs where and every
# transfer. It can `explain` the plan before anything runs.

# %%
features = qml.Input("x", 2)
circuit = qml.Circuit(2).rx(features[0], 0).ry(features[1], 1).cx(0, 1)
circuit.ry(qml.Parameter(0.3, name="theta"), 0)


def loss_of(weights: qml.Tensor, theta: qml.Tensor, data: qml.Tensor) -> qml.Tensor:
    """A classical layer, the circuit, a classical loss."""
    hidden = (data @ weights).tanh()
    return ((circuit.expectation(qml.Z(0), inputs={"x": hidden}, values=theta) - 1.0) ** 2).mean()


def forward_and_backward(
    weights: qml.Tensor, theta: qml.Tensor, data: qml.Tensor
) -> tuple[qml.Tensor, ...]:
    """The loss and its gradients."""
    value, gradients = qml.value_and_grad(lambda w, t: loss_of(w, t, data))(weights, theta)
    return (value, *gradients)


program = qml.Program.trace(
    forward_and_backward, ((3, 2), qml.F64), ((1,), qml.F64), ((5, 3), qml.F64)
)
runtime = qml.Runtime(["cpu", DEVICE])
on_the_device = {"expectation": DEVICE, "expectation_vjp": DEVICE}
explained = runtime.explain(program, placement=on_the_device)
print(explained)

# %% [markdown]
# Four transfers: the angles go to the circuit and the values come back; the cotangent of the values
# goes there and the gradient comes back. That is the least there can be.

# %%
result = {
    "counts": counts,
    "glance": glance,
    "same_bits": same,
    "losses": [losses["graph mode"][0], losses["graph mode"][-1]],
    "transfers": len(explained.transfers),
}
result

# %% [markdown]
# ## What you have learned
#
# - Values move only where the script says so, and every move is counted: `stats`, and `trace_reads`
#   by function.
# - Three habits make a script fast on any device: send the data once, look at results late, and
#   turn on graph mode.
# - Graph mode makes two launches of a training step and changes no bit of the results. On a GPU,
#   where a launch costs several microseconds whatever it does, that is what small models need.
# - `Runtime.explain` shows the transfers of a program before it runs.
#
# The documentation has the details: "Where values live" and "The runtime". The next notebook leaves
# the simulator: `11_qiskit_round_trip.py`. To a GPU it goes in `12_moving_to_a_gpu.py`.
