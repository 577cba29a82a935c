# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Frozen parts and checkpoints
#
# An encoder with a circuit learns to tell the handwritten digits 0 to 4 apart. Then it has to help
# with the digits 5 to 9, of which there are only a hundred samples: at first *frozen*, so that only
# a new last layer learns, then unfrozen, with smaller steps. At the end the training is
# interrupted, and goes on from a file as if nothing had happened.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import qml

plt.style.use("seaborn-v0_8-colorblind")
QUBITS, CLASSES = 6, 5

# %% tags=["parameters"]
FIRST_EPOCHS = 15  # digits 0 to 4, everything trained
FROZEN_EPOCHS = 40  # digits 5 to 9, the last layer alone
TUNED_EPOCHS = 40  # digits 5 to 9, everything again

# %% [markdown]
# ## Data: 8 x 8 pixels


# %%
def load_task(first: int, train_size: int) -> list[np.ndarray]:
    """Return the digits first to first + 4: training and test pixels, training and test labels."""
    pixels, digits = load_digits(return_X_y=True)
    chosen = (digits >= first) & (digits < first + CLASSES)
    return train_test_split(
        pixels[chosen] / 16.0,
        digits[chosen] - first,
        train_size=train_size,
        stratify=digits[chosen],
        random_state=0,
    )


plenty, few = load_task(0, train_size=600), load_task(5, train_size=100)
figure, axes = plt.subplots(1, 10, figsize=(9, 1.2), layout="constrained")
for panel, digit in zip(axes, range(10), strict=True):
    train_x, _, train_y, _ = plenty if digit < CLASSES else few
    panel.imshow(train_x[train_y == digit % CLASSES][0].reshape(8, 8), cmap="gray_r")
    panel.axis("off")
plt.show()

# %% [markdown]
# ## A module of your own
#
# A `Module` is a class that keeps layers as attributes and has a `forward`, as in PyTorch. The
# encoder makes 6 angles of 64 pixels, and 12 expectation values of these; the head makes logits of
# them.


# %%
class Classifier(qml.Module):
    """An encoder of 64 pixels, and a last layer that is exchanged for another task."""

    def __init__(self, generator: np.random.Generator) -> None:
        circuit = qml.data_reuploading(
            QUBITS, 2, initial=qml.small_angles(layers=2, seed=generator)
        )
        observables = [qml.Z(q) for q in range(QUBITS)] + [qml.X(q) for q in range(QUBITS)]
        self.encoder = qml.Sequential(
            qml.Linear(64, QUBITS, seed=generator),
            qml.QuantumLayer(circuit, observables),
        )
        self.head = qml.Linear(2 * QUBITS, CLASSES, seed=generator)

    def forward(self, x: np.ndarray) -> qml.Tensor:
        """Map pixels (B, 64) to logits (B, 5)."""
        return self.head(self.encoder(x))


generator = np.random.default_rng(0)
model = Classifier(generator)
print(model)
print("the first names:", [name for name, _ in model.named_parameters()][:4])

# %% [markdown]
# ## First task
#
# A `Trainer` writes the loop: epochs, batches, validation, metrics, history.


# %%
def make_trainer(model: qml.Module, lr: float, **options: object) -> qml.Trainer:
    """Adam, cross-entropy, accuracy; without a progress bar."""
    optimizer = qml.Adam(model.parameters(), lr=lr)
    metrics = {"accuracy": qml.accuracy}
    return qml.Trainer(model, optimizer, qml.cross_entropy, metrics=metrics, quiet=True, **options)


def batches(task: list[np.ndarray], seed: int) -> qml.DataLoader:
    """Training data, shuffled."""
    return qml.DataLoader(task[0], task[2], batch_size=25, shuffle=True, seed=seed)


def test_data(task: list[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """One batch of everything that was not trained on."""
    return [(task[1], task[3])]


first = make_trainer(model, lr=0.02).fit(
    batches(plenty, seed=1), FIRST_EPOCHS, validation=test_data(plenty)
)
accuracies = {"0-4, all trained": first.values("validation_accuracy")[-1]}
print(f"digits 0-4, all trained: {accuracies['0-4, all trained']:.1%}")

# %% [markdown]
# The values of training are means over an epoch, in which the model got better all the time; those
# of validation are taken at its end. So validation may look better at first.

# %%
qml.learning_curves(first, title="Digits 0 to 4")

# %% [markdown]
# ## Second task, encoder frozen
#
# A new head, and `freeze` with a pattern of names. A frozen Parameter still *gets* its gradient, it
# only is not moved: no update, no momentum, no weight decay. We keep a copy of the encoder, to see
# that not one bit changes.

# %%
model.head = qml.Linear(2 * QUBITS, CLASSES, seed=generator)  # a new task
model.freeze("encoder.*")
kept = model.encoder.state_dict()
frozen = make_trainer(model, lr=0.02).fit(
    batches(few, seed=2), FROZEN_EPOCHS, validation=test_data(few)
)
accuracies["5-9, frozen"] = frozen.values("validation_accuracy")[-1]
moved = sum(not np.array_equal(v, kept[name]) for name, v in model.encoder.state_dict().items())
print(f"digits 5-9, encoder frozen: {accuracies['5-9, frozen']:.1%}, {moved} of {len(kept)} moved")

# %% [markdown]
# ## Unfrozen, with smaller steps
#
# The starting point is kept in a file, for the experiment after this one. `qml.save` takes any
# `state_dict`.

# %%
model.unfreeze("encoder.*")
start = model.state_dict()
qml.save(start, "start.ket")
tuned = make_trainer(model, lr=0.005).fit(
    batches(few, seed=3), TUNED_EPOCHS, validation=test_data(few)
)
accuracies["5-9, tuned"] = tuned.values("validation_accuracy")[-1]
moved = sum(not np.array_equal(v, kept[name]) for name, v in model.encoder.state_dict().items())
print(f"digits 5-9, encoder tuned:  {accuracies['5-9, tuned']:.1%}, {moved} of {len(kept)} moved")

# %%
figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
curve = frozen.values("validation_accuracy") + tuned.values("validation_accuracy")
axes.plot(np.arange(1, len(curve) + 1), curve)
axes.axvline(FROZEN_EPOCHS + 0.5, color="0.4", linestyle="--")
axes.text(FROZEN_EPOCHS, 0.05, "encoder frozen ", ha="right")
axes.text(FROZEN_EPOCHS + 1, 0.05, " unfrozen", ha="left")
axes.set(xlabel="epoch", ylabel="test accuracy", ylim=(0, 1), title="Digits 5 to 9, 100 samples")
plt.show()

# %% [markdown]
# ## Interrupted, and resumed
#
# With `checkpoint=` the whole training is saved after every epoch: values, what is frozen, the
# optimizer's memory, random generators, the position in the data, the history. `resume=True` goes
# on from there. Here the training above is repeated, but ends half-way; a new model and a new
# trainer, as in a new process, do the rest.


# %%
def from_the_start() -> qml.Trainer:
    """A trainer as above, of a new model with the same starting point."""
    fresh = Classifier(np.random.default_rng(99))
    fresh.load_state_dict(qml.load("start.ket"))
    return make_trainer(fresh, lr=0.005, checkpoint="tuning.ket")


half = max(TUNED_EPOCHS // 2, 1)
from_the_start().fit(batches(few, seed=3), half, validation=test_data(few))
print(f"stopped after {half} epochs")

resumed = from_the_start()
history = resumed.fit(batches(few, seed=3), TUNED_EPOCHS, validation=test_data(few), resume=True)
same = all(
    np.array_equal(value, model.state_dict()[name])
    for name, value in resumed.model.state_dict().items()
)
print(f"{len(history.epochs)} epochs in the history; the same bits as without a stop: {same}")

# %%
result = {**accuracies, "moved": moved, "resumed_bit_for_bit": same}
result

# %% [markdown]
# ## What you have learned
#
# - `freeze("encoder.*")` holds parts still, by name; gradients still arrive there. `unfreeze` lets
#   them go on. A frozen encoder is a start, letting it adapt is better, even with few samples.
# - `state_dict`, `save` and `load` carry values from one place to another; no code is executed when
#   a file is read.
# - A `Trainer` with `checkpoint=` can be killed at any time, and resumes to the same bits.
#
# Was a circuit needed for any of this? `08_against_logistic_regression.py` compares, fairly.
