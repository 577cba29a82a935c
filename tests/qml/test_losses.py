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


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_classes_of_a_tensor_are_those_of_its_present_value_and_view(device: str) -> None:
    logits, classes = Tensor(X, device=device), Tensor(CLASSES, device=device)

    def losses(part: slice) -> list[float]:
        return qml.cross_entropy(logits[part], classes[part], "none").tolist()

    for value in (CLASSES, CLASSES[::-1].copy()):
        classes.set_(value)
        wanted = -_log_softmax(X)[np.arange(4), value]
        for part in (slice(None), slice(2), slice(2, 4), slice(None, None, -2), slice(None)):
            np.testing.assert_allclose(losses(part), wanted[part], rtol=1e-13)
    classes.set_(CLASSES + 1)
    with pytest.raises(SettingError, match="class indices from 0 to 2"):
        losses(slice(None))
    wide = Tensor(np.zeros((4, 5)), device=device)
    assert qml.cross_entropy(wide, classes).item() == pytest.approx(np.log(5))


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


# -- states and unitaries --------------------------------------------------------------------------


def random_unitary(size: int, seed: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    matrix = generator.normal(size=(size, size)) + 1j * generator.normal(size=(size, size))
    return np.linalg.qr(matrix)[0]


@pytest.mark.parametrize("shape", [(8,), (3, 8)])
def test_state_fidelity_loss_is_its_formula(shape: tuple[int, ...]) -> None:
    states, targets = (random_unitary(8, seed)[: shape[0]].reshape(-1, 8) for seed in (0, 1))
    states, targets = (x[:1].reshape(shape) if len(shape) == 1 else x for x in (states, targets))
    values = 1 - np.abs((targets.conj() * states).sum(axis=-1)) ** 2
    found = qml.state_fidelity_loss(Tensor(states), targets, "none")
    np.testing.assert_allclose(found.numpy(), values, atol=1e-14)
    assert qml.state_fidelity_loss(Tensor(states), targets).item() == pytest.approx(values.mean())
    assert qml.state_fidelity_loss(Tensor(states), 1j * states).item() == pytest.approx(
        0, abs=1e-14
    )
    leaf = Tensor(states, requires_grad=True)
    assert qml.gradcheck(lambda s: qml.state_fidelity_loss(s, targets), leaf)


def test_states_are_learnt() -> None:
    target = qml.Circuit(2).h(0).cx(0, 1).statevector()
    circuit = qml.hardware_efficient(2, 2, initial=qml.normal_angles(0.3, seed=0))
    optimizer = qml.Adam(circuit.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        loss = qml.state_fidelity_loss(circuit.statevector(), target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-4


def test_unitary_synthesis_loss_is_its_formula() -> None:
    u, v = random_unitary(4, 0), random_unitary(4, 1)
    wanted = 1 - np.abs(np.trace(v.conj().T @ u)) ** 2 / 16
    assert qml.unitary_synthesis_loss(Tensor(u), v).item() == pytest.approx(wanted, rel=1e-13)
    turned = Tensor(u * np.exp(0.3j))
    assert qml.unitary_synthesis_loss(turned, u).item() == pytest.approx(0, abs=1e-14)
    leaf = Tensor(u, requires_grad=True)
    assert qml.gradcheck(lambda x: qml.unitary_synthesis_loss(x, v), leaf)


def test_unitaries_are_learnt_by_one_batched_evolution() -> None:
    target = qml.Circuit(2).cz(0, 1).ry(0.3, 0).rx(-0.4, 1).unitary()
    circuit = qml.strongly_entangling(2, 3, initial=qml.normal_angles(0.5, seed=1))
    optimizer = qml.Adam(circuit.parameters(), lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        loss = qml.unitary_synthesis_loss(circuit.unitary(), target)
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-4


BAD_STATES = [
    (
        np.ones(4, complex) / 2,
        np.ones(4),
        SettingError,
        "normalised targets, got lengths from 2 to",
    ),
    (np.ones(4, complex) / 2, np.ones(2), ShapeError, "one shape"),
    (np.ones(3, complex), np.eye(3)[0], qml.StateError, "2\\*\\*n amplitudes, got 3"),
]


@pytest.mark.parametrize(("states", "targets", "error", "match"), BAD_STATES)
def test_bad_states_are_refused(
    states: object, targets: object, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        qml.state_fidelity_loss(Tensor(states), targets)


BAD_UNITARIES = [
    (np.eye(2), np.ones((2, 2)), SettingError, "needs a unitary target"),
    (np.eye(3), np.eye(3), ShapeError, r"\(2\*\*n, 2\*\*n\), got \(3, 3\)"),
    (np.ones(2), np.ones(2), ShapeError, r"got \(2,\)"),
    (np.ones((2, 4)), np.ones((2, 4)), ShapeError, r"got \(2, 4\)"),
]


@pytest.mark.parametrize(("unitary", "target", "error", "match"), BAD_UNITARIES)
def test_bad_unitaries_are_refused(
    unitary: np.ndarray, target: np.ndarray, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        qml.unitary_synthesis_loss(Tensor(unitary.astype(complex)), target)
