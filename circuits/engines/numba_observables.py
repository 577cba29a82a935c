"""Observables as the compiled drivers read them, for one layout of the qubits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from circuits.engines import numba_kernels_terms as kernels
from circuits.engines.numba_schedule import Integers, Place
from circuits.plan.linear import reduced
from circuits.plan.words import Words

_SIGNS = np.array([1.0, 1.0, -1.0, -1.0])
"""Of a word by its number of letters Y mod 4: what stands beside 1 or i in i**number."""


@dataclass(frozen=True, eq=False)
class PlacedTerms:
    """Words and projectors for the drivers.

    Attributes:
        groups: words with one flip and one power of i.
        words: sorted by group.
        projectors: with constraints in ``items``.
        items: what the projectors point into.
        signs: vectors of signs by lane.
        links: as in Words, positions of words after sorting.
        shares: as in Words.
    """

    groups: Integers
    words: Integers
    projectors: Integers
    items: Integers
    signs: NDArray[np.floating]
    links: Integers
    shares: NDArray[np.floating]


def joined(masks: Integers, parts: Sequence[int]) -> Integers:
    """Return the exclusive or of ``parts[q]`` over the bits q of every mask."""
    out = np.zeros(len(masks), np.int64)
    for qubit, part in enumerate(parts):
        if part:
            out ^= -((masks >> qubit) & 1) & part
    return out


def place_terms(
    found: Words, places: Sequence[Place], lanes: int, dtype: np.dtype[np.floating]
) -> PlacedTerms:
    """Return words and projectors for qubits at ``places`` and vectors of ``lanes``."""
    x, z = found.x_masks, found.z_masks
    lane_bits = [1 << p.lane if p.lane >= 0 else 0 for p in places]
    flips = joined(x, [p.flip for p in places])
    x_lanes, z_lanes = joined(x, lane_bits), joined(z, lane_bits)
    masks, bases = joined(z, [p.mask for p in places]), joined(z, [p.base for p in places])
    numbers = np.bitwise_count(x & z).astype(np.int64) % 4
    lane = np.arange(lanes)
    parity = np.bitwise_count((lane ^ x_lanes[:, None]) & z_lanes[:, None]).astype(np.int64)
    parity += np.bitwise_count(flips & masks).astype(np.int64)[:, None]
    signs = _SIGNS[numbers][:, None] * (1 - 2 * (parity & 1))

    order = np.lexsort((masks, numbers & 1, x_lanes, flips))
    keys = np.column_stack([flips, x_lanes, numbers & 1])[order]
    words = np.column_stack([masks, bases, np.arange(len(x))])[order]
    firsts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1))[: len(keys)])
    lasts = np.append(firsts[1:], len(keys))
    groups = np.zeros((len(firsts), 7), np.int64)
    groups[:, :3], groups[:, kernels.GROUP_FIRST] = keys[firsts], firsts
    groups[:, kernels.GROUP_LAST] = lasts[: len(firsts)]
    if len(firsts):
        rows = np.bitwise_or.reduceat(words[:, kernels.WORD_MASK], firsts)
        wide = np.bitwise_or.reduceat(words[:, kernels.WORD_BASE], firsts) | rows >> 6
        groups[:, kernels.GROUP_FLAT], groups[:, kernels.GROUP_WIDE] = rows == 0, wide != 0
    moved = np.concatenate([np.argsort(order), np.arange(len(x), len(x) + len(found.projectors))])
    links = found.links.copy()
    links[:, 1] = moved[links[:, 1]]
    projectors, items, kept = _place_projectors(found, places, lanes)
    return PlacedTerms(
        groups,
        words.astype(np.int64).reshape(-1, 3),
        projectors,
        items,
        np.concatenate([signs, kept]).astype(dtype).ravel(),
        links,
        found.shares.astype(dtype),
    )


def _place_projectors(
    found: Words, places: Sequence[Place], lanes: int
) -> tuple[Integers, Integers, NDArray[np.float64]]:
    """Return projectors, their constraints, and the lanes that each keeps."""
    rows: list[list[int]] = []
    items: list[int] = []
    kept = np.ones((len(found.projectors), lanes))
    for k, (mask, value) in enumerate(found.projectors.tolist()):
        conditions, base, held = [], 0, 0
        for qubit, place in enumerate(places):
            if not (mask >> qubit) & 1:
                continue
            bit = (value >> qubit) & 1
            if place.lane >= 0:
                kept[k] *= (np.arange(lanes) >> place.lane & 1) == bit
            elif place.base:
                base, held = base | place.base, held | place.base * bit
            else:
                conditions.append((place.mask, bit))
        constraints = reduced(conditions)
        rows.append([len(items), len(constraints), len(found.x_masks) + k, base, held])
        items += [number for constraint in constraints for number in constraint]
    return (
        np.array(rows, np.int64).reshape(-1, 5),
        np.array([*items, 0], np.int64),
        kept,
    )
