"""Quaternions of blocks, against matrices."""

from __future__ import annotations

import numpy as np
import programs
import pytest
from block_steps import quaternion_matrix

from circuits.plan.blocks import Function, quaternion_product, split_unitaries, step_controls
from circuits.plan.steps import Step, Structure


@pytest.mark.parametrize("seed", range(5))
def test_split_unitaries_recompose(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrices = np.stack([programs.random_unitary(rng, 2) for _ in range(6)]).reshape(2, 3, 2, 2)
    quaternions, phases = split_unitaries(matrices)
    for index in np.ndindex(2, 3):
        found = np.exp(1j * phases[index]) * quaternion_matrix(quaternions[index])
        np.testing.assert_allclose(found, matrices[index], atol=1e-14)


def test_quaternion_product_is_the_matrix_product() -> None:
    p, q = np.random.default_rng(0).normal(size=(2, 4)).tolist()
    found = quaternion_matrix(quaternion_product(tuple(p), tuple(q)))
    np.testing.assert_allclose(found, quaternion_matrix(p) @ quaternion_matrix(q), atol=1e-14)


def test_controls_stand_on_wires() -> None:
    step = Step(Structure.PERMUTATION, (0,), (2, 1), 0b01, permutation=np.array([1, 0]))
    assert step_controls(step, [5, 3, 4]) == ((4, 1), (3, 0))


@pytest.mark.parametrize(("size", "turns"), [(1, True), (2, True), (4, False)])
def test_small_functions_make_turns(size: int, turns: bool) -> None:
    assert Function(np.cos, np.sin, size, False).is_turn is turns
