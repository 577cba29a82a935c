"""Which rotations of a program share a pass: two that follow each other and commute."""

from __future__ import annotations

from collections.abc import Sequence

from circuits.engines import instructions as gates
from circuits.plan.linear import reduced


def pair_words(ops: list[list[int]], items: list[int], start: int) -> None:
    """Mark pairs among the instructions from ``start`` on; add to ``items`` what a pass needs.

    A pass visits one row of every four, those that satisfy two constraints.
    """
    at = start + 1
    while at < len(ops):
        first, second = ops[at - 1], ops[at]
        if _is_simple(first) and _is_simple(second) and _are_apart(first, second):
            second[gates.OUT] = len(items)
            for constraint in _constraints(first, second):
                items += constraint
            first[gates.SIZE], second[gates.SIZE] = gates.BEFORE, gates.BEHIND
            at += 1
        at += 1


def _is_simple(op: Sequence[int]) -> bool:
    """Whether an instruction flips rows only, without controls, as a rotation of real numbers."""
    return (
        op[gates.KIND] == gates.WORD
        and op[gates.FLIP] != 0
        and not (op[gates.LANES] or op[gates.BASE_MASK])
        and op[gates.COUNT] == 1
        and bool(op[gates.ODD] or not op[gates.SIGN])
    )


def _are_apart(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether neither of two rotations flips the other's sign, and their flips are not the same."""
    return (
        first[gates.ODD] == second[gates.ODD]
        and first[gates.FLIP] != second[gates.FLIP]
        and (first[gates.FLIP] & second[gates.SIGN]).bit_count() % 2 == 0
        and (second[gates.FLIP] & first[gates.SIGN]).bit_count() % 2 == 0
    )


def _constraints(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return what one row of every four satisfies: rows of sign + where there are signs."""
    flip, other = first[gates.FLIP], second[gates.FLIP]
    one = first[gates.SIGN] or flip & -flip
    if (other & one).bit_count() % 2:
        other ^= flip
    return reduced([(one, 0), (second[gates.SIGN] or other & -other, 0)])
