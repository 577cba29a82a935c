from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import qml
from autodiff import F32, DTypeError, ShapeError, Tensor
from qml.errors import SettingError

GENERATOR = np.random.default_rng(0)
X, Y = GENERATOR.normal(size=(2, 4, 3))
Z, W = GENERATOR.normal(size=(2, 4, 3)) + 1j * GENERATOR.normal(size=(2, 4, 3))
SHARES = GENERATOR.dirichlet(np.ones(3), size=4)
CLASSES = np.array([0, 2, 1, 2])

Loss = Callable[..., Tensor]


def _log_softmax(x: np.ndarray) -> np.ndarray:
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def _binary(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    s = 1 / (1 + np.exp(-x))
    return -t * np.log(s) - (1 - t) * np.log(1 - s)


#: loss, predictions, targets, and the values that its definition gives one by one
LOSSES = [
    (qml.mse_loss, X, Y, (X - Y) ** 2),
    (qml.mse_loss, Z, W, np.abs(Z - W) ** 2),
    (qml.half_mse_loss, X, Y, (X - Y) ** 2 / 2),
    (qml.half_mse_loss, Z, W, np.abs(Z - W) ** 2 / 2),
    (qml.l1_loss, X, Y, np.abs(X - Y)),
    (qml.l1_loss, Z, W, np.abs(Z - W)),
    (qml.binary_cross_entropy_with_logits, X, SHARES, _binary(X, SHARES)),
    (qml.cross_entropy, X, CLASSES, -_log_softmax(X)[np.arange(4), CLASSES]),
    (qml.cross_entropy, X, np.eye(3)[CLASSES], -_log_softmax(X)[np.arange(4), CLASSES]),
    (qml.cross_entropy, X, SHARES, -(SHARES * _log_softmax(X)).sum(axis=-1)),
    (qml.cross_entropy, X[0], 2, -_log_softmax(X)[0, 2]),
    (qml.cross_entropy, X[0], SHARES[0], -(SHARES[0] * _log_softmax(X)[0]).sum()),
]
every_loss = pytest.mark.parametrize(("loss", "x", "y", "values"), LOSSES)


@every_loss
def test_values_follow_the_definition(loss: Loss, x: object, y: object, values: object) -> None:
    none = loss(x, y, "none")
    np.testing.assert_allclose(none.numpy(), values, rtol=1e-13)
    assert none.shape == np.shape(values)
    assert loss(x, y, "sum").item() == pytest.approx(np.sum(values), rel=1e-13)
    assert loss(x, y).item() == pytest.approx(np.mean(values), rel=1e-13)
    assert loss(x, y).shape == ()


@every_loss
def test_gradients(loss: Loss, x: object, y: object, values: object) -> None:
    assert qml.gradcheck(lambda t: loss(t, y), Tensor(x, requires_grad=True))


@every_loss
def test_float32_stays(loss: Loss, x: np.ndarray, y: object, values: object) -> None:
    predictions = Tensor(x.astype("complex64" if x.dtype.kind == "c" else "float32"))
    assert loss(predictions, y).dtype == F32


def test_targets_may_be_tensors_with_gradients() -> None:
    x, y = (Tensor(a, requires_grad=True) for a in (X, Y))
    qml.mse_loss(x, y).backward()
    np.testing.assert_allclose(y.grad.numpy(), -x.grad.numpy())


@pytest.mark.parametrize("dtype", [bool, np.int64])
def test_integer_and_boolean_targets_become_numbers(dtype: type) -> None:
    targets = np.array([0, 1]).astype(dtype)
    for given in (targets, Tensor(targets)):
        loss = qml.binary_cross_entropy_with_logits([0.0, 0.0], given)
        assert loss.item() == pytest.approx(np.log(2))


def test_gradient_of_half_mse_is_the_difference() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    qml.half_mse_loss(x, [0.5, 4.0], "sum").backward()
    assert x.grad.tolist() == [0.5, -2.0]


def test_gradient_of_l1_where_equal_is_zero() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    qml.l1_loss(x, [1.0, 1.0], "sum").backward()
    assert x.grad.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("size", [40.0, 800.0, 1e5])
def test_large_logits_are_exact(size: float) -> None:
    logits = Tensor([size, -size, size, -size], requires_grad=True)
    values = qml.binary_cross_entropy_with_logits(logits, [1, 0, 0, 1], "none")
    small = np.exp(-size)
    assert values.tolist() == pytest.approx([small, small, size, size], rel=1e-12)
    values.sum().backward()
    assert logits.grad.tolist() == pytest.approx([-small, small, 1.0, -1.0], rel=1e-12)
    several = qml.cross_entropy([[size, 0.0, -size]], [2])
    assert several.item() == pytest.approx(2 * size)


TWO_SHAPES = [qml.mse_loss, qml.half_mse_loss, qml.l1_loss, qml.binary_cross_entropy_with_logits]


@pytest.mark.parametrize("loss", TWO_SHAPES)
@pytest.mark.parametrize(("x", "y"), [((3, 1), (3,)), ((3,), (3, 1)), ((3,), ()), ((2, 3), (3,))])
def test_shapes_are_never_broadcast(loss: Loss, x: tuple, y: tuple) -> None:
    with pytest.raises(ShapeError, match=r"needs predictions and targets of one shape, got \("):
        loss(np.zeros(x), np.zeros(y))


BAD_CLASSES = [
    (np.zeros((3, 2)), [0, 1], ShapeError, r"class indices of shape \(3,\)"),
    (np.zeros((3, 2)), [[0], [1], [1]], ShapeError, r"got shape \(3, 1\)"),
    (np.zeros((2, 2)), [0, 2], SettingError, "class indices from 0 to 1, got 0 to 2"),
    (np.zeros((2, 2)), [-1, 0], SettingError, "got -1 to 0"),
    (np.zeros((2, 2)), [0.5, 0.5], ShapeError, "of one shape"),
    (np.zeros((2, 2)), [[2.0, 0.0], [0.0, 1.0]], SettingError, r"targets in \[0, 1\]"),
    (np.zeros((2, 2, 2)), [0, 0], ShapeError, r"logits of shape \(K,\) or \(B, K\)"),
    (0.0, 0, ShapeError, r"logits of shape \(K,\) or \(B, K\)"),
]


@pytest.mark.parametrize(("logits", "targets", "error", "match"), BAD_CLASSES)
def test_bad_classes_are_refused(
    logits: object, targets: object, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        qml.cross_entropy(logits, targets)


@pytest.mark.parametrize("targets", [[-1.0, 1.0], [0.0, float("nan")]])
def test_labels_that_are_no_probabilities_are_refused(targets: list[float]) -> None:
    with pytest.raises(SettingError, match=r"needs targets in \[0, 1\]"):
        qml.binary_cross_entropy_with_logits([0.0, 0.0], targets)


@every_loss
def test_unknown_reduction_is_refused(loss: Loss, x: object, y: object, values: object) -> None:
    with pytest.raises(SettingError, match="reduction needs one of mean, sum, none, got 'avg'"):
        loss(x, y, "avg")


@pytest.mark.parametrize("loss", TWO_SHAPES)
def test_mean_of_nothing_is_refused(loss: Loss) -> None:
    with pytest.raises(ShapeError, match="needs at least one element to average"):
        loss(np.zeros((0, 2)), np.zeros((0, 2)))
    assert loss(np.zeros((0, 2)), np.zeros((0, 2)), "sum").item() == 0.0


def test_text_is_refused() -> None:
    with pytest.raises(DTypeError, match="Tensor needs numeric data"):
        qml.mse_loss(["a"], [1.0])
