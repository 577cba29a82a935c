"""A circuit's ops in the recorded history: versions, retained graphs, second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from differences import central

import autodiff as ad
from autodiff import GradientError, Parameter, Tensor, VersionError
from circuits import Circuit, Input, X, Z, expectation

ENGINES = ("reference", "numba")
every_engine = pytest.mark.parametrize("engine", ENGINES)


@every_engine
def test_frozen_parameter_receives_the_same_gradient(engine: str) -> None:
    a, b = Parameter(0.3), Parameter(0.4)
    circuit = Circuit(2).rx(a, 0).cry(b, 0, 1).rz(a * b, 1).rx(b, 1)
    found = []
    for frozen in (False, True):
        if frozen:
            a.freeze()
        a.zero_grad()
        b.zero_grad()
        circuit.expectation(Z(1) + X(0), engine=engine).backward()
        assert a.grad is not None
        assert b.grad is not None
        found.append((a.grad.item(), b.grad.item()))
    assert found[0] == found[1]


@every_engine
def test_parameter_that_requires_no_gradient_gets_none(engine: str) -> None:
    a, b = Parameter(0.3), Parameter(0.4)
    a.requires_grad_(False)
    Circuit(1).rx(a, 0).ry(b, 0).expectation(Z(0), engine=engine).backward()
    assert a.grad is None
    assert b.grad is not None
    assert b.grad.item() == pytest.approx(-np.cos(0.3) * np.sin(0.4))


@every_engine
@pytest.mark.parametrize("what", ["angle", "program", "matrix", "state", "coefficient"])
def test_change_between_forward_and_backward_is_refused(what: str, engine: str) -> None:
    a, b = Parameter(0.3, name="a"), Parameter(0.4, name="b")
    u, c = Parameter(np.eye(2) + 0j, name="u"), Parameter(0.5, name="c")
    start = Tensor([1.0 + 0j, 0], requires_grad=True, name="start")
    circuit = Circuit(1).rx(a, 0).ry(ad.sin(b) * b, 0).unitary(u, 0)
    e = circuit.expectation(c * Z(0), initial_state=start, engine=engine)
    changed = {"angle": a, "program": b, "matrix": u, "state": start, "coefficient": c}[what]
    changed.set_(changed.numpy() * 1.0)
    with pytest.raises(
        VersionError, match=rf"needs .*{changed.name!r}.* at version 0, got version 1"
    ):
        e.backward()
    assert [x.grad for x in (a, b, u, c, start)] == [None] * 5


@every_engine
def test_value_may_change_before_backward(engine: str) -> None:
    """The rule reads the final states, and not the value."""
    a = Parameter(0.3)
    value = Circuit(1).rx(a, 0).expectation(Z(0), engine=engine)
    value.set_(5.0)
    value.backward()
    assert a.grad is not None
    assert a.grad.item() == pytest.approx(-np.sin(0.3))


@every_engine
def test_retain_grad_on_the_way(engine: str) -> None:
    a = Parameter(0.3)
    given = 2 * a
    state = (
        Circuit(1)
        .rx(Input("x", 1)[0], 0)
        .statevector(inputs={"x": given.retain_grad().reshape(1)}, engine=engine)
    )
    state.retain_grad()
    e = expectation(state, Z(0), engine=engine)
    e.backward()
    assert state.grad is not None
    assert given.grad is not None
    assert given.grad.item() == pytest.approx(-np.sin(0.6))
    np.testing.assert_allclose(state.grad.numpy(), 2 * np.array([1, -1]) * state.numpy())


@every_engine
def test_retained_graph_can_be_used_twice(engine: str) -> None:
    a = Parameter(0.3)
    e = Circuit(1).rx(a, 0).expectation(Z(0), engine=engine)
    e.backward(retain_graph=True)
    e.backward()
    assert a.grad is not None
    assert a.grad.item() == pytest.approx(-2 * np.sin(0.3))
    with pytest.raises(GradientError, match="an earlier backward freed"):
        e.backward()


@every_engine
@pytest.mark.parametrize(
    "run",
    [
        lambda c, **o: c.expectation(Z(0), **o),
        lambda c, **o: c.probabilities(**o)[0],
        lambda c, **o: expectation(c.statevector(**o), Z(0), **o),
        lambda c, **o: c.variance(X(0), **o),
    ],
)
def test_second_derivative_is_refused_with_the_way(run: Any, engine: str) -> None:
    a = Parameter(0.3)
    e = run(Circuit(1).rx(a, 0), engine=engine)
    first = ad.grad(e, a, create_graph=True)
    assert isinstance(first, Tensor)
    with pytest.raises(GradientError, match=r"second derivative through a circuit.*\(f\(t \+ pi\)"):
        first.backward()
    assert a.grad is None


def test_the_way_that_the_message_names_is_right() -> None:
    circuit, t = Circuit(1).rx(Parameter(0.0), 0).h(0), 0.3

    def f(x: float) -> float:
        return circuit.expectation(X(0) + Z(0), values=[x], engine="reference").item()

    second = central(lambda x: central(lambda y: f(y.item()), x).item(), np.array(t))
    assert (f(t + np.pi) - f(t)) / 2 == pytest.approx(second.item(), abs=1e-9)


@pytest.mark.parametrize(
    "gradient", [np.ones(3), np.ones((2, 1)), np.ones(2, np.float32), np.ones(2, complex)]
)
def test_wrong_cotangents_are_refused(gradient: Any) -> None:
    a = Parameter(0.3)
    e = Circuit(1).rx(a, 0).expectation([Z(0), X(0)], engine="reference")
    with pytest.raises(GradientError, match=r"needs a gradient of shape \(2,\), dtype float64"):
        e.backward(Tensor(gradient))
    assert a.grad is None
    e.backward(Tensor(np.ones(2)))
    assert a.grad is not None


def test_nan_in_one_sample_stays_there() -> None:
    circuit = Circuit(2).rx(Input("x", 1)[0], 0).cx(0, 1)
    for engine in ENGINES:
        data = Tensor(np.array([[0.1], [np.nan], [0.3]]), requires_grad=True)
        e = circuit.expectation(Z(1), inputs={"x": data}, engine=engine)
        e.sum().backward()
        assert data.grad is not None
        np.testing.assert_array_equal(np.isnan(e.numpy()), [False, True, False])
        np.testing.assert_array_equal(np.isnan(data.grad.numpy()).ravel(), [False, True, False])
