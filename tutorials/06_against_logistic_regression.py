"""Two data sets: a circuit beside logistic regression, on the same split.

Run it: ``python tutorials/06_against_logistic_regression.py``. It needs scikit-learn, takes about
half a minute and writes ``two_moons.png``.

Logistic regression draws straight borders. On wines, described by 13 measurements, that is all it
takes, and a circuit can only be as good; on two moons that reach into each other it is not enough.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_wine, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import qml

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def split(x: np.ndarray, y: np.ndarray) -> Split:
    """Split the data, and scale the features by what the training set shows."""
    train_x, test_x, train_y, test_y = train_test_split(
        x, y, test_size=0.3, stratify=y, random_state=0
    )
    mean, deviation = train_x.mean(axis=0), train_x.std(axis=0)
    return (train_x - mean) / deviation, (test_x - mean) / deviation, train_y, test_y


def moons() -> Split:
    """300 points on two half circles, with noise."""
    return split(*make_moons(300, noise=0.15, random_state=0))


def wines() -> Split:
    """178 wines of three cultivars, by 13 measurements."""
    return split(*load_wine(return_X_y=True))


def moons_model(generator: np.random.Generator) -> qml.Module:
    """Enter both coordinates five times, each time scaled anew, and read two qubits."""
    initial = qml.normal_angles(0.3, seed=generator)
    circuit = qml.data_reuploading(2, 5, initial=initial)
    observables = [qml.Z(0), qml.Z(1), qml.Z(0) @ qml.Z(1)]
    return qml.Sequential(qml.QuantumLayer(circuit, observables), qml.Linear(3, 2, seed=generator))


def wines_model(generator: np.random.Generator) -> qml.Module:
    """Make 13 features four angles, trained too, and enter these twice."""
    initial = qml.small_angles(layers=2, seed=generator)
    circuit = qml.data_reuploading(4, 2, initial=initial)
    return qml.Sequential(
        qml.Linear(13, 4, seed=generator),
        qml.QuantumLayer(circuit, [qml.Z(q) for q in range(4)]),
        qml.Linear(4, 3, seed=generator),
    )


def train(model: qml.Module, data: Split, epochs: int) -> float:
    """Train, and return the accuracy on the test set."""
    train_x, test_x, train_y, test_y = data
    trainer = qml.Trainer(
        model,
        qml.Adam(model.parameters(), lr=0.05),
        qml.cross_entropy,
        metrics={"accuracy": qml.accuracy},
        quiet=True,
    )
    trainer.fit(qml.DataLoader(train_x, train_y, batch_size=32, shuffle=True, seed=1), epochs)
    return trainer.evaluate([(test_x, test_y)])["accuracy"]


def save_borders(model: qml.Module, data: Split, path: str) -> Path:
    """Draw the points of the test set, and how sure the model is everywhere."""
    _, test_x, _, test_y = data
    grid = np.linspace(-2.5, 2.5, 101)
    points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    with qml.no_grad():
        sure = qml.softmax(model(points), axis=-1).numpy()[:, 1].reshape(101, 101)
    figure = Figure(figsize=(5.0, 4.5), layout="constrained")
    axes = figure.subplots()
    filled = axes.contourf(grid, grid, sure, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.6)
    figure.colorbar(filled, label="probability of class 1")
    for label, colour in enumerate(("#D55E00", "#0072B2")):
        x = test_x[test_y == label]
        axes.scatter(*x.T, c=colour, edgecolors="white", s=30, label=f"class {label}")
    axes.set(xlabel="first feature", ylabel="second feature", title="Two moons, test set")
    axes.legend()
    figure.savefig(path, dpi=150)
    return Path(path)


def main(epochs: int = 60, picture: str = "two_moons.png") -> float:
    """Print both accuracies for both data sets; return the circuit's mean one."""
    tasks: list[tuple[str, Split, Callable[[np.random.Generator], qml.Module]]] = [
        ("two moons", moons(), moons_model),
        ("wine", wines(), wines_model),
    ]
    print("data set    test samples   circuit   logistic regression")
    reached = []
    for name, data, build in tasks:
        train_x, test_x, train_y, test_y = data
        model = build(np.random.default_rng(0))
        reached.append(train(model, data, epochs))
        other = LogisticRegression(max_iter=1000).fit(train_x, train_y).score(test_x, test_y)
        print(f"{name:<12}{len(test_y):12d}   {reached[-1]:7.1%}   {other:19.1%}")
        if name == "two moons":
            save_borders(model, data, picture)
    return float(np.mean(reached))


if __name__ == "__main__":
    main()
