"""Gathered phases keep the unitary, and stand in few runs."""

from __future__ import annotations

from itertools import groupby

import dense
import numpy as np
import programs
import pytest
from block_steps import blocks_plan

from circuits.plan.blocks import Block, Constant, Cx, Phase, Slot, Turn, Word
from circuits.plan.diagonals import across, gathered
from circuits.plan.fusion import fuse
from circuits.plan.steps import Plan


def random_blocks(seed: int) -> list[Block]:
    """Phases with masks and controls, CX and rotations, on four wires."""
    rng = np.random.default_rng(seed)
    blocks: list[Block] = []
    for column in range(40):
        first, second = (int(w) for w in rng.permutation(4)[:2])
        mask = int(rng.integers(1, 16))
        controls = ((first, int(rng.integers(2))),)
        blocks.append(
            [
                Phase(mask, Slot(column)),
                Phase(mask & ~(1 << first) | 1 << second, Slot(column), controls),
                Phase(0, Constant((np.cos(0.1 * column), np.sin(0.1 * column))), controls),
                Cx(first, second),
                Word(1 << first, mask & ~(1 << second), Slot(column), ((second, 1),)),
                Turn(second, (Slot(column, 1), Slot(column, 0)), controls),
            ][rng.choice(6, p=[0.3, 0.15, 0.15, 0.2, 0.1, 0.1])]
        )
    return blocks


def runs(blocks: list[Block]) -> list[int]:
    """Lengths of the runs of phases."""
    kinds = groupby(blocks, lambda block: isinstance(block, Phase))
    return [len(list(some)) for is_run, some in kinds if is_run]


@pytest.mark.parametrize("seed", range(12))
def test_gathered_blocks_keep_the_unitary(seed: int) -> None:
    blocks = random_blocks(seed)
    fused = fuse(Plan(4, (), 40))
    angles = np.random.default_rng(seed).normal(size=40)
    found = gathered(blocks)
    assert len(runs(found)) < len(runs(blocks))
    wanted = dense.plan_matrix(blocks_plan(fused, blocks), angles)
    np.testing.assert_allclose(
        dense.plan_matrix(blocks_plan(fused, found), angles), wanted, atol=1e-12
    )


@pytest.mark.parametrize("seed", range(6))
def test_gathered_plans_keep_the_unitary(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plan = programs.random_plan(rng, 4, 30)
    angles = rng.normal(size=plan.num_slots)
    matrices = [programs.random_unitary(rng, 2 << k) for k in range(plan.num_matrices)]
    fused = fuse(plan)
    wanted = dense.plan_matrix(blocks_plan(fused, fused.blocks), angles, matrices)
    found = dense.plan_matrix(blocks_plan(fused, gathered(fused.blocks)), angles, matrices)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_a_layer_of_phases_is_one_run_beyond_rotations_and_cx() -> None:
    blocks: list[Block] = []
    for wire in range(4):
        blocks += [Word(1 << wire, 1 << wire, Slot(0)), Phase(1 << wire, Slot(1))]
    blocks += [Cx(wire, (wire + 1) % 4) for wire in range(4)]
    assert runs(gathered([*blocks, *blocks])) == [4, 4]


def test_a_phase_joins_the_run_before_if_it_commutes_back() -> None:
    first, second = Phase(0b01, Slot(0)), Phase(0b10, Slot(1))
    turn = Turn(0, (Slot(2, 1), Slot(2, 0)))
    assert gathered([first, turn, second]) == [first, second, turn]


def test_controls_do_not_pass_a_cx_on_them() -> None:
    phase = Phase(0, Slot(0), ((1, 1),))
    assert across(phase, Cx(0, 1)) is None
    assert across(phase, Cx(1, 0)) == phase
    assert across(Phase(0b01, Slot(0), ((1, 1),)), Cx(1, 0)) is None
