# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A hybrid classifier: a circuit between two layers of a network
#
# Is a tumour malignant or benign? The data are 30 measurements of cell nuclei, of 569 patients
# (Wisconsin breast cancer data, from scikit-learn). The 30 features become 4 angles, a circuit on 4
# qubits turns these into 4 expectation values, and a last layer into one number. Everything is
# trained together: gradients flow from the loss through the last layer and the circuit back into
# the weights of the first layer.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import qml

plt.style.use("seaborn-v0_8-colorblind")
QUBITS = 4

# %% tags=["parameters"]
EPOCHS = 10  # passes through the training data

# %% [markdown]
# ## Data
#
# A quarter of the patients is put aside for the test. Features are shifted and scaled by what the
# training set shows; the test set must not have a say in anything.


# %%
def load_data() -> tuple[np.ndarray, ...]:
    """Return training and test features, then training and test labels (1: benign)."""
    data = load_breast_cancer()
    train_x, test_x, train_y, test_y = train_test_split(
        data.data, data.target, test_size=0.25, stratify=data.target, random_state=0
    )
    mean, deviation = train_x.mean(axis=0), train_x.std(axis=0)
    return (train_x - mean) / deviation, (test_x - mean) / deviation, train_y, test_y


train_x, test_x, train_y, test_y = load_data()
print(f"{len(train_y)} for training, {len(test_y)} for the test, {test_y.mean():.0%} benign")

# %% [markdown]
# ## The circuit
#
# An `Input` stands for features that are given at run time; its elements are used like angles. Each
# of the two layers enters all four features, rotates by trained angles, and entangles.


# %%
def build_circuit(generator: np.random.Generator, layers: int = 2) -> qml.Circuit:
    """Enter the features as angles, then rotate and entangle; every layer enters them again."""
    features = qml.Input("features", QUBITS)
    circuit = qml.Circuit(QUBITS)
    for _ in range(layers):
        for qubit in range(QUBITS):
            circuit.ry(features[qubit], qubit)
            circuit.ry(qml.Parameter(generator.normal(0.0, 0.1)), qubit)
            circuit.rz(qml.Parameter(generator.normal(0.0, 0.1)), qubit)
        for qubit in range(QUBITS):
            circuit.cx(qubit, (qubit + 1) % QUBITS)
    return circuit


build_circuit(np.random.default_rng(0), layers=1).draw("svg")

# %% [markdown]
# ## The model
#
# `QuantumLayer` makes a layer of a circuit and a list of observables: features `(B, 4)` in,
# expectation values `(B, 4)` out, for a batch of B samples. `Sequential` chains layers as in
# PyTorch. Starting values come from a seed that you give; one generator serves the whole model.


# %%
def build_model(seed: int = 0) -> qml.Sequential:
    """30 features, 4 angles, 4 expectation values, 1 logit."""
    generator = np.random.default_rng(seed)
    return qml.Sequential(
        qml.Linear(30, QUBITS, seed=generator),
        qml.Tanh(),
        qml.QuantumLayer(build_circuit(generator), [qml.Z(qubit) for qubit in range(QUBITS)]),
        qml.Linear(QUBITS, 1, seed=generator),
    )


model = build_model()
print(model)
print(sum(p.numel() for p in model.parameters()), "numbers are trained")

# %% [markdown]
# ## Training
#
# The output is a *logit* z: the model's probability that the tumour is benign is 1/(1 + exp(-z)).
# The loss is the binary cross-entropy of that probability. Losses never broadcast: `squeeze(1)`
# makes predictions `(32, 1)` what the targets are, `(32,)`.

# %%
optimizer = qml.Adam(model.parameters(), lr=0.02)
batches = qml.DataLoader(train_x, train_y, batch_size=32, shuffle=True, seed=1)
losses, accuracies = [], []
for epoch in range(EPOCHS):
    for x, y in batches:
        optimizer.zero_grad()
        logits = model(x).squeeze(1)
        loss = qml.binary_cross_entropy_with_logits(logits, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with qml.no_grad():
        accuracies.append(qml.accuracy(model(test_x).squeeze(1), test_y))
    print(f"epoch {epoch:2d}   last loss {losses[-1]:.4f}   test accuracy {accuracies[-1]:.1%}")

# %%
with qml.no_grad():
    test_logits = model(test_x).squeeze(1).numpy()

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")
left.plot(np.arange(1, len(losses) + 1) / len(batches), losses)
left.set(xlabel="epoch", ylabel="loss of a batch", ylim=(0, None), title="Training")
bins = np.linspace(test_logits.min(), test_logits.max(), 25)
for label, name, colour in ((0, "malignant", "C2"), (1, "benign", "C0")):
    right.hist(test_logits[test_y == label], bins, alpha=0.7, label=name, color=colour)
right.axvline(0.0, color="0.3", linewidth=1)
right.set(xlabel="logit", ylabel="patients", title="Test set: right of the line is called benign")
right.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.1, 1.0))
plt.show()

# %% [markdown]
# ## Does the gradient reach the first layer?
#
# It does: here is the derivative of the loss with respect to each weight of the first layer, behind
# the circuit.

# %%
optimizer.zero_grad()
qml.binary_cross_entropy_with_logits(model(test_x).squeeze(1), test_y).backward()
weight = model[0].weight
print(weight.grad.shape, "largest", f"{np.abs(weight.grad.numpy()).max():.4f}")

# %%
result = {
    "accuracy": accuracies[-1],
    "first_loss": losses[0],
    "last_loss": losses[-1],
    "first_layer_gradient": float(np.abs(weight.grad.numpy()).max()),
}
result

# %% [markdown]
# ## What you have learned
#
# - `Input` elements are angles that come with the data; a batch of samples runs in one call.
# - `QuantumLayer` puts a circuit into a network. One `backward()` goes through classical layers and
#   the circuit alike.
# - Data are prepared by the training set alone, and the test set is looked at, never fitted to.
# - An accuracy of 97 % is good, and no evidence for anything quantum:
#   `08_against_logistic_regression.py` asks what a straight line would have done.
#
# Why does the circuit enter its features twice? That is the subject of `06_data_reuploading.py`.
