"""Turns as words and phases: which ones, and that the product stays."""

from __future__ import annotations

import numpy as np
import pytest
from block_steps import blocks_plan

from circuits.engines.reference import ReferenceEngine
from circuits.plan.blocks import Block, Constant, Cx, Made, Phase, Slot, Turn, Word
from circuits.plan.euler import split_turns
from circuits.plan.fusion import fuse
from circuits.plan.steps import Plan, Step, Structure

FIXED = Constant((0.6, 0.0, 0.0, 0.8))
START: list[Block] = [Cx(0, 1), Cx(1, 2)]
WHOLE = {
    "two rotations": (Slot(0, 0), Slot(1, 1)),
    "twice the same": (Slot(0, 1), Slot(1, 1)),
    "about Z only": (Slot(0, 2), Slot(1, 2)),
    "a constant": (FIXED, Slot(0, 1)),
    "a function's": (Slot(0, 1), Made(0, 0)),
}


@pytest.mark.parametrize("axes", ["YZ", "ZY", "XZ", "ZYZ", "ZZXZ", "Y"])
@pytest.mark.parametrize("wire", range(3))
def test_one_rotation_between_phases(axes: str, wire: int) -> None:
    turn = Turn(wire, tuple(Slot(k, "XYZ".index(axis)) for k, axis in enumerate(axes)))
    parts, bit = split_turns([*START, turn])[2:], 1 << wire
    assert parts == [
        Phase(bit, Slot(k)) if axis == "Z" else Word(bit, bit * (axis == "Y"), Slot(k))
        for k, axis in enumerate(axes)
    ]


@pytest.mark.parametrize("name", WHOLE)
def test_other_turns_stay(name: str) -> None:
    blocks = [*START, Turn(1, WHOLE[name])]
    assert split_turns(blocks) == blocks


def test_controlled_turns_stay() -> None:
    blocks = [*START, Turn(1, (Slot(0, 1), Slot(1, 2)), ((0, 1),))]
    assert split_turns(blocks) == blocks


def test_the_first_turn_on_a_wire_stays() -> None:
    turns = [Turn(wire, (Slot(0, 1), Slot(1, 2))) for wire in range(3)]
    assert split_turns(turns) == turns
    kinds = [type(block) for block in split_turns([turns[0], Cx(0, 1), *turns])]
    assert kinds == [Turn, Cx, Word, Phase, Word, Phase, Turn]


@pytest.mark.parametrize("seed", range(3))
def test_the_product_stays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps: list[Step] = []
    for slot in range(40):
        if slot % 3 == 0:
            control, target = (int(q) for q in rng.permutation(3)[:2])
            flip = np.array([1, 0])
            steps.append(Step(Structure.PERMUTATION, (target,), (control,), 1, permutation=flip))
        wire, word = int(rng.integers(3)), str(rng.choice(list("XYZZ")))
        steps.append(Step(Structure.ROTATION, (wire,), slots=(slot,), word=word))
    fused = fuse(Plan(3, tuple(steps), 40))
    blocks = split_turns(fused.blocks)
    assert sum(isinstance(block, Turn) for block in blocks) < sum(
        isinstance(block, Turn) for block in fused.blocks
    )
    angles, state = rng.normal(size=(1, 40)), np.eye(8, dtype=complex)
    found, expected = (
        ReferenceEngine().forward(blocks_plan(fused, some), state, angles)[0]
        for some in (blocks, fused.blocks)
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
