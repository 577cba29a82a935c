"""What the first turns of a program allow: each is on a qubit of its own, without controls."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from circuits.engines import instructions as gates
from circuits.engines.numba_instructions import Integers
from circuits.engines.numba_schedule import Schedule

Turn = tuple[int, int, Integers]
"""Flip and mask of the rows; of every lane the lane that it is flipped to, and its sign bit."""


def grown_turns(schedule: Schedule, lanes: int, rows_log: int) -> int:
    """Return how many turns from the first on reach all rows of a tile, from row 0 alone.

    As long as they run, |0...0> is zero beyond the rows that they have reached. None reaches more
    than twice the rows of those before it, so that what is not a number reaches all.

    Returns:
        0 if there are no such turns, or not enough of them.
    """
    size = 0
    for count, (flip, mask, _) in enumerate(_turns(schedule, lanes, 0, len(schedule.ops)), 1):
        if flip.bit_length() > size + 1:
            return 0
        size = max(size, flip.bit_length())
        if mask.bit_length() > size:
            return 0
        if size == rows_log:
            return count
    return 0


def commuting_turns(schedule: Schedule, lanes: int, first: int, end: int) -> int:
    """Return how many turns from ``first`` on, and before ``end``, commute with one another.

    The environment of each is then the same whether those after it are undone or not: the reverse
    sweep, whose last instructions they are, only has to look.
    """
    found: list[Turn] = []
    for turn in _turns(schedule, lanes, first, end):
        if not all(_commute(turn, other) for other in found):
            break
        found.append(turn)
    return len(found)


def _commute(a: Turn, b: Turn) -> bool:
    """Whether neither of two turns flips the qubit of the other."""
    if (a[0] & b[1]).bit_count() % 2 or (b[0] & a[1]).bit_count() % 2:
        return False
    (to_a, sign_a), (to_b, sign_b) = a[2], b[2]
    return bool((sign_b[to_a] == sign_b).all() and (sign_a[to_b] == sign_a).all())


def _turns(schedule: Schedule, lanes: int, first: int, end: int) -> Iterator[Turn]:
    """Yield the turns without controls from ``first`` on, up to another instruction."""
    fixed, items, numbers = schedule.fixed.reshape(-1, lanes), schedule.items, np.arange(lanes)
    for op in schedule.ops[first:end]:
        in_rows = op[gates.KIND] == gates.TURN
        known = in_rows or op[gates.KIND] == gates.LANE_TURN
        if not known or op[gates.BASE_MASK] or op[gates.COUNT] != in_rows:
            return
        if not (fixed[op[gates.MASK]] == 1).all():
            return
        if in_rows:
            mask = int(items[op[gates.ROWS] + 1])
            yield int(op[gates.FLIP]), mask, np.array([numbers, 0 * numbers])
        else:
            negative = fixed[op[gates.SIGNS]] < 0
            yield 0, 0, np.array([numbers ^ op[gates.LANES], negative])
