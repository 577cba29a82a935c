"""Draws at fixed seeds follow their probabilities: chi-square tests that each must pass."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from circuits import Circuit, PauliSum

SHOTS = 20_000
LEAST = 1e-4
"""A right sampler falls below in one of ten thousand tests; the seeds are fixed."""


def spread(seed: int, width: int = 5) -> Circuit:
    """A circuit whose probabilities reach over several orders of magnitude."""
    rng = np.random.default_rng(seed)
    circuit = Circuit(width)
    for _ in range(3):
        for qubit in range(width):
            circuit.ry(rng.normal(), qubit).rz(rng.normal(), qubit).cx(qubit, (qubit + 1) % width)
    return circuit


def chance(drawn: NDArray[np.int64], exact: NDArray[np.float64]) -> float:
    """The p-value of counts, outcomes with fewer than five expected draws put together."""
    counts = np.bincount(drawn, minlength=len(exact)).astype(float)
    expected = exact * len(drawn) / exact.sum()
    rare = expected < 5
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    assert counts[~keep].sum() == 0
    return float(stats.chisquare(counts[keep], expected[keep]).pvalue)


@pytest.mark.parametrize("engine", ["numba", "reference"])
@pytest.mark.parametrize("seed", range(10))
def test_samples(engine: str, seed: int) -> None:
    circuit = spread(seed)
    exact = circuit.probabilities(engine=engine).numpy()
    assert chance(circuit.sample(SHOTS, seed=seed, engine=engine), exact) > LEAST


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_a_batch_are_right_and_independent(seed: int) -> None:
    circuit = spread(seed, 3)
    rng = np.random.default_rng(seed)
    start = rng.normal(size=(4, 16)).view(complex)
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    exact = circuit.probabilities(initial_state=start).numpy()
    drawn = circuit.sample(SHOTS, seed=seed, initial_state=start)
    for row, chances in zip(drawn, exact, strict=True):
        assert chance(row, chances) > LEAST
    pair = drawn[0] * 8 + drawn[1]
    assert chance(pair, np.outer(exact[0], exact[1]).ravel()) > LEAST


@pytest.mark.parametrize("seed", range(4))
def test_successive_draws_are_independent(seed: int) -> None:
    drawn = spread(seed, 2).sample(2 * SHOTS, seed=seed)
    exact = spread(seed, 2).probabilities().numpy()
    pair = drawn[0::2] * 4 + drawn[1::2]
    assert chance(pair, np.outer(exact, exact).ravel()) > LEAST


@pytest.mark.parametrize("seed", range(10))
def test_estimates_lie_where_their_variance_puts_them(seed: int) -> None:
    """400 estimates from 100 shots: their mean and their spread, within four standard errors."""
    circuit, word = spread(seed, 3), PauliSum({"XYZ": 1.0})
    exact = circuit.expectation(word).item()
    generator = np.random.default_rng(seed)
    found = [circuit.expectation(word, shots=100, seed=generator).item() for _ in range(400)]
    deviation = np.sqrt((1 - exact**2) / 100)
    assert abs(np.mean(found) - exact) < 4 * deviation / 20
    assert abs(np.std(found) / deviation - 1) < 4 / np.sqrt(2 * 400) + 0.02
