"""Estimates from shots: unbiased, converging, and without a derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import GradientError, Parameter
from circuits import (
    Circuit,
    Hermitian,
    I,
    Input,
    MeasurementError,
    ObservableError,
    PauliSum,
    Projector,
    StateError,
    X,
    Z,
)

OBSERVABLES = [PauliSum({"ZZ": 1.0, "IX": 0.5, "II": -2.0}), Projector("01"), 0.3 * Z(0) + X(1)]


def circuit() -> Circuit:
    return Circuit(2).ry(Parameter(0.7), 0).crx(Parameter(1.1), 0, 1).ry(Input("x", 1)[0], 1)


@pytest.mark.parametrize("batch", [None, 1, 3])
def test_estimates_converge_as_one_over_the_root(batch: int | None) -> None:
    data = np.linspace(0.1, 1.0, batch or 1)[:, None]
    inputs = {"x": data if batch else data[0]}
    exact = circuit().expectation(OBSERVABLES, inputs=inputs, engine="reference").numpy()
    for shots in (100, 10_000, 1_000_000):
        found = circuit().expectation(
            OBSERVABLES, inputs=inputs, shots=shots, seed=3, engine="reference"
        )
        assert found.shape == exact.shape
        assert np.abs(found.numpy() - exact).max() < 5 * 1.5 / np.sqrt(shots)
        assert np.abs(found.numpy() - exact).max() > 0


def test_estimates_are_unbiased() -> None:
    exact = circuit().expectation(Z(1), inputs={"x": [0.3]}, engine="reference").item()
    generator = np.random.default_rng(0)
    options: dict[str, Any] = {"inputs": {"x": [0.3]}, "shots": 10, "seed": generator}
    draws = [circuit().expectation(Z(1), engine="reference", **options).item() for _ in range(500)]
    assert np.mean(draws) == pytest.approx(exact, abs=5 / np.sqrt(5000))


def test_certain_outcomes_are_exact() -> None:
    e = Circuit(2).x(0).expectation([Z(0), I(0), Projector("01")], shots=7, seed=0)
    assert e.tolist() == [-1.0, 1.0, 1.0]


def test_same_seed_same_estimate() -> None:
    def run(seed: Any) -> float:
        return Circuit(1).h(0).expectation(Z(0), shots=101, seed=seed).item()

    assert run(1) == run(1)
    generator = np.random.default_rng(1)
    assert run(generator) == run(1)
    assert run(generator) != run(1)


def test_backward_names_parameter_shift() -> None:
    p = Parameter(0.3)
    e = Circuit(1).rx(p, 0).expectation(Z(0), shots=10, seed=0, engine="reference")
    with pytest.raises(GradientError, match=r"shots.*parameter-shift.*f\(t \+ pi/2\)"):
        e.backward()
    assert p.grad is None


def test_coefficients_have_no_derivative_either() -> None:
    c = Parameter(0.5)
    e = Circuit(1).expectation(c * Z(0), shots=10, seed=0, engine="reference")
    assert e.item() == 0.5
    with pytest.raises(GradientError, match="parameter-shift"):
        e.backward()


def test_single_precision() -> None:
    e = Circuit(1).h(0).expectation(Z(0), shots=10, seed=0, dtype="complex64", engine="reference")
    assert e.dtype == np.float32


def test_matrices_are_refused() -> None:
    with pytest.raises(ObservableError, match="shots need Pauli words and projectors, got Matrix"):
        Circuit(1).expectation(Hermitian(np.eye(2), 0), shots=10, seed=0)


@pytest.mark.parametrize("state", [[2.0, 0.0], [0.5, 0.5], [[1, 0], [1, 1]]])
def test_initial_states_must_be_normalised(state: Any) -> None:
    with pytest.raises(StateError, match="a normalised initial state"):
        Circuit(1).expectation(Z(0), shots=10, seed=0, initial_state=state, engine="reference")


def test_nan_is_refused() -> None:
    circuit = Circuit(1).rx(Parameter(np.nan), 0)
    with pytest.raises(StateError, match="finite probabilities, got NaN"):
        circuit.expectation(Z(0), shots=10, seed=0, engine="reference")


@pytest.mark.parametrize("shots", [0, -1, 2.5, True])
def test_bad_shots_are_refused(shots: Any) -> None:
    with pytest.raises(MeasurementError, match="a number of shots from 1 on"):
        Circuit(1).expectation(Z(0), shots=shots, seed=0)
