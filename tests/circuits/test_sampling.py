"""Shots: reproducible, never outside what is possible, counted by the right bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from circuits import Circuit, Input, MeasurementError, SeedError
from circuits.sampling import checked_shots, count_bits, draw, generator_of


class Fixed(np.random.Generator):
    """A generator whose uniform numbers are all the same."""

    def __init__(self, value: float) -> None:
        super().__init__(np.random.PCG64(0))
        self.value = value

    def random(self, size: Any = None, *_: Any, **__: Any) -> Any:
        return np.full(size, self.value)


HIGHEST = 1 - 2.0**-53


def test_frequencies_are_the_probabilities() -> None:
    chances = np.array([0.5, 0.0, 0.2, 0.3])
    found = np.bincount(draw(chances, 100_000, 0), minlength=4) / 100_000
    np.testing.assert_allclose(found, chances, rtol=0, atol=0.01)
    assert found[1] == 0


def test_rows_of_a_batch_are_drawn_each_from_its_own() -> None:
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(8), size=50)
    drawn = draw(chances, 2000, 1)
    assert (drawn.shape, drawn.dtype) == ((50, 2000), np.int64)
    found = np.array([np.bincount(row, minlength=8) for row in drawn]) / 2000
    np.testing.assert_allclose(found, chances, rtol=0, atol=0.06)


def test_a_batch_of_one_draws_what_a_single_sample_draws() -> None:
    chances = np.array([0.1, 0.2, 0.7])
    np.testing.assert_array_equal(draw(chances[None], 100, 3)[0], draw(chances, 100, 3))


@pytest.mark.parametrize("total", [1.0, 1 - 1e-9, 1 + 1e-9, 0.5, 3.0])
@pytest.mark.parametrize("uniform", [0.0, 0.5, HIGHEST])
def test_impossible_outcomes_are_never_drawn(uniform: float, total: float) -> None:
    chances = np.array([0.0, 0.3, 0.7, 0.0, 0.0]) * total
    single = draw(chances, 10, Fixed(uniform))
    batch = draw(np.tile(chances, (300, 1)), 10, Fixed(uniform))
    assert set(single) <= {1, 2}
    assert set(batch.ravel()) <= {1, 2}


def test_probability_a_hair_above_one_draws() -> None:
    for k, angle in enumerate(np.random.default_rng(0).normal(size=100)):
        for dtype in ("complex64", "complex128"):
            circuit = Circuit(1).ry(angle, 0).ry(-angle, 0)
            options = {"dtype": dtype, "engine": "reference"}
            assert circuit.counts(1024, seed=k, **options) == {"0": 1024}
            total = circuit.probabilities(**options).numpy().sum()
            assert abs(total - 1) < (1e-6 if dtype == "complex64" else 1e-12)


@pytest.mark.parametrize("chances", [[np.nan, 1.0], [np.inf, 0.0]])
def test_probabilities_must_be_finite(chances: list[float]) -> None:
    with pytest.raises(MeasurementError, match="finite probabilities"):
        draw(np.array(chances), 1, 0)


@pytest.mark.parametrize("chances", [np.zeros(2), np.array([[0.5, 0.5], [0.0, 0.0]])])
def test_a_sum_of_zero_is_refused(chances: Any) -> None:
    with pytest.raises(MeasurementError, match="got a sum of 0"):
        draw(chances, 1, 0)


# -- shots and seeds -------------------------------------------------------------------------------


@pytest.mark.parametrize("shots", [0, -1, 1.5, "10", None, True])
def test_bad_shots_are_refused(shots: Any) -> None:
    with pytest.raises(MeasurementError, match="a number of shots from 1 on"):
        checked_shots(shots)
    with pytest.raises(MeasurementError, match="a number of shots from 1 on"):
        Circuit(1).sample(shots, engine="reference")
    with pytest.raises(MeasurementError, match="a number of shots from 1 on"):
        Circuit(1).counts(shots, engine="reference")


@pytest.mark.parametrize("seed", [-1, 1.5, "1", True, [1, 2]])
def test_bad_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(SeedError, match="a seed needs an integer from 0 on"):
        generator_of(seed)


def test_seeds_reproduce_and_generators_go_on() -> None:
    circuit = Circuit(3).h([0, 1, 2])
    first, second = (circuit.counts(500, seed=5, engine="reference") for _ in range(2))
    assert first == second
    generator = np.random.default_rng(5)
    same = circuit.sample(500, seed=generator, engine="reference")
    other = circuit.sample(500, seed=generator, engine="reference")
    np.testing.assert_array_equal(same, circuit.sample(500, seed=5, engine="reference"))
    assert (same != other).any()


def test_engines_draw_the_same_shots() -> None:
    circuit = Circuit(3).h([0, 1, 2]).cry(0.3, 0, 1)
    a, b = (circuit.sample(1000, seed=1, engine=engine) for engine in ("reference", "numba"))
    np.testing.assert_array_equal(a, b)


# -- counts ----------------------------------------------------------------------------------------


def test_counts_print_the_highest_qubit_first() -> None:
    assert Circuit(3).x(0).counts(4, seed=0, engine="reference") == {"001": 4}
    assert Circuit(3).x(2).sample(2, seed=0, engine="reference").tolist() == [4, 4]


def test_counts_of_a_batch_are_a_list() -> None:
    circuit = Circuit(2).rx(Input("x", 1)[0], 1)
    data = np.array([[0.0], [np.pi]])
    found = circuit.counts(8, seed=0, inputs={"x": data}, engine="reference")
    assert found == [{"00": 8}, {"10": 8}]


def test_counts_are_sorted_by_frequency() -> None:
    drawn = np.array([0, 3, 3, 1, 3, 1])
    assert list(count_bits(drawn, {}, 2).items()) == [("11", 3), ("01", 2), ("00", 1)]


def test_classical_bits_choose_places() -> None:
    drawn = np.array([0b01, 0b10])
    assert count_bits(drawn, {2: 0}, 2) == {"100": 1, "000": 1}
    assert count_bits(drawn, {2: 0, 0: 0, 1: 1}, 2) == {"101": 1, "010": 1}
    assert count_bits(drawn, {0: 1, 1: 0}, 2) == {"10": 1, "01": 1}


def test_no_qubits_have_one_empty_outcome() -> None:
    assert Circuit(0).counts(3, seed=0, engine="reference") == {"": 3}


def test_too_high_a_bit_is_refused() -> None:
    with pytest.raises(MeasurementError, match="classical bits below 63"):
        count_bits(np.array([0]), {63: 0}, 1)
