from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import qml
from autodiff import F64, Parameter, Tensor
from qml.errors import SettingError

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
START = np.array([1.0, -2.0])

CASES = [
    (qml.Adam, {"lr": 0.1}),
    (qml.Adam, {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}),
    (qml.AdamW, {"lr": 0.1}),
    (qml.AdamW, {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}),
]


def documented(
    decoupled: bool,
    lr: float,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> list[np.ndarray]:
    """The algorithms of PyTorch's documentation of torch.optim.Adam and AdamW, for 20 steps."""
    theta, m, v, seen = START.copy(), np.zeros(2), np.zeros(2), []
    for t in range(1, 21):
        g = MATRIX @ theta
        if decoupled:
            theta = theta - lr * weight_decay * theta
        else:
            g = g + weight_decay * theta
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g**2
        m_hat, v_hat = m / (1 - betas[0] ** t), v / (1 - betas[1] ** t)
        theta = theta - lr * m_hat / (np.sqrt(v_hat) + eps)
        seen.append(theta)
    return seen


@pytest.mark.parametrize(("kind", "settings"), CASES)
def test_twenty_steps_agree_with_the_documented_formula(
    kind: type[qml.Adam], settings: dict
) -> None:
    x, y = Parameter(START[0]), Parameter([START[1]])
    optimizer = kind([x, y], **settings)
    decoupled = kind is qml.AdamW
    defaults = {"weight_decay": 1e-2} if decoupled else {}
    for wanted in documented(decoupled, **(defaults | settings)):
        optimizer.zero_grad()
        theta = qml.parameters_to_vector([x, y])
        (0.5 * theta @ Tensor(MATRIX) @ theta).backward()
        optimizer.step()
        np.testing.assert_allclose([x.item(), y.item()], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kind", "decay"), [(qml.Adam, 0.0), (qml.AdamW, 1e-2)])
def test_defaults_are_those_of_pytorch(kind: type[qml.Adam], decay: float) -> None:
    wanted = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": decay}
    assert kind([Parameter(0.0)]).state_dict()["settings"] == wanted


def test_each_parameter_has_its_own_step_count() -> None:
    """One that joins later starts with its own bias correction: its first step has length lr."""
    early, late = Parameter(0.0), Parameter([0.0, 0.0])
    optimizer = qml.Adam([early, late], lr=0.1)
    for _ in range(3):
        early.grad = Tensor(1.0)
        optimizer.step()
    before = early.item()
    early.grad, late.grad = Tensor(1.0), Tensor([1.0, 1.0])
    optimizer.step()
    assert late.numpy() == pytest.approx([-0.1, -0.1])
    assert early.item() == pytest.approx(before - 0.1)
    assert [entry["step"] for entry in optimizer.state_dict()["state"]] == [4, 1]


def test_complex_step_keeps_the_gradients_direction() -> None:
    z = Parameter(0j)
    z.grad = Tensor(3 + 4j)
    optimizer = qml.Adam([z], lr=0.1, eps=1e-30)
    optimizer.step()
    assert z.item() == pytest.approx(-(0.06 + 0.08j))
    square = optimizer.state_dict()["state"][0]["exp_avg_sq"]
    assert square.dtype == F64
    assert square == pytest.approx(25 * (1 - 0.999))


def test_complex_minimum_is_found() -> None:
    z = Parameter(0j)
    optimizer = qml.Adam([z], lr=0.1)
    for _ in range(500):
        optimizer.zero_grad()
        (abs(z - (1 + 3j)) ** 2).backward()
        optimizer.step()
    assert z.item() == pytest.approx(1 + 3j, abs=1e-6)


def test_two_steps_with_a_frozen_parameter_between() -> None:
    x, frozen, y = Parameter(1.0), Parameter(7.0).freeze(), Parameter(2.0)
    optimizer = qml.Adam([x, frozen, y], lr=0.1, eps=0.0)
    gradients: dict[str, list[float]] = {"x": [], "y": []}
    for _ in range(2):
        optimizer.zero_grad()
        (x**2 - 3 * y**2 + frozen).backward()
        gradients["x"].append(x.grad.item())
        gradients["y"].append(y.grad.item())
        optimizer.step()
    assert gradients["x"] == pytest.approx([2.0, 1.8])
    assert gradients["y"] == pytest.approx([-12.0, -12.6])
    for parameter, start, g in ((x, 1.0, gradients["x"]), (y, 2.0, gradients["y"])):
        second = (0.9 * 0.1 * g[0] + 0.1 * g[1]) / (1 - 0.9**2)
        root = sqrt((0.999 * 0.001 * g[0] ** 2 + 0.001 * g[1] ** 2) / (1 - 0.999**2))
        assert parameter.item() == pytest.approx(start - 0.1 * np.sign(g[0]) - 0.1 * second / root)
    assert frozen.item() == 7.0


BAD = [
    ({"lr": -0.1}, "Adam: lr needs a finite number of at least 0, got -0.1"),
    ({"betas": 0.9}, "Adam: betas needs a pair"),
    ({"betas": (1.0, 0.9)}, r"Adam: betas\[0\] needs .* below 1, got 1.0"),
    ({"betas": (0.9, -0.1)}, r"Adam: betas\[1\] needs"),
    ({"eps": -1e-8}, "Adam: eps needs"),
    ({"weight_decay": float("nan")}, "Adam: weight_decay needs"),
]


@pytest.mark.parametrize(("settings", "match"), BAD)
def test_bad_settings_are_refused(settings: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.Adam([Parameter(1.0)], **settings)
