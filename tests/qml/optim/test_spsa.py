from __future__ import annotations

import numpy as np
import pytest

import qml
from autodiff import Parameter, Tensor
from qml.errors import SettingError, StateDictError
from qml.optim.base import StepCounts

MATRIX = np.array([[2.0, 0.5], [0.5, 1.0]])
START = np.array([1.0, -2.0])
CASES = [
    {"seed": 3},
    {"lr": 0.5, "seed": 4, "perturbation": 0.3, "alpha": 1.0, "gamma": 1 / 6, "stability": 10.0},
]


def documented(
    seed: int,
    lr: float = 0.2,
    perturbation: float = 0.1,
    alpha: float = 0.602,
    gamma: float = 0.101,
    stability: float = 0.0,
) -> list[np.ndarray]:
    """Spall (1998), section III, steps 1 to 5, with the signs of NumPy's generator."""
    generator, theta, seen = np.random.default_rng(seed), START.copy(), []
    for k in range(20):
        ak, ck = lr / (k + 1 + stability) ** alpha, perturbation / (k + 1) ** gamma
        delta = np.where(generator.integers(0, 2, 2) == 1, 1.0, -1.0)
        plus, minus = theta + ck * delta, theta - ck * delta
        y = 0.5 * plus @ MATRIX @ plus - 0.5 * minus @ MATRIX @ minus
        theta = theta - ak * y / (2 * ck * delta)
        seen.append(theta)
    return seen


@pytest.mark.parametrize("settings", CASES)
def test_twenty_steps_agree_with_the_documented_formula(settings: dict) -> None:
    x, y = Parameter(START[0]), Parameter([START[1]])
    optimizer = qml.SPSA([x, y], **settings)

    def loss() -> Tensor:
        theta = qml.parameters_to_vector([x, y])
        return 0.5 * theta @ Tensor(MATRIX) @ theta

    for wanted in documented(**settings):
        optimizer.step(loss)
        np.testing.assert_allclose([x.item(), y.item()], wanted, rtol=0, atol=1e-12)


def test_closure_is_called_twice_and_no_gradient_is_needed() -> None:
    p, calls = Parameter([1.0, 2.0]), []

    def loss() -> Tensor:
        calls.append(p.numpy())
        return (p * p).sum()

    with qml.no_grad():
        counts = qml.SPSA([p], seed=0, perturbation=0.25).step(loss)
    assert counts == StepCounts(1, 0, 0)
    assert p.grad is None
    assert len(calls) == 2
    np.testing.assert_allclose(np.mean(calls, axis=0), [1.0, 2.0])
    np.testing.assert_allclose(np.abs(calls[0] - calls[1]), 0.5)
    assert counts.loss.item() == pytest.approx(np.mean([(c**2).sum() for c in calls]))


def test_loss_from_shots_is_minimised() -> None:
    theta = Parameter([0.3, -0.4])
    circuit = qml.Circuit(2).ry(theta[0], 0).ry(theta[1], 1)
    optimizer = qml.SPSA([theta], lr=0.5, seed=5)
    generator = np.random.default_rng(6)
    observable = qml.PauliSum({"IZ": 1.0, "ZI": 1.0})
    for _ in range(60):
        optimizer.step(
            lambda: circuit.expectation(observable, shots=100, seed=generator, engine="reference")
        )
    assert circuit.expectation(observable, engine="reference").item() < -1.8


def test_equal_seeds_give_equal_steps_and_others_do_not() -> None:
    reached = []
    for seed in (1, 1, 2):
        p = Parameter(np.linspace(0.0, 1.0, 8))
        optimizer = qml.SPSA([p], seed=seed)
        optimizer.step(lambda p=p: (p * p).sum())
        reached.append(p.tolist())
    assert reached[0] == reached[1] != reached[2]


@pytest.mark.parametrize("failing", [1, 2])
def test_step_whose_closure_raises_changes_nothing(failing: int) -> None:
    p, calls = Parameter([1.0, 2.0]), []
    optimizer = qml.SPSA([p], seed=0)
    before = repr(optimizer.state_dict())

    def loss() -> Tensor:
        calls.append(1)
        if len(calls) == failing:
            raise ZeroDivisionError
        return (p * p).sum()

    with pytest.raises(ZeroDivisionError):
        optimizer.step(loss)
    assert p.tolist() == [1.0, 2.0]
    assert repr(optimizer.state_dict()) == before


def test_seed_is_needed() -> None:
    with pytest.raises(TypeError, match="seed"):
        qml.SPSA([Parameter(1.0)])


BAD = [
    ({"seed": None}, "SPSA: seed needs an integer of at least 0, got None"),
    ({"seed": -1}, "SPSA: seed needs"),
    ({"perturbation": 0.0}, "SPSA: perturbation needs a number above 0, got 0"),
    ({"alpha": -1.0}, "SPSA: alpha needs"),
    ({"gamma": -1.0}, "SPSA: gamma needs"),
    ({"stability": -1.0}, "SPSA: stability needs"),
]


@pytest.mark.parametrize(("settings", "match"), BAD)
def test_bad_settings_are_refused(settings: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.SPSA([Parameter(1.0)], **({"seed": 0} | settings))


def test_missing_closure_is_refused() -> None:
    with pytest.raises(SettingError, match="SPSA needs a closure"):
        qml.SPSA([Parameter(1.0)], seed=0).step()


@pytest.mark.parametrize("generator", [{}, {"bit_generator": "MT19937"}, 3, {"state": 1}])
def test_state_of_another_generator_is_refused(generator: object) -> None:
    optimizer = qml.SPSA([Parameter(1.0)], seed=0)
    state = optimizer.state_dict()
    before = repr(state)
    with pytest.raises(StateDictError, match=r"SPSA: the state\['generator'\]"):
        optimizer.load_state_dict(state | {"state": {"steps": 1, "generator": generator}})
    assert repr(optimizer.state_dict()) == before
