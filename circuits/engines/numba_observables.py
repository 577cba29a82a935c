"""Observables as the compiled drivers read them, for one layout of the qubits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from circuits.engines import instructions as kernels
from circuits.engines.numba_instructions import WORD_SIGNS, Integers, Place
from circuits.plan.linear import reduced
from circuits.plan.words import Words


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
        ranges: groups of every part.
    """

    groups: Integers
    words: Integers
    projectors: Integers
    items: Integers
    signs: NDArray[np.floating]
    links: Integers
    shares: NDArray[np.floating]
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class Part:
    """Words, by position, that act on the same tiles, and where the qubits are in these."""

    selection: Integers
    places: Sequence[Place]


def joined(masks: Integers, parts: Sequence[int]) -> Integers:
    """Return the exclusive or of ``parts[q]`` over the bits q of every mask."""
    out = np.zeros(len(masks), np.int64)
    for qubit, part in enumerate(parts):
        if part:
            out ^= -((masks >> qubit) & 1) & part
    return out


def place_terms(
    found: Words, parts: Sequence[Part], lanes: int, dtype: np.dtype[np.floating]
) -> PlacedTerms:
    """Return words and projectors, by tiles.

    Args:
        found: what to place.
        parts: which words act on which tiles, and where the qubits are in them; the projectors
            act on those of the last part.
        lanes: of a vector.
        dtype: of signs and shares.
    """
    placed = [_place_words(found, part, lanes) for part in parts]
    order = np.concatenate([words[:, kernels.WORD_SIGNS] for _, words in placed])
    ranges: list[tuple[int, int]] = []
    groups: list[Integers] = []
    before = number = 0
    for part, (some, _) in zip(parts, placed, strict=True):
        some[:, [kernels.GROUP_FIRST, kernels.GROUP_LAST]] += before
        ranges.append((number, number + len(some)))
        groups.append(some)
        number += len(some)
        before += len(part.selection)
    moved = np.concatenate([np.argsort(order), len(order) + np.arange(len(found.projectors))])
    links = found.links.copy()
    links[:, 1] = moved[links[:, 1]]
    signs = np.empty((len(order), lanes))
    for part in parts:
        signs[part.selection] = _word_signs(found, part, lanes)
    projectors, items, kept = _place_projectors(found, parts[-1].places, lanes)
    return PlacedTerms(
        np.concatenate(groups),
        np.concatenate([words for _, words in placed]),
        projectors,
        items,
        np.concatenate([signs, kept]).astype(dtype).ravel(),
        np.ascontiguousarray(links),
        found.shares.astype(dtype),
        tuple(ranges),
    )


def _word_signs(found: Words, part: Part, lanes: int) -> NDArray[np.float64]:
    """Signs of words by lane, ``(W, lanes)``, with all signs that do not depend on the row."""
    x, z, places = found.x_masks[part.selection], found.z_masks[part.selection], part.places
    x_lanes = joined(x, [p.lanes for p in places])[:, None]
    z_lanes = joined(z, [p.signs for p in places])[:, None]
    flips, masks = joined(x, [p.flip for p in places]), joined(z, [p.mask for p in places])
    parity = np.bitwise_count((np.arange(lanes) ^ x_lanes) & z_lanes).astype(np.int64)
    parity += np.bitwise_count(flips & masks).astype(np.int64)[:, None]
    return np.array(WORD_SIGNS)[np.bitwise_count(x & z) % 4][:, None] * (1 - 2 * (parity & 1))


def _place_words(found: Words, part: Part, lanes: int) -> tuple[Integers, Integers]:
    """Return groups and words of a part; a word's signs stand at its position in ``found``."""
    x, z, places = found.x_masks[part.selection], found.z_masks[part.selection], part.places
    odd = np.bitwise_count(x & z).astype(np.int64) & 1
    flips = [joined(x, [p.flip for p in places]), joined(x, [p.lanes for p in places])]
    keys = np.column_stack([*flips, odd])
    masks, bases = joined(z, [p.mask for p in places]), joined(z, [p.base for p in places])
    order = np.lexsort((masks, *keys.T[::-1]))
    keys, words = keys[order], np.column_stack([masks, bases, part.selection])[order]
    if not len(keys):
        return np.zeros((0, 7), np.int64), words
    firsts = np.flatnonzero(np.append(True, (keys[1:] != keys[:-1]).any(axis=1)))
    groups = np.empty((len(firsts), 7), np.int64)
    groups[:, :3] = keys[firsts]
    groups[:, kernels.GROUP_FIRST] = firsts
    groups[:, kernels.GROUP_LAST] = np.append(firsts[1:], len(keys))
    rows = np.bitwise_or.reduceat(words[:, kernels.WORD_MASK], firsts)
    wide = np.bitwise_or.reduceat(words[:, kernels.WORD_BASE], firsts) | rows >> 6
    groups[:, kernels.GROUP_FLAT], groups[:, kernels.GROUP_WIDE] = rows == 0, wide != 0
    return groups, np.ascontiguousarray(words)


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
            if place.signs:
                kept[k] *= np.bitwise_count(np.arange(lanes) & place.signs) % 2 == bit
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
