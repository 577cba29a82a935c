from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import qml
from autodiff import F64, Parameter, Tensor
from qml.errors import SettingError

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
START = np.array([1.0, -2.0])

CASES = [
    {},
    {"lr": 0.05, "alpha": 0.9, "eps": 1e-3, "weight_decay": 0.1},
    {"lr": 0.05, "momentum": 0.9},
    {"lr": 0.05, "centered": True},
    {"lr": 0.02, "alpha": 0.8, "eps": 1e-2, "weight_decay": 0.1, "momentum": 0.5, "centered": True},
]


def documented(
    lr: float = 0.01,
    alpha: float = 0.99,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
    momentum: float = 0.0,
    centered: bool = False,
) -> Iterator[np.ndarray]:
    """The algorithm of PyTorch's documentation of torch.optim.RMSprop, for 20 steps."""
    theta = START.copy()
    v, b, g_ave = np.zeros(2), np.zeros(2), np.zeros(2)
    for _ in range(20):
        g = MATRIX @ theta
        if weight_decay != 0:
            g = g + weight_decay * theta
        v = alpha * v + (1 - alpha) * g**2
        v_tilde = v
        if centered:
            g_ave = g_ave * alpha + (1 - alpha) * g
            v_tilde = v_tilde - g_ave**2
        if momentum > 0:
            b = momentum * b + g / (np.sqrt(v_tilde) + eps)
            theta = theta - lr * b
        else:
            theta = theta - lr * g / (np.sqrt(v_tilde) + eps)
        yield theta


@pytest.mark.parametrize("settings", CASES)
def test_twenty_steps_agree_with_the_documented_formula(settings: dict) -> None:
    x, y = Parameter(START[0]), Parameter([START[1]])
    optimizer = qml.RMSprop([x, y], **settings)
    for wanted in documented(**settings):
        optimizer.zero_grad()
        theta = qml.parameters_to_vector([x, y])
        (0.5 * theta @ Tensor(MATRIX) @ theta).backward()
        optimizer.step()
        np.testing.assert_allclose([x.item(), y.item()], wanted, rtol=0, atol=1e-12)


def test_defaults_are_those_of_pytorch() -> None:
    assert qml.RMSprop([Parameter(0.0)]).state_dict()["settings"] == {
        "lr": 0.01,
        "alpha": 0.99,
        "eps": 1e-8,
        "weight_decay": 0.0,
        "momentum": 0.0,
        "centered": False,
    }


@pytest.mark.parametrize("centered", [False, True])
def test_complex_step_keeps_the_gradients_direction(centered: bool) -> None:
    z = Parameter(0j)
    z.grad = Tensor(3 + 4j)
    optimizer = qml.RMSprop([z], lr=0.1, alpha=0.75, eps=0.0, centered=centered)
    optimizer.step()
    # v = 0.25 * 25, and 0.25^2 * 25 less if it is centered.
    length = 0.1 * 5 / np.sqrt(0.25 * 25 - (0.0625 * 25 if centered else 0))
    assert z.item() == pytest.approx(-length * (0.6 + 0.8j))
    square = optimizer.state_dict()["state"][0]["square_avg"]
    assert square.dtype == F64
    assert square == pytest.approx(25 * 0.25)


def test_variance_of_equal_gradients_is_not_negative() -> None:
    """The mean square and the squared mean agree after a while, up to rounding."""
    p = Parameter(np.zeros(50))
    optimizer = qml.RMSprop([p], alpha=0.5, centered=True, eps=1e-3)
    gradient = Tensor(np.linspace(0.1, 3.0, 50))
    for _ in range(200):
        p.grad = gradient
        optimizer.step()
    assert np.isfinite(p.numpy()).all()


BAD = [
    ({"alpha": 1.0}, "RMSprop: alpha needs .* below 1, got 1.0"),
    ({"alpha": -0.1}, "RMSprop: alpha needs"),
    ({"eps": -1e-8}, "RMSprop: eps needs"),
    ({"weight_decay": -1.0}, "RMSprop: weight_decay needs"),
    ({"momentum": 1.0}, "RMSprop: momentum needs"),
    ({"centered": 1}, "RMSprop: centered needs True or False"),
]


@pytest.mark.parametrize(("settings", "match"), BAD)
def test_bad_settings_are_refused(settings: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.RMSprop([Parameter(1.0)], **settings)
