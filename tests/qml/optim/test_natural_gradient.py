from __future__ import annotations

import numpy as np
import pytest
from optimizers import energy, step, values

import qml
from autodiff import Parameter, ParameterError
from circuits.engines.registry import ENGINES
from qml.errors import SettingError, StateDictError
from qml.optim.base import StepCounts

APPROXIMATIONS = ("full", "block-diagonal", "diagonal")


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_twenty_steps_agree_with_the_formula(approximation: str, engine: str) -> None:
    """(g + regularization 1) d = gradient; the metric has tests of its own."""
    problem = energy(engine=engine)
    a, w = problem.parameters
    optimizer = qml.QuantumNaturalGradient(
        [a, w], problem.circuit, 0.1, approximation, 0.02, engine=engine
    )
    (copy,) = [energy(engine="reference")]
    theta = np.array([0.3, 1.9, 0.4])
    for _ in range(20):
        copy.parameters[0].set_(theta[0])
        copy.parameters[1].set_(theta[1:])
        for p in copy.parameters:
            p.zero_grad()
        copy.loss().backward()
        gradient = np.append(copy.parameters[0].grad.numpy(), copy.parameters[1].grad.numpy())
        g = qml.metric_tensor(copy.circuit, approximation, engine="reference")
        # The circuit has w first, the optimizer a.
        order = [2, 0, 1]
        g = g[np.ix_(order, order)]
        theta = theta - 0.1 * np.linalg.inv(g + 0.02 * np.eye(3)) @ gradient
        step(optimizer, problem)
        np.testing.assert_allclose(np.append(a.item(), w.numpy()), theta, rtol=0, atol=1e-12)


def test_step_is_the_same_in_other_coordinates() -> None:
    """What the natural gradient is for: a rescaled angle changes nothing, to first order in lr."""
    moved = []
    for scale in (1.0, 5.0):
        p = Parameter(0.3 / scale)
        circuit = qml.Circuit(1).ry(scale * p, 0)
        circuit.expectation(qml.Z(0)).backward()
        qml.QuantumNaturalGradient([p], circuit, lr=0.1, regularization=1e-12).step()
        moved.append(scale * p.item())
    assert moved[0] == pytest.approx(moved[1], abs=1e-9)
    # gradient sin(0.3) downhill, metric 1/4
    assert moved[0] == pytest.approx(0.3 + 0.4 * np.sin(0.3), abs=1e-9)


def test_singular_metric_is_regularised() -> None:
    """Two angles of one axis do the same, and the phase of a basis state nothing."""
    a, b, c = Parameter(0.4), Parameter(0.2), Parameter(0.1)
    circuit = qml.Circuit(1).rz(c, 0).ry(a, 0).ry(b, 0)
    circuit.expectation(qml.Z(0)).backward()
    qml.QuantumNaturalGradient([a, b, c], circuit, lr=0.1, regularization=1e-9).step()
    assert a.item() - 0.4 == pytest.approx(b.item() - 0.2)
    assert a.item() + b.item() == pytest.approx(0.6 + 0.4 * np.sin(0.6), abs=1e-6)
    assert c.item() == pytest.approx(0.1)


def test_metric_is_that_of_the_moving_parameters() -> None:
    """A frozen one is a constant, not a direction to be uncorrelated from."""
    problem, alone = energy(), energy()
    problem.parameters[0].freeze()
    counts = step(qml.QuantumNaturalGradient(problem.parameters, problem.circuit, lr=0.1), problem)
    assert counts == StepCounts(updated=1, skipped_frozen=1, skipped_no_grad=0)
    (a, w) = alone.parameters
    step(qml.QuantumNaturalGradient([w], alone.circuit, lr=0.1), alone)
    np.testing.assert_array_equal(values(problem)[1], w.numpy())
    assert a.item() == 0.3


def test_inputs_are_the_metrics_sample() -> None:
    p, x = Parameter(0.3), qml.Input("x", 1)
    circuit = qml.Circuit(1).ry(x[0], 0).rz(p, 0).ry(0.5, 0)
    circuit.expectation(qml.Z(0), inputs={"x": [0.8]}).backward()
    gradient = p.grad.item()
    inputs = {"x": [0.8]}
    qml.QuantumNaturalGradient([p], circuit, 0.1, "full", 1e-9, inputs=inputs).step()
    assert 0.3 - p.item() == pytest.approx(0.1 * gradient / (np.sin(0.8) ** 2 / 4), rel=1e-6)


def test_parameter_without_gradient_is_skipped() -> None:
    problem = energy()
    optimizer = qml.QuantumNaturalGradient(problem.parameters, problem.circuit)
    assert optimizer.step() == StepCounts(updated=0, skipped_frozen=0, skipped_no_grad=2)


BAD = [
    ({"approximation": "half"}, "QuantumNaturalGradient: approximation needs one of 'full'"),
    ({"regularization": 0.0}, "QuantumNaturalGradient: regularization needs a number above 0"),
]


@pytest.mark.parametrize(("settings", "match"), BAD)
def test_bad_settings_are_refused(settings: dict, match: str) -> None:
    problem = energy()
    with pytest.raises(SettingError, match=match):
        qml.QuantumNaturalGradient(problem.parameters, problem.circuit, **settings)


def test_foreign_parameters_circuits_and_states_are_refused() -> None:
    problem = energy()
    with pytest.raises(SettingError, match="QuantumNaturalGradient needs a Circuit, got list"):
        qml.QuantumNaturalGradient(problem.parameters, [])
    with pytest.raises(ParameterError, match=r"Parameters of its circuit, got .*'bias'"):
        qml.QuantumNaturalGradient([Parameter(1.0, name="bias")], problem.circuit)
    optimizer = qml.QuantumNaturalGradient(problem.parameters, problem.circuit)
    state = optimizer.state_dict()
    with pytest.raises(StateDictError, match="QuantumNaturalGradient needs an empty state"):
        optimizer.load_state_dict(state | {"state": [1]})
