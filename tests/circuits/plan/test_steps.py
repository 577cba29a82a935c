"""Masks of steps."""

from __future__ import annotations

import numpy as np
import pytest

from circuits.plan.steps import Plan, Step, Structure


@pytest.mark.parametrize(
    ("targets", "word", "x_mask", "z_mask"),
    [
        ((), "", 0, 0),
        ((3,), "X", 0b1000, 0),
        ((3,), "Z", 0, 0b1000),
        ((3,), "Y", 0b1000, 0b1000),
        ((4, 0, 2, 1), "XYZI", 0b10001, 0b00101),
    ],
)
def test_word_is_two_masks(targets: tuple[int, ...], word: str, x_mask: int, z_mask: int) -> None:
    step = Step(Structure.ROTATION, targets, word=word, angle=0.1)
    assert (step.x_mask, step.z_mask) == (x_mask, z_mask)


@pytest.mark.parametrize("state", range(8))
def test_controls_are_a_mask_and_a_value(state: int) -> None:
    controls = (5, 0, 3)
    step = Step(Structure.DIAGONAL, (), controls, state, matrix=np.ones(1, complex))
    assert step.control_mask == 0b101001
    bits = [(step.control_value >> q) & 1 for q in controls]
    assert bits == [(state >> k) & 1 for k in range(3)]
    assert step.control_value & ~step.control_mask == 0


def test_every_plan_has_its_own_memo() -> None:
    first, second = Plan(1, (), 0), Plan(1, (), 0)
    first.memo["engine"] = 1
    assert second.memo == {}
