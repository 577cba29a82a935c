"""Which rotations share a pass, and which rows it visits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from circuits.engines import instructions as gates
from circuits.engines.numba_columns import Columns
from circuits.engines.numba_instructions import Place
from circuits.engines.numba_schedule import Scheduler
from circuits.plan.blocks import Block, Cx, Phase, Slot, Turn, Word
from circuits.plan.fusion import fuse
from circuits.plan.steps import Plan

ALONE, BEHIND, BEFORE = gates.ALONE, gates.BEHIND, gates.BEFORE


def about(letter: str, wire: int, **others: str) -> Word:
    """A rotation about a letter, and letters on other wires ("q2")."""
    letters = {wire: letter, **{int(q[1:]): a for q, a in others.items()}}
    x = sum(1 << w for w, a in letters.items() if a != "Z")
    z = sum(1 << w for w, a in letters.items() if a != "X")
    return Word(x, z, Slot(0))


def scheduled(blocks: list[Block], lane_bits: int = 1, num_qubits: int = 6) -> Scheduler:
    fused = fuse(Plan(num_qubits, (), 2))
    places = [Place(1 << q, 1 << q) for q in range(lane_bits)]
    places += [Place(flip=1 << k, mask=1 << k) for k in range(num_qubits - 1 - lane_bits)]
    places += [Place(base=1)]
    made = Scheduler(fused, Columns.place(fused), places, 1 << lane_bits, runs=True)
    made.add_all(blocks)
    return made


def marks(*blocks: Block) -> list[int]:
    return [op[gates.SIZE] for op in scheduled(list(blocks)).ops if op[gates.KIND] == gates.WORD]


def test_two_share_a_pass() -> None:
    assert marks(about("Y", 1), about("Y", 3)) == [BEFORE, BEHIND]
    assert marks(about("X", 4), about("X", 2)) == [BEFORE, BEHIND]
    assert marks(about("Y", 1), about("Y", 3), about("Y", 2)) == [BEFORE, BEHIND, ALONE]
    assert marks(about("Y", 1), about("Y", 3), about("Y", 2), about("Y", 4)) == [2, 1, 2, 1]
    assert marks(about("X", 1, q2="X"), about("X", 2)) == [BEFORE, BEHIND]
    assert marks(about("X", 1, q5="Z"), about("X", 2, q0="Z")) == [BEFORE, BEHIND]


APART = {
    "the same qubit": (about("Y", 1), about("Y", 1)),
    "the same flip": (about("X", 1), about("X", 1)),
    "a sign that the other flips": (about("Y", 1, q3="Z"), about("Y", 3)),
    "a sign of the second": (about("Y", 3), about("Y", 1, q3="Z")),
    "an even and an odd number of Y": (about("X", 1), about("Y", 3)),
    "a word with a sign in the rows": (about("X", 1, q2="Z"), about("X", 3)),
    "two Y in one word": (about("Y", 1, q2="Y"), about("X", 3)),
    "a lane": (about("Y", 0), about("Y", 3)),
    "a lane, too": (about("X", 1, q0="X"), about("X", 3)),
    "a turn between": (about("Y", 1), Turn(2, (Slot(0, 1), Slot(1, 2))), about("Y", 3)),
    "a phase between": (about("Y", 1), Phase(0b1010, Slot(1)), about("Y", 3)),
    "a control": (about("Y", 1)._replace(controls=((2, 1),)), about("Y", 3)),
    "a control that is a tile's": (about("Y", 1), about("Y", 3)._replace(controls=((5, 1),))),
}


@pytest.mark.parametrize("name", APART)
def test_others_do_not(name: str) -> None:
    assert set(marks(*APART[name])) == {ALONE}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("letters", ["XX", "YY"])
def test_a_pass_visits_one_row_of_four(letters: str, seed: int) -> None:
    """Also after CX, which make flips and masks of several bits; where there are signs, those of +.

    With both rotations' flips the visited rows reach all rows once.
    """
    rng = np.random.default_rng(seed)
    cx = [Cx(*(int(q) for q in rng.permutation(4)[:2] + 1)) for _ in range(6)]
    wires = [int(q) for q in rng.permutation(4)[:2] + 1]
    made = scheduled([*cx, *[about(a, w) for a, w in zip(letters, wires, strict=True)]])
    first, second = made.ops
    assert (first[gates.SIZE], second[gates.SIZE]) == (BEFORE, BEHIND)
    at, flips = second[gates.OUT], (first[gates.FLIP], second[gates.FLIP])
    limits = [made.items[at + 3 * c : at + 3 * c + 3] for c in range(2)]
    for (pivot, _, _), (_, other, _) in (limits, limits[::-1]):
        assert not pivot & other
    visited = [r for r in range(16) if all((r & m).bit_count() % 2 == v for _, m, v in limits)]
    reached = [r ^ a ^ b for r, a, b in product(visited, (0, flips[0]), (0, flips[1]))]
    assert sorted(reached) == list(range(16))
    for op in (first, second):
        assert all((row & op[gates.SIGN]).bit_count() % 2 == 0 for row in visited)
