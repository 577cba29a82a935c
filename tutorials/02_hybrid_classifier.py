"""A classifier with a circuit between two linear layers.

Run it: ``python tutorials/02_hybrid_classifier.py``. It needs scikit-learn, for the data, and
takes a few seconds.

The 30 features of a tumour become 4 angles, a circuit on 4 qubits turns these into 4 expectation
values, and a last layer into one logit. Everything is trained together: gradients flow from the
loss through the last layer and the circuit back into the first layer's weights.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import qml

QUBITS = 4


def load_data() -> tuple[np.ndarray, ...]:
    """Split the data, and scale the features by what the training set shows."""
    data = load_breast_cancer()
    train_x, test_x, train_y, test_y = train_test_split(
        data.data, data.target, test_size=0.25, stratify=data.target, random_state=0
    )
    mean, deviation = train_x.mean(axis=0), train_x.std(axis=0)
    return (train_x - mean) / deviation, (test_x - mean) / deviation, train_y, test_y


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


def build_model(seed: int = 0) -> qml.Sequential:
    """Put the layers together. One generator serves all, so that no two start alike."""
    generator = np.random.default_rng(seed)
    return qml.Sequential(
        qml.Linear(30, QUBITS, seed=generator),
        qml.Tanh(),
        qml.QuantumLayer(build_circuit(generator), [qml.Z(qubit) for qubit in range(QUBITS)]),
        qml.Linear(QUBITS, 1, seed=generator),
    )


def main(epochs: int = 10) -> float:
    """Train, print loss and accuracy, and return the accuracy on the test set."""
    train_x, test_x, train_y, test_y = load_data()
    model = build_model()
    print(model)

    optimizer = qml.Adam(model.parameters(), lr=0.02)
    batches = qml.DataLoader(train_x, train_y, batch_size=32, shuffle=True, seed=1)
    reached = 0.0
    for epoch in range(epochs):
        losses = []
        for x, y in batches:
            optimizer.zero_grad()
            logits = model(x).squeeze(1)  # (32, 1) to (32,): losses never broadcast
            loss = qml.binary_cross_entropy_with_logits(logits, y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with qml.no_grad():
            reached = qml.accuracy(model(test_x).squeeze(1), test_y)
        print(f"epoch {epoch:2d}   loss {np.mean(losses):.4f}   test accuracy {reached:.1%}")
    return reached


if __name__ == "__main__":
    main()
