"""Cases: the same numbers each time, every parameter used, and right for this project."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from differences import central

from benchmarks.cases import FAMILIES, Case, layered, select
from benchmarks.ours import Ours


def small(family: str) -> Case:
    """The family's case on three qubits, with few samples."""
    case = FAMILIES[family][0](3)
    return replace(case, batch=min(case.batch, 5))


@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_is_the_derivative_of_the_value(family: str) -> None:
    case = small(family)
    evaluation = Ours(case, engine="reference")
    parameters = case.parameters(0)
    value, gradient = evaluation(parameters)
    assert value == evaluation.value(parameters) != 0
    assert np.max(np.abs(gradient)) > 0.01
    expected = central(evaluation.value, parameters)
    np.testing.assert_allclose(gradient, expected, atol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_single_precision_is_near(family: str) -> None:
    case = replace(small(family), single=True)
    double = Ours(small(family), engine="reference")
    value, gradient = Ours(case, engine="reference")(case.parameters(0))
    expected, slopes = double(case.parameters(0).astype(float))
    assert gradient.dtype == np.float32
    assert value == pytest.approx(expected, abs=1e-5)
    np.testing.assert_allclose(gradient, slopes, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_case_uses_its_parameters_and_repeats_itself(family: str) -> None:
    case, again = FAMILIES[family][0](4), FAMILIES[family][0](4)
    used = {step.slot for step in case.steps if step.slot is not None}
    assert used | {0} == set(range(case.num_parameters))
    described = [[(s.gate, s.qubits, s.slot) for s in c.steps] for c in (case, again)]
    assert described[0] == described[1]
    np.testing.assert_array_equal(case.parameters(1), again.parameters(1))
    np.testing.assert_array_equal(case.data(), again.data())


def test_draws_differ() -> None:
    case = layered(4)
    assert np.all(case.parameters(0) != case.parameters(1))


def test_layered_circuit_is_the_one_that_is_described() -> None:
    case = layered(3, layers=1)
    gates = [(s.gate, s.qubits, s.slot) for s in case.steps]
    rotations = [(g, (i,), 2 * i + k) for i in range(3) for k, g in enumerate(("ry", "rz"))]
    assert gates == [*rotations, ("cx", (0, 1), None), ("cx", (1, 2), None), ("cx", (2, 0), None)]
    assert case.terms[0] == (1.0, (("Z", 0), ("Z", 1)))
    assert case.terms[-1] == (1.0, (("X", 2),))


def test_selection_walks_families_sizes_and_precisions() -> None:
    names = [c.name for c in select(("layered", "batch"), (2, 3), ("double", "single"))]
    assert names == [
        f"{family} n={n} {precision}"
        for family in ("layered", "batch")
        for n in (2, 3)
        for precision in ("double", "single")
    ]
    usual = [c.num_qubits for c in select(("batch",), None, ("double",))]
    assert usual == list(FAMILIES["batch"][1])
