from __future__ import annotations

import numpy as np
import pytest

import qml
from autodiff import Parameter
from qml.errors import SettingError

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
START = np.array([1.0, -2.0])

CASES = [
    {"lr": 0.1},
    {"lr": 0.1, "weight_decay": 0.05},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01},
    {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.01},
]


def documented(
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> list[np.ndarray]:
    """The algorithm of PyTorch's documentation of torch.optim.SGD, line by line, for 20 steps."""
    theta, buffer, seen = START.copy(), None, []
    for _ in range(20):
        g = MATRIX @ theta
        if weight_decay != 0:
            g = g + weight_decay * theta
        if momentum != 0:
            buffer = g if buffer is None else momentum * buffer + (1 - dampening) * g
            g = g + momentum * buffer if nesterov else buffer
        theta = theta - lr * g
        seen.append(theta)
    return seen


@pytest.mark.parametrize("settings", CASES)
def test_twenty_steps_agree_with_the_documented_formula(settings: dict) -> None:
    x, y = Parameter(START[0]), Parameter([START[1]])
    optimizer = qml.SGD([x, y], **settings)
    for wanted in documented(**settings):
        optimizer.zero_grad()
        theta = qml.parameters_to_vector([x, y])
        (0.5 * theta @ qml.Tensor(MATRIX) @ theta).backward()
        optimizer.step()
        np.testing.assert_allclose([x.item(), y.item()], wanted, rtol=0, atol=1e-12)


def test_defaults_are_those_of_pytorch() -> None:
    assert qml.SGD([Parameter(0.0)]).state_dict()["settings"] == {
        "lr": 1e-3,
        "momentum": 0.0,
        "dampening": 0.0,
        "weight_decay": 0.0,
        "nesterov": False,
    }


@pytest.mark.parametrize(
    ("named", "settings"),
    [
        (qml.Momentum, {"momentum": 0.9}),
        (qml.Nesterov, {"momentum": 0.9, "nesterov": True}),
    ],
)
def test_named_methods_are_sgd_with_settings(named: type, settings: dict) -> None:
    sgd = {**qml.SGD([Parameter(0.0)], **settings).state_dict(), "optimizer": named.__name__}
    assert named([Parameter(0.0)]).state_dict() == sgd
    found = []
    for make in (named, lambda p, **rest: qml.SGD(p, **settings, **rest)):
        p = Parameter(START)
        optimizer = make([p], lr=0.05, weight_decay=0.01)
        for _ in range(20):
            optimizer.zero_grad()
            (0.5 * p @ qml.Tensor(MATRIX) @ p).backward()
            optimizer.step()
        found.append(p.tolist())
    assert found[0] == found[1]


def test_nesterov_needs_momentum() -> None:
    with pytest.raises(SettingError, match="Nesterov: nesterov needs momentum above 0"):
        qml.Nesterov([Parameter(1.0)], momentum=0.0)


def test_complex_step_goes_downhill() -> None:
    z = Parameter(3 + 4j)
    loss = z.real**2 + z.imag**2
    loss.backward()
    assert z.grad.item() == pytest.approx(6 + 8j)
    qml.SGD([z], lr=0.1).step()
    assert z.item() == pytest.approx(2.4 + 3.2j)
    assert (z.real**2 + z.imag**2).item() == pytest.approx(16.0)


def test_integer_weights_are_refused_and_float_ones_move() -> None:
    with pytest.raises(qml.ParameterError, match="int64"):
        Parameter([0])
    w = Parameter([0.0])
    circuit = qml.Circuit(1).h(0).ry(w[0], 0)
    circuit.expectation(qml.Z(0)).backward()
    assert w.grad.tolist() == pytest.approx([-1.0])
    qml.SGD([w], lr=0.1).step()
    assert w.tolist() == pytest.approx([0.1])


def test_two_steps_with_a_frozen_parameter_between() -> None:
    x, frozen, y = Parameter(1.0), Parameter(7.0).freeze(), Parameter(2.0)
    optimizer = qml.SGD([x, frozen, y], lr=0.1)
    for wanted in ((0.8, 3.2), (0.64, 5.12)):
        optimizer.zero_grad()
        (x**2 - 3 * y**2 + frozen).backward()
        optimizer.step()
        assert (x.item(), y.item()) == pytest.approx(wanted)
    assert frozen.item() == 7.0


BAD = [
    ({"lr": -0.1}, "SGD: lr needs a finite number of at least 0, got -0.1"),
    ({"lr": "fast"}, "SGD: lr needs a finite number"),
    ({"momentum": 1.0}, "SGD: momentum needs .* below 1, got 1.0"),
    ({"momentum": -0.1}, "SGD: momentum needs"),
    ({"dampening": 1.0}, "SGD: dampening needs"),
    ({"weight_decay": -1.0}, "SGD: weight_decay needs"),
    ({"nesterov": 1}, "SGD: nesterov needs True or False"),
    ({"nesterov": True}, "nesterov needs momentum above 0 and dampening 0"),
    ({"nesterov": True, "momentum": 0.9, "dampening": 0.1}, "nesterov needs momentum above 0"),
]


@pytest.mark.parametrize(("settings", "match"), BAD)
def test_bad_settings_are_refused(settings: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.SGD([Parameter(1.0)], **settings)
