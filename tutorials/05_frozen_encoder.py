"""A trained encoder, frozen under a new task, then fine-tuned.

Run it: ``python tutorials/05_frozen_encoder.py``. It needs scikit-learn, for the data, takes about
half a minute and writes ``frozen_encoder.png``.

An encoder with a circuit learns to tell the handwritten digits 0 to 4 apart. Then it has to help
with the digits 5 to 9, of which there are only a few samples: at first frozen, so that only a new
last layer learns, then unfrozen, with smaller steps. A frozen Parameter still gets its gradient,
but no optimizer moves it.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import qml

QUBITS = 6
CLASSES = 5
Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


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


def load_task(first: int, train_size: int) -> Split:
    """Return the digits ``first`` to ``first + 4`` as training and test data."""
    pixels, digits = load_digits(return_X_y=True)
    chosen = (digits >= first) & (digits < first + CLASSES)
    return train_test_split(
        pixels[chosen] / 16.0,
        digits[chosen] - first,
        train_size=train_size,
        stratify=digits[chosen],
        random_state=0,
    )


def train(model: Classifier, task: Split, epochs: int, lr: float, seed: int) -> qml.History:
    """Train what is not frozen."""
    train_x, test_x, train_y, test_y = task
    trainer = qml.Trainer(
        model,
        qml.Adam(model.parameters(), lr=lr),
        qml.cross_entropy,
        metrics={"accuracy": qml.accuracy},
        quiet=True,
    )
    data = qml.DataLoader(train_x, train_y, batch_size=25, shuffle=True, seed=seed)
    return trainer.fit(data, epochs, validation=[(test_x, test_y)])


def main(epochs: tuple[int, int, int] = (15, 40, 40), picture: str = "frozen_encoder.png") -> float:
    """Train three times, print the accuracies, save the last curves, return the last accuracy."""
    generator = np.random.default_rng(0)
    model = Classifier(generator)
    first, second = load_task(0, train_size=600), load_task(5, train_size=100)

    history = train(model, first, epochs[0], lr=0.02, seed=1)
    print(f"digits 0-4, all trained:       {history.values('validation_accuracy')[-1]:.1%}")

    model.head = qml.Linear(2 * QUBITS, CLASSES, seed=generator)  # a new task
    model.freeze("encoder.*")
    kept = model.encoder.state_dict()
    history = train(model, second, epochs[1], lr=0.02, seed=2)
    frozen = history.values("validation_accuracy")[-1]
    print(f"digits 5-9, encoder frozen:    {frozen:.1%}")
    for name, values in model.encoder.state_dict().items():
        assert np.array_equal(values, kept[name])  # not one bit has moved

    model.unfreeze("encoder.*")
    history = train(model, second, epochs[2], lr=0.005, seed=3)
    tuned = history.values("validation_accuracy")[-1]
    print(f"digits 5-9, encoder unfrozen:  {tuned:.1%}")
    moved = sum(not np.array_equal(v, kept[n]) for n, v in model.encoder.state_dict().items())
    print(f"{moved} of {len(kept)} Parameters of the encoder moved")
    qml.save_learning_curves(history, picture, title="Digits 5 to 9, encoder unfrozen")
    return tuned


if __name__ == "__main__":
    main()
