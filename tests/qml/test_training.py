"""A hybrid model on real data: accuracy, and gradients against finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from notebooks import run_as_script

import qml
from circuits.engines.registry import ENGINES

STEP = 1e-5


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return run_as_script("05_hybrid_classifier.py", tmp_path_factory.mktemp("tutorial"))


def test_breast_cancer_is_classified(tutorial: dict) -> None:
    assert tutorial["EPOCHS"] == 10
    assert tutorial["result"]["accuracy"] >= 0.93


@pytest.mark.parametrize("engine", ENGINES)
def test_all_gradients_agree_with_finite_differences(engine: str, tutorial: dict) -> None:
    train_x, _, train_y, _ = tutorial["load_data"]()
    model = tutorial["build_model"]()
    model[2].engine = engine
    x, y = qml.Tensor(train_x[:32], requires_grad=True), train_y[:32]

    def loss(features: qml.Tensor) -> qml.Tensor:
        return qml.binary_cross_entropy_with_logits(model(features).squeeze(1), y)

    loss(x).backward()
    parameters = model.parameters()
    assert sum(p.numel() for p in parameters) == 30 * 4 + 4 + 16 + 4 + 1
    found = np.concatenate([p.grad.numpy().ravel() for p in parameters])
    start = qml.parameters_to_vector(parameters).numpy()

    def at(vector: np.ndarray) -> float:
        qml.vector_to_parameters(vector, parameters)
        with qml.no_grad():
            return loss(x).item()

    np.testing.assert_allclose(found, differences(at, start), rtol=0, atol=1e-6)
    qml.vector_to_parameters(start, parameters)

    def with_features(row: np.ndarray) -> float:
        with qml.no_grad():
            return loss(qml.Tensor(np.vstack([row, train_x[1:32]]))).item()

    inputs = differences(with_features, train_x[0])
    np.testing.assert_allclose(x.grad.numpy()[0], inputs, rtol=0, atol=1e-6)
    assert np.abs(inputs).max() > 1e-4


def differences(function: object, start: np.ndarray) -> np.ndarray:
    """Central differences, one element at a time."""
    moves = STEP * np.eye(start.size)
    return np.array([function(start + m) - function(start - m) for m in moves]) / (2 * STEP)


def test_training_repeats_bit_for_bit(tutorial: dict) -> None:
    train_x, _, train_y, _ = tutorial["load_data"]()

    def trained() -> dict[str, np.ndarray]:
        model = tutorial["build_model"]()
        optimizer = qml.Adam(model.parameters(), lr=0.02)
        for x, y in qml.DataLoader(train_x, train_y, batch_size=32, shuffle=True, seed=1):
            optimizer.zero_grad()
            qml.binary_cross_entropy_with_logits(model(x).squeeze(1), y).backward()
            optimizer.step()
        return model.state_dict()

    first, second, start = trained(), trained(), tutorial["build_model"]().state_dict()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name])
        assert not np.array_equal(value, start[name])
