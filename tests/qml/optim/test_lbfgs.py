from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import qml
from autodiff import Parameter, Tensor
from qml.errors import SettingError, StateDictError
from qml.optim.base import StepCounts
from qml.optim.line_search import DECREASE, FLATNESS

START = np.array([-1.2, 1.0, 0.3])


def f(x: np.ndarray) -> float:
    return (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2 + np.cosh(x[2])


def gradient(x: np.ndarray) -> np.ndarray:
    inner = x[1] - x[0] ** 2
    return np.array([-2 * (1 - x[0]) - 40 * x[0] * inner, 20 * inner, np.sinh(x[2])])


def direction(g: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """-H g by the matrices of Nocedal and Wright, equations 7.16, 7.17 and 7.20."""
    H = np.eye(len(g))
    if pairs:
        s, y = pairs[-1]
        H *= (s @ y) / (y @ y)
    for s, y in pairs:
        rho = 1 / (y @ s)
        V = np.eye(len(g)) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    return -H @ g


def documented(lr: float, history_size: int, steps: int = 20) -> list[np.ndarray]:
    """L-BFGS without line search, with the first step of torch.optim.LBFGS."""
    x, seen, pairs = START.copy(), [], []
    for k in range(steps):
        g = gradient(x)
        d = direction(g, pairs[-history_size:])
        t = lr * min(1.0, 1.0 / np.abs(g).sum()) if k == 0 else lr
        pairs.append((t * d, gradient(x + t * d) - g))
        x = x + t * d
        seen.append(x)
    return seen


def problem() -> tuple[list[Parameter], Callable[[qml.LBFGS], Callable[[], Tensor]]]:
    x, y = Parameter(START[:2]), Parameter(START[2])

    def closure_of(optimizer: qml.LBFGS) -> Callable[[], Tensor]:
        def closure() -> Tensor:
            optimizer.zero_grad()
            valley = (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2
            loss = valley + (y.exp() + (-y).exp()) / 2
            loss.backward()
            return loss

        return closure

    return [x, y], closure_of


def position(parameters: list[Parameter]) -> np.ndarray:
    return np.append(*[p.numpy() for p in parameters])


@pytest.mark.parametrize("history_size", [3, 100])
@pytest.mark.parametrize("lr", [0.1, 0.3])
def test_twenty_steps_agree_with_the_documented_formula(lr: float, history_size: int) -> None:
    parameters, closure_of = problem()
    optimizer = qml.LBFGS(parameters, lr=lr, max_iter=1, history_size=history_size)
    for wanted in documented(lr, history_size):
        optimizer.step(closure_of(optimizer))
        np.testing.assert_allclose(position(parameters), wanted, rtol=0, atol=1e-12)


def test_one_step_of_twenty_iterations_is_twenty_steps_of_one() -> None:
    parameters, closure_of = problem()
    optimizer = qml.LBFGS(parameters, lr=0.3, max_iter=20, max_eval=100)
    optimizer.step(closure_of(optimizer))
    wanted = documented(0.3, 100)[-1]
    np.testing.assert_allclose(position(parameters), wanted, rtol=0, atol=1e-12)
    state = optimizer.state_dict()["state"]
    # The loss after the last iteration is nobody's business.
    assert (state["iterations"], state["evaluations"]) == (20, 20)


def test_line_search_goes_along_the_formulas_direction_by_a_strong_wolfe_step() -> None:
    parameters, closure_of = problem()
    optimizer = qml.LBFGS(parameters, max_iter=1, line_search_fn="strong_wolfe")
    x, pairs = START, []
    for _ in range(12):
        optimizer.step(closure_of(optimizer))
        now, g = position(parameters), gradient(x)
        d = direction(g, pairs)
        t = (now - x) @ d / (d @ d)
        np.testing.assert_allclose(now - x, t * d, rtol=0, atol=1e-11)
        assert f(now) <= f(x) + DECREASE * t * (g @ d)
        assert abs(gradient(now) @ d) <= FLATNESS * abs(g @ d)
        pairs.append((now - x, gradient(now) - g))
        x = now
    assert f(x) < 1.3 < f(START)


def test_minimum_is_found_to_the_tolerance_in_one_step() -> None:
    parameters, closure_of = problem()
    settings = {"max_iter": 100, "tolerance_change": 0.0, "line_search_fn": "strong_wolfe"}
    optimizer = qml.LBFGS(parameters, **settings)
    assert optimizer.step(closure_of(optimizer)).updated == 2
    assert np.abs(gradient(position(parameters))).max() <= 1e-7
    np.testing.assert_allclose(position(parameters), [1, 1, 0], rtol=0, atol=1e-7)
    reached = position(parameters)
    assert optimizer.step(closure_of(optimizer)) == StepCounts(0, 0, 0)
    np.testing.assert_array_equal(position(parameters), reached)


def test_defaults_are_those_of_pytorch() -> None:
    assert qml.LBFGS([Parameter(0.0)]).state_dict()["settings"] == {
        "lr": 1.0,
        "max_iter": 20,
        "max_eval": None,
        "tolerance_grad": 1e-7,
        "tolerance_change": 1e-9,
        "history_size": 100,
        "line_search_fn": None,
    }


ENDS = [
    ({"max_eval": 4}, 4),
    ({"max_iter": 3}, 3),  # 3 iterations, and no evaluation after the last
    ({"max_iter": 8}, 8),
    ({"tolerance_change": 1e9}, 1),  # no slope is below -1e9
    ({"tolerance_grad": 1e9}, 1),
]


@pytest.mark.parametrize(("settings", "evaluations"), ENDS)
def test_step_ends_where_its_settings_say(settings: dict, evaluations: int) -> None:
    parameters, closure_of = problem()
    optimizer = qml.LBFGS(parameters, lr=0.1, **settings)
    closure, calls = closure_of(optimizer), []

    def counted() -> Tensor:
        calls.append(1)
        return closure()

    optimizer.step(counted)
    assert len(calls) == evaluations


@pytest.mark.parametrize("line_search_fn", [None, "strong_wolfe"])
@pytest.mark.parametrize("failing", [1, 2, 5])
def test_step_whose_closure_raises_changes_nothing(
    line_search_fn: str | None, failing: int
) -> None:
    parameters, closure_of = problem()
    optimizer = qml.LBFGS(parameters, lr=0.01, max_iter=8, line_search_fn=line_search_fn)
    closure, calls = closure_of(optimizer), []
    optimizer.step(closure)
    before, state = position(parameters), repr(optimizer.state_dict())

    def broken() -> Tensor:
        calls.append(1)
        if len(calls) == failing:
            raise ZeroDivisionError
        return closure()

    with pytest.raises(ZeroDivisionError):
        optimizer.step(broken)
    np.testing.assert_array_equal(position(parameters), before)
    assert repr(optimizer.state_dict()) == state


def test_memory_starts_anew_when_a_parameter_is_frozen_or_unfrozen() -> None:
    parameters, closure_of = problem()
    optimizer = qml.LBFGS(parameters, lr=0.1, max_iter=4)
    closure = closure_of(optimizer)
    optimizer.step(closure)
    for change in (parameters[1].freeze, parameters[1].unfreeze):
        change()
        fresh_start = position(parameters)
        optimizer.step(closure)
        reached = position(parameters)
        for p, value in zip(parameters, (fresh_start[:2], fresh_start[2]), strict=True):
            p.set_(value)
        qml.LBFGS(parameters, lr=0.1, max_iter=4).step(closure)
        np.testing.assert_array_equal(position(parameters), reached)


def test_parameter_without_gradient_stays_and_is_counted() -> None:
    p, idle = Parameter(3.0), Parameter(1.0)
    optimizer = qml.LBFGS([p, idle])

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = p**2
        loss.backward()
        return loss

    assert optimizer.step(closure) == StepCounts(updated=1, skipped_frozen=0, skipped_no_grad=1)
    assert idle.item() == 1.0


def test_complex_parameter_counts_as_two_numbers() -> None:
    z = Parameter(0.5 - 0.5j)
    xy = Parameter([0.5, -0.5])
    made = qml.LBFGS([z], lr=0.3), qml.LBFGS([xy], lr=0.3)

    def closure(k: int) -> Callable[[], Tensor]:
        def evaluate() -> Tensor:
            made[k].zero_grad()
            x, y = (z.real, z.imag) if k == 0 else (xy[0], xy[1])
            loss = (x - 1) ** 2 + 5 * (y - 2 * x) ** 2 + x**4
            loss.backward()
            return loss

        return evaluate

    for k in (0, 1):
        made[k].step(closure(k))
    np.testing.assert_array_equal([z.real.item(), z.imag.item()], xy.numpy())


def test_closure_is_recorded_in_a_no_grad_block() -> None:
    parameters, closure_of = problem()
    optimizer = qml.LBFGS(parameters)
    with qml.no_grad():
        assert optimizer.step(closure_of(optimizer)).updated == 2


BAD = [
    ({"max_iter": 0}, "LBFGS: max_iter needs an integer of at least 1, got 0"),
    ({"max_eval": 0}, "LBFGS: max_eval needs an integer of at least 1"),
    ({"tolerance_grad": -1.0}, "LBFGS: tolerance_grad needs"),
    ({"tolerance_change": -1.0}, "LBFGS: tolerance_change needs"),
    ({"history_size": 1.5}, "LBFGS: history_size needs an integer"),
    ({"line_search_fn": "wolfe"}, "line_search_fn needs one of None, 'strong_wolfe', got 'wolfe'"),
]


@pytest.mark.parametrize(("settings", "match"), BAD)
def test_bad_settings_are_refused(settings: dict, match: str) -> None:
    with pytest.raises(SettingError, match=match):
        qml.LBFGS([Parameter(1.0)], **settings)


def test_missing_closure_is_refused() -> None:
    with pytest.raises(SettingError, match=r"LBFGS needs a closure .* Write step\(closure\)"):
        qml.LBFGS([Parameter(1.0)]).step()


FOREIGN = [
    ({"members": [0, 7]}, r"got members \[0, 7\]"),
    ({"members": [0]}, r"'moves'\]\[0\] needs an array of shape \(2,\) .*, got shape \(3,\)"),
    ({"moves": []}, r"'changes'\] needs a list of 0"),
    ({"move": np.zeros(2)}, r"'move'\] needs an array of shape \(3,\) .*, got shape \(2,\)"),
]


@pytest.mark.parametrize(("changes", "match"), FOREIGN)
def test_state_of_other_parameters_is_refused(changes: dict, match: str) -> None:
    parameters, closure_of = problem()
    optimizer = qml.LBFGS(parameters, max_iter=4)
    optimizer.step(closure_of(optimizer))
    state = optimizer.state_dict()
    before = repr(state)
    with pytest.raises(StateDictError, match=match):
        optimizer.load_state_dict(state | {"state": state["state"] | changes})
    assert repr(optimizer.state_dict()) == before
