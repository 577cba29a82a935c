from __future__ import annotations

import numpy as np
import pytest

import qml

ACTIVATIONS = [
    (qml.Tanh(), np.tanh),
    (qml.ReLU(), lambda x: np.maximum(x, 0)),
    (qml.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))),
    (qml.Softplus(), lambda x: np.log1p(np.exp(x))),
    (qml.Softmax(), lambda x: np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)),
    (qml.Softmax(axis=0), lambda x: np.exp(x) / np.exp(x).sum(axis=0, keepdims=True)),
]


@pytest.mark.parametrize(("layer", "function"), ACTIVATIONS, ids=lambda x: repr(x)[:16])
def test_activation(layer: qml.Module, function: object) -> None:
    x = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_allclose(layer(x).numpy(), function(x), rtol=1e-14)
    assert qml.gradcheck(layer, qml.Tensor(x, requires_grad=True))
    assert layer.parameters() == []
    assert repr(qml.Softmax(axis=0)) == "Softmax(axis=0)"
