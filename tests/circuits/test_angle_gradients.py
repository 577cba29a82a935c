from __future__ import annotations

import copy
from math import cos, sin

import numpy as np
import pytest

from autodiff import GradientError, Parameter, Tensor, no_grad
from circuits import Circuit, Input, X, Z

engines = pytest.mark.parametrize("engine", ["reference", "numba"])


@engines
def test_occurrences_of_a_shared_parameter_have_gradients_of_their_own(engine: str) -> None:
    t, u = Parameter(0.3, name="t"), Parameter(0.4, name="u")
    circuit = Circuit(2).rx(t, 0).ry(u, 1).rx(3 * t, 0).u(t, 0.1, t * u, 1).retain_angle_grads()
    circuit.expectation(Z(0) + X(1), engine=engine).backward()
    found = circuit.angle_grads()
    assert [(g.position, g.gate, g.slot) for g in found] == [
        (0, "rx", 0),
        (1, "ry", 0),
        (2, "rx", 0),
        (3, "u", 0),
        (3, "u", 2),
    ]
    terms = [g.gradient.item() for g in found]
    assert terms[0] == pytest.approx(-sin(1.2))
    assert terms[2] == pytest.approx(-sin(1.2))
    chained = terms[0] + 3 * terms[2] + terms[3] + u.item() * terms[4]
    assert t.grad.item() == pytest.approx(chained)
    assert u.grad.item() == pytest.approx(terms[1] + t.item() * terms[4])


@engines
def test_batch_axis_is_kept(engine: str) -> None:
    x, w = Input("x", 1), Parameter(0.5, name="w")
    circuit = Circuit(1).rx(x[0] * w, 0).rx(w, 0).retain_angle_grads()
    features = np.array([[0.1], [0.7], [-0.4]])
    circuit.expectation(Z(0), inputs={"x": features}, engine=engine).sum().backward()
    slopes = -np.sin(0.5 * features[:, 0] + 0.5)
    for entry in circuit.angle_grads():
        assert entry.gradient.shape == (3,)
        np.testing.assert_allclose(entry.gradient.numpy(), slopes, rtol=0, atol=1e-12)
    assert w.grad.item() == pytest.approx((slopes * (features[:, 0] + 1)).sum())


def test_passes_add_up_until_the_next_run() -> None:
    t = Parameter(0.3)
    circuit = Circuit(1).rx(t, 0).retain_angle_grads()
    value = circuit.expectation(Z(0), engine="reference")
    value.backward(retain_graph=True)
    value.backward()
    assert circuit.angle_grads()[0].gradient.item() == pytest.approx(-2 * sin(0.3))
    with no_grad():
        circuit.expectation(X(0), engine="reference")
    assert circuit.angle_grads()[0].gradient.item() == pytest.approx(-2 * sin(0.3))
    circuit.expectation(Z(0), engine="reference").backward()
    assert circuit.angle_grads()[0].gradient.item() == pytest.approx(-sin(0.3))


def test_elements_of_one_vector_are_not_mistaken_for_its_gradient() -> None:
    w = Parameter([0.3, 0.4], name="w")
    circuit = Circuit(1).rx(w[0], 0).rx(w[1], 0).retain_angle_grads()
    for _ in range(2):
        circuit.expectation(Z(0), engine="reference").backward()
    assert [g.gradient.item() for g in circuit.angle_grads()] == pytest.approx([-sin(0.7)] * 2)
    assert w.grad.tolist() == pytest.approx([-2 * sin(0.7)] * 2)
    w.zero_grad()
    assert len(circuit.angle_grads()) == 2


def test_gates_that_were_appended_since_do_not_confuse_the_places() -> None:
    t = Parameter(0.3)
    circuit = Circuit(1).rx(t, 0).retain_angle_grads()
    circuit.expectation(Z(0), engine="reference").backward()
    circuit.ry(t, 0)
    assert [g.gate for g in circuit.angle_grads()] == ["rx"]


@engines
def test_what_needs_no_gradient_is_left_out_and_what_is_frozen_is_not(engine: str) -> None:
    t, frozen, still = Parameter(0.3), Parameter(0.4).freeze(), Parameter(0.5)
    still.requires_grad_(False)
    circuit = Circuit(1).rx(t, 0).rx(frozen, 0).rx(still, 0).rx(still + t, 0).retain_angle_grads()
    circuit.expectation(Z(0), engine=engine).backward()
    found = circuit.angle_grads()
    assert [g.position for g in found] == [0, 1, 3]
    assert [g.gradient.item() for g in found] == pytest.approx([-sin(0.3 + 0.4 + 0.5 + 0.8)] * 3)


def test_gradient_lives_where_the_parameters_do() -> None:
    t = Parameter(Tensor(0.3, device="emulated"))
    circuit = Circuit(1).rx(t, 0).retain_angle_grads()
    circuit.expectation(Z(0)).backward()
    (entry,) = circuit.angle_grads()
    assert entry.gradient.device == "emulated"
    assert entry.gradient.item() == pytest.approx(-sin(0.3))


def test_values_given_for_the_run_count() -> None:
    circuit = Circuit(1).rx(Parameter(0.3), 0).retain_angle_grads()
    values = Tensor([[0.1], [0.2]], requires_grad=True)
    circuit.expectation(Z(0), values=values, engine="reference").sum().backward()
    (entry,) = circuit.angle_grads()
    assert entry.gradient.tolist() == pytest.approx([-sin(0.1), -sin(0.2)])


def test_any_loss_of_the_state_has_them() -> None:
    t = Parameter(0.3)
    circuit = Circuit(1).rx(t, 0).retain_angle_grads()
    circuit.probabilities(engine="reference")[1].backward()
    assert circuit.angle_grads()[0].gradient.item() == pytest.approx(sin(0.3) / 2)
    assert cos(0.3) == pytest.approx(1 - 2 * circuit.probabilities(engine="reference")[1].item())


def test_asking_too_early_says_what_to_do() -> None:
    circuit = Circuit(1).rx(Parameter(0.3), 0)
    circuit.expectation(Z(0), engine="reference").backward()
    with pytest.raises(GradientError, match=r"got no recorded run\. Call qc.retain"):
        circuit.angle_grads()
    circuit.retain_angle_grads().expectation(Z(0), engine="reference")
    with pytest.raises(GradientError, match="got a run without a backward pass"):
        circuit.angle_grads()


def test_it_can_be_stopped_and_copies_start_without() -> None:
    circuit = Circuit(1).rx(Parameter(0.3), 0).retain_angle_grads()
    circuit.expectation(Z(0), engine="reference").backward()
    for other in (circuit.copy(), circuit.deep_clone(), copy.copy(circuit), circuit.inverse()):
        with pytest.raises(GradientError, match="no recorded run"):
            other.angle_grads()
    circuit.retain_angle_grads(False).expectation(Z(0), engine="reference").backward()
    with pytest.raises(GradientError, match="no recorded run"):
        circuit.angle_grads()
