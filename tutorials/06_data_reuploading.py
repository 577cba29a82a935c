# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Entering the data again and again
#
# A feature that enters a circuit through one rotation can only do so much: here you see how much,
# and how entering it again makes more of it. The first half fits functions of one feature with a
# single qubit; the second half classifies points in a plane with a single qubit.

# %%
import matplotlib.pyplot as plt
import numpy as np

import qml

plt.style.use("seaborn-v0_8-colorblind")

# %% tags=["parameters"]
FIT_STEPS = 200  # of the optimizer, for each fit
EPOCHS = 80  # for each classifier

# %% [markdown]
# ## What a circuit can say about x
#
# A feature x enters through RZ(x), L times, with trained rotations before, between and after. Each
# RZ(x) multiplies amplitudes by exp(±ix/2). An expectation value has amplitudes twice, once
# conjugated, so that all there can be is
#
# $$f(x) = \sum_{k=-L}^{L} c_k\, e^{ikx},$$
#
# a Fourier series that ends at the frequency L (Schuld, Sweke, Meyer, 2021, arXiv:2008.08605). The
# trained angles decide about the coefficients; they cannot add a frequency.


# %%
def fourier_circuit(uploads: int, generator: np.random.Generator) -> qml.Circuit:
    """One qubit; x enters so many times between rotations that are trained."""
    x = qml.Input("x", 1)
    circuit = qml.Circuit(1)
    for k in range(uploads + 1):
        circuit.ry(qml.Parameter(generator.uniform(-np.pi, np.pi)), 0)
        circuit.rz(qml.Parameter(generator.uniform(-np.pi, np.pi)), 0)
        circuit.ry(qml.Parameter(generator.uniform(-np.pi, np.pi)), 0)
        if k < uploads:
            circuit.rz(x[0], 0)
    return circuit


print(fourier_circuit(2, np.random.default_rng(0)).draw())

# %% [markdown]
# Take random angles, sample f at equal distances over one period, and let a Fast Fourier Transform
# read off the coefficients. The picture has the largest |c_k| among 50 random circuits.

# %%
grid = 2 * np.pi * np.arange(32) / 32
generator = np.random.default_rng(1)
spectra = {}
for uploads in (1, 2, 4):
    outputs = []
    with qml.no_grad():
        for _ in range(50):
            circuit = fourier_circuit(uploads, generator)
            outputs.append(circuit.expectation(qml.Z(0), inputs={"x": grid[:, None]}).numpy())
    spectra[uploads] = np.abs(np.fft.rfft(outputs, axis=1) / grid.size).max(axis=0)[:9]

figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for offset, (uploads, spectrum) in zip((-0.25, 0.0, 0.25), spectra.items(), strict=True):
    axes.bar(np.arange(9) + offset, spectrum, 0.25, label=f"L = {uploads}")
axes.set(xlabel="frequency k", ylabel="largest |c_k|", title="No frequency beyond L")
axes.legend(frameon=False)
plt.show()

# %% [markdown]
# ## Fitting a function
#
# The target has frequencies up to 4. A circuit that enters x once or twice cannot follow it,
# however long it is trained.


# %%
def target(x: np.ndarray) -> np.ndarray:
    """A curve with the frequencies 1, 2 and 4."""
    return 0.4 * np.sin(x) + 0.25 * np.cos(2 * x) + 0.25 * np.sin(4 * x)


def fit(uploads: int) -> tuple[qml.Circuit, float]:
    """Return the best of three starts, and its mean squared error."""
    found = []
    for seed in range(3):
        circuit = fourier_circuit(uploads, np.random.default_rng(seed))
        optimizer = qml.Adam(circuit.parameters(), lr=0.1)
        for _ in range(FIT_STEPS):
            optimizer.zero_grad()
            outputs = circuit.expectation(qml.Z(0), inputs={"x": grid[:, None]})
            loss = qml.mse_loss(outputs, target(grid))
            loss.backward()
            optimizer.step()
        found.append((circuit, loss.item()))
    return min(found, key=lambda pair: pair[1])


fits = {uploads: fit(uploads) for uploads in (1, 2, 4, 5)}
fine = np.linspace(0, 2 * np.pi, 200)
figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), sharey=True, layout="constrained")
for panel, (uploads, (circuit, loss)) in zip(axes, fits.items(), strict=True):
    with qml.no_grad():
        fitted = circuit.expectation(qml.Z(0), inputs={"x": fine[:, None]}).numpy()
    panel.plot(fine, target(fine), color="0.6", linewidth=4, label="target")
    panel.plot(fine, fitted, label="circuit")
    panel.set(xlabel="x", title=f"L = {uploads}, error {loss:.0e}")
axes[0].legend(frameon=False, loc="lower left")
plt.show()

# %% [markdown]
# ## Classifying with one qubit
#
# A qubit's state is a point on a sphere, so it can tell two classes apart by which pole is nearer.
# Here the classes are the points above and below a wave, which have to be led to the two poles.
# Rotating once by each coordinate cannot do that; several times, with other rotations in between,
# can (Pérez-Salinas et al., 2020, arXiv:1907.02085).
#
# Now the coordinates are *scaled* by trained factors before they enter, and shifted:
# an angle may be any expression of Parameters and Inputs.


# %%
def classifier(layers: int, generator: np.random.Generator) -> qml.QuantumLayer:
    """One qubit; a layer enters both coordinates, scaled and shifted."""
    x = qml.Input("x", 2)
    circuit = qml.Circuit(1)
    for _ in range(layers):
        for k, rotate in enumerate((circuit.rx, circuit.ry)):
            scale = qml.Parameter(generator.normal(1.0, 0.5))
            shift = qml.Parameter(generator.normal(0.0, 0.5))
            rotate(scale * x[k] + shift, 0)
    return qml.QuantumLayer(circuit, qml.Z(0))


def wave(x: np.ndarray) -> np.ndarray:
    """The border between the classes."""
    return 0.5 * np.sin(1.5 * np.pi * x)


def points(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in a square, and +1 or -1: above or below the wave."""
    x = np.random.default_rng(seed).uniform(-1, 1, (count, 2))
    return x, np.where(x[:, 1] > wave(x[:, 0]), 1.0, -1.0)


# %% [markdown]
# A `Trainer` writes the loop. Training may end in a poor valley, so each classifier starts three
# times, and the start with the smallest *training* loss is kept. The test set decides nothing.

# %%
train_x, train_y = points(200, seed=1)
test_x, test_y = points(1000, seed=2)
data = qml.DataLoader(train_x, train_y, batch_size=50, shuffle=True, seed=4)


def train(layers: int, seed: int) -> tuple[qml.QuantumLayer, float]:
    """Return a trained classifier and its loss on the training set."""
    model = classifier(layers, np.random.default_rng(seed))
    trainer = qml.Trainer(model, qml.Adam(model.parameters(), lr=0.1), qml.mse_loss, quiet=True)
    trainer.fit(data, EPOCHS)
    return model, trainer.evaluate([(train_x, train_y)])["loss"]


models, accuracies = {}, {}
for layers in (1, 2, 6):
    model, _ = min((train(layers, seed) for seed in range(3)), key=lambda pair: pair[1])
    with qml.no_grad():
        accuracies[layers] = float((np.sign(model(test_x).numpy()) == test_y).mean())
    models[layers] = model
    print(f"layers {layers}   test accuracy {accuracies[layers]:.1%}")

# %% [markdown]
# The picture has what each classifier says about every point of the square, and where the true
# border is, dashed; white is its own. Six layers draw a sharper border than two, and begin to
# follow single points of the training set: more layers are not always better.

# %%
ticks = np.linspace(-1, 1, 61)
square = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
for panel, (layers, model) in zip(axes, models.items(), strict=True):
    with qml.no_grad():
        said = model(square).numpy().reshape(61, 61)
    filled = panel.contourf(ticks, ticks, said, np.linspace(-1, 1, 21), cmap="RdBu")
    panel.plot(ticks, wave(ticks), "k--")
    panel.set(aspect="equal", title=f"layers: {layers}, {accuracies[layers]:.1%}", xlabel="x[0]")
axes[0].set_ylabel("x[1]")
figure.colorbar(filled, ax=axes, label="expectation value of Z")
plt.show()

# %%
result = {
    "beyond": float(spectra[1][2:].max()),  # of one upload, above the frequency 1
    "errors": {uploads: loss for uploads, (_, loss) in fits.items()},
    "accuracies": accuracies,
}
result

# %% [markdown]
# ## What you have learned
#
# - How often a feature enters decides which functions a circuit can represent: L rotations by x
#   give frequencies up to L. Trained angles choose among them.
# - Trained *scales* choose the frequencies, too: `scale * x[k] + shift` is an angle like any other.
# - One qubit can separate what no straight line can, if the data enter several times.
#   `qml.data_reuploading` builds such circuits on many qubits.
#
# `07_frozen_parts.py` uses one in an encoder.
