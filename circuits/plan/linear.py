"""Linear algebra over GF(2), on integers as bit vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Constraint = tuple[int, int, int]
"""Pivot bit, mask and value of parity(j & mask) == value."""


def affine_part(images: NDArray[np.int64]) -> tuple[list[int], int] | None:
    """Return rows of A and the offset of j -> A j ^ offset, or None if a permutation is not affine.

    Bit i of A j is the parity of ``rows[i] & j``.

    >>> affine_part(np.array([0, 3, 2, 1]))
    ([1, 3], 0)
    """
    size, offset = len(images), int(images[0])
    bits = size.bit_length() - 1
    columns = [int(images[1 << k]) ^ offset for k in range(bits)]
    expected = np.zeros(1, np.int64)
    for column in columns:
        expected = np.concatenate([expected, expected ^ column])
    if not np.array_equal(expected ^ offset, images):
        return None
    return transposed(columns, bits), offset


def transposed(columns: Sequence[int], count: int) -> list[int]:
    """Return the ``count`` rows of a matrix; bit c of a row comes from ``columns[c]``."""
    return [sum(((c >> k) & 1) << i for i, c in enumerate(columns)) for k in range(count)]


def cx_circuit(rows: Sequence[int]) -> tuple[list[int], list[tuple[int, int]]]:
    """Return a linear map as a reordering of bits, then CX pairs (control, target).

    After the reordering bit k holds what bit ``order[k]`` held.

    >>> cx_circuit([1, 3])
    ([0, 1], [(0, 1)])
    """
    rows = list(rows)
    order = [-1] * len(rows)
    pairs: list[tuple[int, int]] = []
    for k in range(len(rows)):
        free = [c for c in range(len(rows)) if (rows[k] >> c) & 1 and c not in order]
        order[k] = k if k in free else free[0]
        for other in range(len(rows)):
            if other != k and (rows[other] >> order[k]) & 1:
                rows[other] ^= rows[k]
                pairs.append((k, other))
    return order, pairs[::-1]


def reduced(constraints: Iterable[tuple[int, int]]) -> list[Constraint]:
    """Return independent constraints (mask, value) so that each pivot is in one mask, by pivot.

    >>> reduced([(0b011, 0), (0b010, 1)])
    [(1, 1, 1), (2, 2, 1)]
    """
    out: list[Constraint] = []
    for mask, value in constraints:
        for pivot, other, bit in out:
            if mask & pivot:
                mask, value = mask ^ other, value ^ bit
        pivot = mask & -mask
        out = [(p, m ^ mask, v ^ value) if m & pivot else (p, m, v) for p, m, v in out]
        out.append((pivot, mask, value))
    return sorted(out)
