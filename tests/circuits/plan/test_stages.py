"""Stages hold all blocks, in an order that keeps the unitary, within their tiles."""

from __future__ import annotations

import dense
import numpy as np
import programs
import pytest
from block_steps import blocks_plan

from circuits.plan.blocks import Cx, Phase, Slot, Turn, Word
from circuits.plan.fusion import fuse
from circuits.plan.stages import moved_wires, narrowed, next_stage, touched_wires
from circuits.plan.steps import Plan


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("limit", [3, 4])
def test_stages_keep_the_unitary(seed: int, limit: int) -> None:
    rng = np.random.default_rng(seed)
    fused = fuse(programs.random_plan(rng, 5, 30))
    angles = rng.normal(size=fused.num_slots)
    matrices = [programs.random_unitary(rng, 2 << k) for k in range(2)]
    left = [b for b in fused.blocks if len(moved_wires(b)) <= limit]
    expected = dense.plan_matrix(blocks_plan(fused, left), angles, matrices)
    blocks = []
    while left:
        wires, done, left = next_stage(left, (), limit)
        assert len(wires) <= limit
        assert all(wires.issuperset(moved_wires(block)) for block in done)
        blocks += done
    found = dense.plan_matrix(blocks_plan(fused, blocks), angles, matrices)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_blocks_pass_those_that_they_commute_with() -> None:
    turn = Turn(2, (Slot(0, 1), Slot(1)))
    blocks = [Cx(0, 1), turn, Phase(0b101, Slot(2)), Cx(0, 3)]
    _, done, left = next_stage(blocks, (), 2)
    assert (done, left) == ([Cx(0, 1)], blocks[1:])
    _, done, left = next_stage(left, (), 2)
    assert (done, left) == ([turn, Phase(0b101, Slot(2))], [Cx(0, 3)])


def test_a_block_wider_than_a_tile_is_refused() -> None:
    with pytest.raises(ValueError, match="a tile needs room for wires"):
        next_stage([Word(0b111, 0, Slot(0))], (), 2)


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_narrowed_words_keep_the_unitary(seed: int, limit: int) -> None:
    rng = np.random.default_rng(seed)
    x, z = (int(m) for m in rng.integers(1, 32, 2))
    word = Word(x, z, Slot(0))
    fused = fuse(Plan(5, (), 1))
    angle = np.array([0.7])
    found = narrowed([word], limit)
    assert all(len(moved_wires(b)) <= max(limit, 2) for b in found)
    matrices = []
    for blocks in ([word], found):
        matrix = np.eye(32, dtype=complex)
        for block in blocks:
            turned = -angle if isinstance(block, Word) and block.negative else angle
            plain = block._replace(negative=False) if isinstance(block, Word) else block
            matrix = dense.plan_matrix(blocks_plan(fused, [plain]), turned) @ matrix
        matrices.append(matrix)
    np.testing.assert_allclose(*matrices, atol=1e-12)


def test_touched_wires_include_signs_and_controls() -> None:
    assert set(touched_wires(Word(0b1, 0b10, Slot(0), ((3, 0),)))) == {0, 1, 3}
