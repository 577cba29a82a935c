"""Wide steps in NumPy are what the reference engine makes of them; pieces compose to the plan."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import programs
import pytest

from circuits.engines.reference import apply_step, step_matrix_gradient
from circuits.plan import wide
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.wide import apply_wide, is_wide, pieces, wide_gradient


def steps_of(rng: np.random.Generator, targets: tuple[int, ...]) -> list[Step]:
    """One step of every structure that can be wide."""
    size = 1 << len(targets)
    images = rng.permutation(size).astype(np.int64)
    return [
        Step(Structure.DENSE, targets, matrix=programs.random_unitary(rng, size)),
        Step(Structure.DENSE, targets, source=0),
        Step(Structure.DIAGONAL, targets, matrix=np.exp(1j * rng.normal(size=size))),
        Step(Structure.PERMUTATION, targets, permutation=images),
    ]


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("controls", [(), (0, 5)])
@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_a_wide_step_is_the_references(
    kind: int, controls: tuple[int, ...], adjoint: bool, dtype: type[np.complexfloating]
) -> None:
    rng = np.random.default_rng(kind)
    step = replace(steps_of(rng, (3, 1, 4))[kind], controls=controls, control_state=0b10)
    states = programs.random_state(rng, 2, 64).astype(dtype)
    matrices = [np.stack([programs.random_unitary(rng, 8) for _ in range(2)])]
    before = states.copy()
    found = apply_wide(step, states, matrices, adjoint=adjoint)
    expected = apply_step(step, states, np.zeros((1, 0)), matrices, inverse=adjoint)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, atol=1e-13 if dtype is np.complex128 else 1e-6)
    np.testing.assert_array_equal(states, before)


def test_gradient_of_a_matrix_is_the_references() -> None:
    rng = np.random.default_rng(3)
    step = Step(Structure.DENSE, (3, 1), (2, 0), 0b01, source=0)
    before, cotangent = programs.random_state(rng, 3, 16), programs.random_state(rng, 3, 16)
    found = wide_gradient(step, before, cotangent)
    np.testing.assert_allclose(found, step_matrix_gradient(step, before, cotangent), atol=1e-14)


def test_what_is_wide() -> None:
    rng = np.random.default_rng(0)
    narrow, broad = tuple(range(wide.WIDE_MATRIX - 1)), tuple(range(wide.WIDE_MATRIX))
    assert not is_wide(Step(Structure.DENSE, narrow, source=0))
    assert is_wide(Step(Structure.DENSE, broad, source=0))
    many = tuple(range(wide.WIDE_TABLE))
    size = 1 << len(many)
    shift = Step(Structure.PERMUTATION, many, permutation=np.arange(size) ^ 5)
    assert not is_wide(shift)
    assert is_wide(replace(shift, controls=(20,), control_state=1))
    assert is_wide(replace(shift, permutation=rng.permutation(size)))
    assert not is_wide(replace(shift, targets=many[:-1], permutation=rng.permutation(size // 2)))
    assert is_wide(Step(Structure.DIAGONAL, many, matrix=np.ones(size)))
    assert not is_wide(Step(Structure.ROTATION, many, slots=(0,), word="X" * len(many)))


@pytest.mark.parametrize("pattern", ["W", "PW", "WP", "WW", "PWPPWP", "P"])
def test_pieces_are_the_plan(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wide, "WIDE_MATRIX", 2)
    flip = Step(Structure.PERMUTATION, (0,), permutation=np.array([1, 0]))
    unitary = Step(Structure.DENSE, (0, 1), source=0)
    steps = tuple(unitary if letter == "W" else flip for letter in pattern)
    plan = Plan(2, steps, 3, 1)
    found = pieces(plan)
    flat = [s for p in found for s in ((p,) if isinstance(p, Step) else p.steps)]
    assert flat == list(steps)
    assert all(p.num_slots == 3 and p.num_matrices == 1 for p in found if isinstance(p, Plan))
    if pattern == "P":
        assert found == (plan,)
