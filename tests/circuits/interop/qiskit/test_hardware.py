"""Circuits through any EstimatorV2: exact where it is, within its errors where it is not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from qiskit import generate_preset_pass_manager
from qiskit.primitives import BackendEstimatorV2, StatevectorEstimator
from qiskit.providers.fake_provider import GenericBackendV2

import autodiff as ad
from autodiff import GradientError, Parameter
from circuits import BindingError, Circuit, Hermitian, Input, PauliSum, Projector, X, Z
from circuits.interop.qiskit import HardwareRunner, KetgradEstimator
from qml import SGD, QuantumLayer, mse_loss

OBSERVABLES = [
    Z(0) @ X(1),
    PauliSum({"XYZ": 0.4, "ZII": 1.0}),
    Projector("01", (0, 2)),
    Hermitian(np.array([[1.0, 0.5j], [-0.5j, -1.0]]), [1]),
]
FEATURES = np.random.default_rng(0).normal(size=(4, 2))


def circuit_of_everything() -> Circuit:
    """Shared parameters, products, functions, several frequencies, and a phase nothing sees."""
    a, b, w = Parameter(0.3, name="a"), Parameter(0.8, name="b"), Parameter([0.1, 0.2, 0.3])
    x = Input("x", 2)
    circuit = Circuit(3).h(0).rx(2 * a + b, 0).crx(a * b, 0, 1).u(w[0], w[1], ad.sin(w[2]), 2)
    circuit.xx_plus_yy(a, b * w[0], 1, 2).ry(x[0], 0).cp(x[1] * w[1], 0, 2).rzz(a, 1, 2)
    circuit.append("pauli_rotation", [0, 1, 2], a, payload="XYZ").rz(0.3, 0).global_phase(a)
    return circuit.measure_all()


def _with_values(run: Callable[..., ad.Tensor], values: ad.Tensor) -> ad.Tensor:
    return run(values=values)


@pytest.mark.parametrize("estimator", [KetgradEstimator, StatevectorEstimator])
def test_exact_estimator_gives_our_values_and_gradients(estimator: Any) -> None:
    circuit, runner = circuit_of_everything(), HardwareRunner(estimator())
    weights = np.random.default_rng(1).normal(size=(4, 4))
    inputs = {"x": FEATURES}
    direct = circuit.expectation(OBSERVABLES, inputs=inputs)
    found = runner.expectation(circuit, OBSERVABLES, inputs=inputs)
    assert np.abs(found.numpy() - direct.numpy()).max() < 1e-13
    gradients = [ad.grad((f * weights).sum(), circuit.parameters()) for f in (found, direct)]
    for ours, exact in zip(*gradients, strict=True):
        assert np.abs(ours.numpy() - exact.numpy()).max() < 1e-12


def test_estimates_and_gradients_have_the_run_methods_shapes() -> None:
    circuit, runner = circuit_of_everything(), HardwareRunner(KetgradEstimator())
    for inputs, observable in (
        (FEATURES, OBSERVABLES),
        (FEATURES[0], OBSERVABLES),
        (FEATURES, OBSERVABLES[0]),
        (FEATURES[0], OBSERVABLES[0]),
    ):
        expected = circuit.expectation(observable, inputs={"x": inputs})
        found = runner.estimate(circuit, observable, inputs={"x": inputs})
        assert found.values.shape == found.standard_errors.shape == expected.shape
        assert np.abs(found.values - expected.numpy()).max() < 1e-13
    values = np.array([0.4, 0.5, 0.6, 0.7, 0.8])
    for observable in (OBSERVABLES, OBSERVABLES[1]):
        options: dict[str, Any] = {"inputs": {"x": FEATURES[0]}}
        found = runner.gradient(circuit, observable, values=values, **options)
        run = partial(circuit.expectation, observable, **options)
        exact = ad.jacobian(partial(_with_values, run), values)
        assert found.values.shape == found.standard_errors.shape == exact.shape
        assert np.abs(found.values - exact.numpy()).max() < 1e-12


def test_gradient_is_one_pub_with_the_shifts_that_are_needed() -> None:
    pubs: list[Any] = []

    class Counting(KetgradEstimator):
        def run(self, given: Any, **options: Any) -> Any:
            pubs.extend(given)
            return super().run(given, **options)

    x, t = Input("x", 1), Parameter(0.2)
    circuit = Circuit(2).ry(x[0], 0).rx(t, 0).crx(t, 0, 1)
    value = HardwareRunner(Counting()).expectation(circuit, Z(1), inputs={"x": [[0.1], [0.3]]})
    assert pubs.pop()[2].shape == (2, 1)
    value.sum().backward()
    (pub,) = pubs  # for two samples, 2 shifts of rx and 4 of crx; none of the feature
    assert pub[2].shape == (12, 1)


def test_circuit_is_compiled_once() -> None:
    calls = []

    class Passes:
        def run(self, qc: Any) -> Any:
            calls.append(qc)
            return qc

    circuit = Circuit(1).rx(Parameter(0.2), 0)
    runner = HardwareRunner(KetgradEstimator(), Passes())
    for _ in range(3):
        runner.expectation(circuit, Z(0)).backward()
    assert len(calls) == 1
    circuit.ry(0.1, 0)
    runner.estimate(circuit, Z(0))
    assert len(calls) == 2


def backend_runner(precision: float, noise: bool, layout: list[int]) -> HardwareRunner:
    backend = GenericBackendV2(5, seed=1, noise_info=noise)
    passes = generate_preset_pass_manager(
        optimization_level=1, backend=backend, seed_transpiler=1, initial_layout=layout
    )
    estimator = BackendEstimatorV2(backend=backend, options={"seed_simulator": 7})
    return HardwareRunner(estimator, passes, precision=precision)


@pytest.mark.filterwarnings("ignore:Qiskit backend .* has no QubitProperties:UserWarning")
def test_backend_gives_estimates_within_their_standard_errors() -> None:
    circuit, runner = circuit_of_everything(), backend_runner(0.02, False, [4, 2, 0])
    inputs = {"x": FEATURES[0]}
    exact = circuit.expectation(OBSERVABLES, inputs=inputs).numpy()
    found = runner.estimate(circuit, OBSERVABLES, inputs=inputs)
    assert (found.standard_errors > 0.001).all()
    assert (found.standard_errors < 0.04).all()
    assert (np.abs(found.values - exact) < 5 * found.standard_errors).all()
    circuit.expectation(OBSERVABLES[0], inputs=inputs).backward()
    slopes = np.concatenate([np.ravel(p.grad.numpy()) for p in circuit.parameters()])
    gradient = runner.gradient(circuit, OBSERVABLES[0], inputs=inputs)
    assert (gradient.standard_errors > 0.001).all()
    assert (np.abs(gradient.values - slopes) < 5 * gradient.standard_errors).all()


def test_standard_errors_are_the_spread_of_repeated_gradients() -> None:
    t = Parameter(0.4)
    circuit = Circuit(2).rx(2 * t, 0).crx(t * t, 0, 1)
    seed = np.random.default_rng(3)
    runner = HardwareRunner(KetgradEstimator(seed=seed), precision=0.05)
    found = [runner.gradient(circuit, Z(1)) for _ in range(400)]
    spread = np.std([g.values[0] for g in found])
    assert found[0].standard_errors[0] == pytest.approx(spread, rel=0.15)


def test_layer_trains_on_a_noisy_backend() -> None:
    x = Input("x", 1)
    w = Parameter(1.2, name="w")
    circuit = Circuit(1).ry(x[0], 0).ry(w, 0)
    layer = QuantumLayer(circuit, Z(0), runner=backend_runner(0.03, True, [3]))
    samples = np.linspace(0, 2, 6)[:, None]
    targets = np.cos(samples[:, 0] + 0.2)
    optimizer = SGD(layer.parameters(), lr=0.5)
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = mse_loss(layer(samples), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.05 * losses[0]
    assert w.item() == pytest.approx(0.2, abs=0.15)


def test_circuit_without_symbols_runs() -> None:
    runner = HardwareRunner(StatevectorEstimator())
    circuit = Circuit(1).x(0)
    assert runner.expectation(circuit, Z(0)).item() == pytest.approx(-1.0)
    assert runner.gradient(circuit, [Z(0)]).values.shape == (1, 0)


def test_frozen_values_cost_nothing() -> None:
    runner = HardwareRunner(KetgradEstimator())
    circuit = Circuit(1).rx(Parameter(0.1).requires_grad_(False), 0)
    assert not runner.expectation(circuit, Z(0)).requires_grad


def test_other_things_are_refused() -> None:
    runner = HardwareRunner(KetgradEstimator())
    t = Parameter(0.1)
    with pytest.raises(BindingError, match="needs an EstimatorV2, got GenericBackendV2"):
        HardwareRunner(GenericBackendV2(2))
    with pytest.raises(BindingError, match=r"needs a Circuit, got str.*from_qiskit"):
        runner.estimate("circuit", Z(0))
    with pytest.raises(BindingError, match="needs a pass manager, got 3"):
        HardwareRunner(KetgradEstimator(), 3)
    for precision in (-1, "x", float("nan"), float("inf")):
        with pytest.raises(BindingError, match="needs a precision from 0 on"):
            HardwareRunner(KetgradEstimator(), precision=precision)  # type: ignore[arg-type]
    matrix = ad.Tensor(np.eye(2) + 0j, requires_grad=True)
    with pytest.raises(BindingError, match="needs matrices that are numbers"):
        runner.estimate(Circuit(1).unitary(matrix, 0), Z(0))
    with pytest.raises(GradientError, match="needs observables with fixed coefficients"):
        runner.expectation(Circuit(1).rx(t, 0), t * Z(0))
    with pytest.raises(BindingError, match="needs a single sample, got a batch of 2"):
        runner.gradient(Circuit(1).rx(t, 0), Z(0), values=[[0.1], [0.2]])
    slope = ad.grad(runner.expectation(Circuit(1).rx(t, 0), Z(0)), t, create_graph=True)
    with pytest.raises(GradientError, match="second derivative"):
        slope.backward()
