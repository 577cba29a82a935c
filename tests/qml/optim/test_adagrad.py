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
    {"lr": 0.5},
    {
        "lr": 0.5,
        "lr_decay": 0.1,
        "weight_decay": 0.1,
        "initial_accumulator_value": 0.3,
        "eps": 1e-2,
    },
]


def documented(
    lr: float = 0.01,
    lr_decay: float = 0.0,
    weight_decay: float = 0.0,
    initial_accumulator_value: float = 0.0,
    eps: float = 1e-10,
) -> Iterator[np.ndarray]:
    """The algorithm of PyTorch's documentation of torch.optim.Adagrad, for 20 steps."""
    theta, state_sum = START.copy(), np.full(2, initial_accumulator_value)
    for t in range(1, 21):
        g = MATRIX @ theta
        gamma = lr / (1 + (t - 1) * lr_decay)
        if weight_decay != 0:
            g = g + weight_decay * theta
        state_sum = state_sum + g**2
        theta = theta - gamma * g / (np.sqrt(state_sum) + eps)
        yield theta


@pytest.mark.parametrize("settings", CASES)
def test_twenty_steps_agree_with_the_documented_formula(settings: dict) -> None:
    x, y = Parameter(START[0]), Parameter([START[1]])
    optimizer = qml.Adagrad([x, y], **settings)
    for wanted in documented(**settings):
        optimizer.zero_grad()
        theta = qml.parameters_to_vector([x, y])
        (0.5 * theta @ Tensor(MATRIX) @ theta).backward()
        optimizer.step()
        np.testing.assert_allclose([x.item(), y.item()], wanted, rtol=0, atol=1e-12)


def test_defaults_are_those_of_pytorch() -> None:
    assert qml.Adagrad([Parameter(0.0)]).state_dict()["settings"] == {
        "lr": 0.01,
        "lr_decay": 0.0,
        "weight_decay": 0.0,
        "initial_accumulator_value": 0.0,
        "eps": 1e-10,
    }


def test_complex_step_keeps_the_gradients_direction() -> None:
    z = Parameter(0j)
    z.grad = Tensor(3 + 4j)
    optimizer = qml.Adagrad([z], lr=0.1)
    optimizer.step()
    assert z.item() == pytest.approx(-(0.06 + 0.08j))
    total = optimizer.state_dict()["state"][0]["sum"]
    assert total.dtype == F64
    assert total == pytest.approx(25)


def test_each_parameter_has_its_own_decay() -> None:
    early, late = Parameter(0.0), Parameter(0.0)
    optimizer = qml.Adagrad([early, late], lr=1.0, lr_decay=1.0)
    early.grad = Tensor(1.0)
    optimizer.step()
    before = early.item()
    late.grad = Tensor(1.0)
    optimizer.step()
    assert late.item() == pytest.approx(-1.0)
    assert early.item() - before == pytest.approx(-0.5 / np.sqrt(2))


@pytest.mark.parametrize("name", ["lr_decay", "weight_decay", "initial_accumulator_value", "eps"])
def test_bad_settings_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"Adagrad: {name} needs .* at least 0, got -1"):
        qml.Adagrad([Parameter(1.0)], **{name: -1.0})
