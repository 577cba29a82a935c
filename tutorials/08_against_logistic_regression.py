# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A fair comparison: circuits against logistic regression
#
# A new kind of model should be compared with a simple old one: on the same data, with the same
# split, and with the same care in choosing its settings. Logistic regression draws straight
# borders. On wines, described by 13 measurements, that is all it takes, and a circuit can only be
# as good. On two moons that reach into each other it is not enough.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qml

plt.style.use("seaborn-v0_8-colorblind")

# %% tags=["parameters"]
EPOCHS = 30  # for each circuit
FOLDS = 5  # of the cross-validation

# %% [markdown]
# ## Data
#
# 30 % of each data set is put aside, and not looked at until everything is chosen.

# %%
DATA = {
    "two moons": make_moons(300, noise=0.15, random_state=0),
    "wine": load_wine(return_X_y=True),
}
splits = {
    name: train_test_split(x, y, test_size=0.3, stratify=y, random_state=0)
    for name, (x, y) in DATA.items()
}
for name, (train_x, test_x, _, test_y) in splits.items():
    print(
        f"{name:10} {train_x.shape[1]:2d} features, {len(train_x)} samples for training, "
        f"{len(test_x)} for the test, {len(np.unique(test_y))} classes"
    )

# %% [markdown]
# ## Two models, each with a setting to choose
#
# Both coordinates of the moons enter a circuit of two qubits directly; the 13 features of a wine
# become four angles first, by a layer that is trained too. How many layers should the circuit have?
# For logistic regression the question is how strongly to regularise it.


# %%
def moons_model(layers: int) -> qml.Module:
    """Enter both coordinates, scaled anew in every layer, and read two qubits."""
    generator = np.random.default_rng(0)
    initial = qml.normal_angles(0.3, seed=generator)
    circuit = qml.data_reuploading(2, layers, initial=initial)
    observables = [qml.Z(0), qml.Z(1), qml.Z(0) @ qml.Z(1)]
    return qml.Sequential(qml.QuantumLayer(circuit, observables), qml.Linear(3, 2, seed=generator))


def wine_model(layers: int) -> qml.Module:
    """Make 13 features four angles, and enter these in every layer."""
    generator = np.random.default_rng(0)
    initial = qml.small_angles(layers=layers, seed=generator)
    circuit = qml.data_reuploading(4, layers, initial=initial)
    return qml.Sequential(
        qml.Linear(13, 4, seed=generator),
        qml.QuantumLayer(circuit, [qml.Z(q) for q in range(4)]),
        qml.Linear(4, 3, seed=generator),
    )


MODELS = {"two moons": moons_model, "wine": wine_model}
LAYERS = (1, 3, 5)
STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)  # C: small is strong


def train(model: qml.Module, x: np.ndarray, y: np.ndarray) -> StandardScaler:
    """Train the model; return how the features were scaled, by what the training part shows."""
    scaler = StandardScaler().fit(x)
    optimizer = qml.Adam(model.parameters(), lr=0.05)
    trainer = qml.Trainer(model, optimizer, qml.cross_entropy, quiet=True)
    trainer.fit(qml.DataLoader(scaler.transform(x), y, batch_size=32, shuffle=True, seed=1), EPOCHS)
    return scaler


def score(model: qml.Module, scaler: StandardScaler, x: np.ndarray, y: np.ndarray) -> float:
    """Return the accuracy."""
    with qml.no_grad():
        return qml.accuracy(model(scaler.transform(x)), y)


# %% [markdown]
# ## Choosing, by the training part alone
#
# *Cross-validation* divides the training part into five folds; each is judged by a model that was
# trained on the other four, and the mean of the five decides. Equal means go to fewer layers. The
# test set has no say, for neither of the two models: otherwise its score would be a boast, not a
# measurement.

# %%
folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)


def cross_validate(name: str, layers: int) -> float:
    """Return the mean accuracy on the folds of the training part."""
    x, _, y, _ = splits[name]
    found = []
    for kept, left_out in folds.split(x, y):
        model = MODELS[name](layers)
        scaler = train(model, x[kept], y[kept])
        found.append(score(model, scaler, x[left_out], y[left_out]))
    return float(np.mean(found))


chosen, regressions = {}, {}
for name, (train_x, _, train_y, _) in splits.items():
    means = {layers: round(cross_validate(name, layers), 9) for layers in LAYERS}
    chosen[name] = max(LAYERS, key=lambda layers: means[layers])
    regressions[name] = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        {"logisticregression__C": STRENGTHS},
        cv=folds,
    ).fit(train_x, train_y)
    print(
        f"{name:10} circuits {', '.join(f'{k} layers {v:.1%}' for k, v in means.items())}"
        f"   logistic regression {regressions[name].best_score_:.1%}"
    )

# %% [markdown]
# ## The test, once
#
# The chosen circuit is trained on the whole training part. The last column is the standard error
# of an accuracy measured on so few samples: differences smaller than that mean nothing.

# %%
models, result = {}, {}
print("data set    layers   circuit   logistic regression   standard error")
for name, (train_x, test_x, train_y, test_y) in splits.items():
    model = MODELS[name](chosen[name])
    scaler = train(model, train_x, train_y)
    models[name] = model, scaler
    reached = score(model, scaler, test_x, test_y)
    other = float(regressions[name].score(test_x, test_y))
    error = np.sqrt(max(reached * (1 - reached), 1 / len(test_y)) / len(test_y))
    result[name] = {"circuit": reached, "logistic": other, "layers": chosen[name]}
    print(f"{name:10} {chosen[name]:7d}   {reached:7.1%}   {other:19.1%}   {error:14.1%}")

# %% [markdown]
# ## Two borders
#
# The test points of the moons, and what both models say about every place.

# %%
ticks_x, ticks_y = np.linspace(-1.5, 2.5, 101), np.linspace(-1.1, 1.6, 101)
grid = np.stack(np.meshgrid(ticks_x, ticks_y), axis=-1).reshape(-1, 2)
model, scaler = models["two moons"]
with qml.no_grad():
    by_circuit = qml.softmax(model(scaler.transform(grid)), axis=-1).numpy()[:, 1]
by_regression = regressions["two moons"].predict_proba(grid)[:, 1]

_, test_x, _, test_y = splits["two moons"]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for panel, sure, name in zip(
    axes, (by_circuit, by_regression), ("circuit", "logistic"), strict=True
):
    filled = panel.contourf(
        ticks_x, ticks_y, sure.reshape(101, 101), np.linspace(0, 1, 11), cmap="RdBu", alpha=0.6
    )
    for label, colour in enumerate(("#D55E00", "#0072B2")):
        panel.scatter(*test_x[test_y == label].T, c=colour, edgecolors="white", s=30)
    panel.set(xlabel="x[0]", title=f"{name}: {result['two moons'][name]:.1%} right")
axes[0].set_ylabel("x[1]")
figure.colorbar(filled, ax=axes, label="probability of the blue class")
plt.show()

# %%
result

# %% [markdown]
# ## What you have learned
#
# - Compare with a simple model on the same split, and choose settings of both by cross-validation
#   on the training part. Then look at the test set, once.
# - Where straight borders suffice, as for the wines, a circuit gains nothing: the simple model is
#   at least as good, and trains in milliseconds. Where the border bends, a circuit that enters its
#   data several times follows it; so would a support vector machine or a small network.
# - None of this is an advantage of quantum computers. It shows that such models learn.
#
# `09_vanishing_gradients.py` shows what stands in their way when they get larger.
