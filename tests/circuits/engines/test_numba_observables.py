"""Words placed in a layout: their groups and signs give their action on basis states."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from circuits.engines import instructions as kernels
from circuits.engines.numba_instructions import Place
from circuits.engines.numba_observables import Part, joined, place_terms
from circuits.plan.linear import transposed
from circuits.plan.terms import PauliTerm, ProjectorTerm, Terms
from circuits.plan.words import split_terms

LANES = 4
# Qubits 0 and 1 in the lanes, 2 to 4 in the rows behind CX(2, 3) and CX(3, 4), 5 in the base.
FLIPS, MASKS = [0b111, 0b110, 0b100], [0b001, 0b011, 0b110]
PLACES = [
    *(Place(1 << q, 1 << q) for q in range(2)),
    *(Place(flip=f, mask=m) for f, m in zip(FLIPS, MASKS, strict=True)),
    Place(base=1),
]


def basis_state(lane: int, row: int, base: int) -> int:
    bits = [lane & 1, lane >> 1, *((row & m).bit_count() & 1 for m in MASKS), base]
    return sum(bit << q for q, bit in enumerate(bits))


def actions(x: int, z: int, state: int) -> complex:
    """Entry <state| P |state ^ x>."""
    return 1j ** (x & z).bit_count() * (-1) ** ((state ^ x) & z).bit_count()


@pytest.mark.parametrize("seed", range(10))
def test_signs_and_flips_of_words(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(int(x), int(z)) for x, z in rng.integers(0, [32, 64], (9, 2))]
    pairs += [(0, 0), (0, 0b11), (0b11, 0b11)]
    terms = Terms(6, tuple(PauliTerm(x, z) for x, z in pairs), np.zeros(12, np.int64), 1)
    words = split_terms(terms)
    part = Part(np.arange(len(words.x_masks)), PLACES)
    placed = place_terms(words, [part], LANES, np.dtype(np.float64))
    signs = placed.signs.reshape(-1, LANES)
    where = {int(t): int(w) for t, w, _ in placed.links}
    for term, (x, z) in enumerate(pairs):
        w = where[term]
        (group,) = [g for g in placed.groups if g[kernels.GROUP_FIRST] <= w < g[kernels.GROUP_LAST]]
        word = placed.words[w]
        for lane, row, base in np.ndindex(LANES, 8, 2):
            partner = lane ^ group[kernels.GROUP_LANES], row ^ group[kernels.GROUP_FLIP], base
            state = basis_state(lane, row, base)
            assert basis_state(*map(int, partner)) == state ^ x
            odd = (row & int(word[0])).bit_count() + (base & int(word[1])).bit_count()
            found = (1j if group[kernels.GROUP_ODD] else 1) * (-1) ** odd
            found *= signs[int(word[kernels.WORD_SIGNS])][lane]
            assert found == actions(x, z, state)


def test_projectors_keep_rows_lanes_and_tiles() -> None:
    terms = Terms(6, (ProjectorTerm(0b111101, 0b101001),), np.zeros(1, np.int64), 1)
    words = split_terms(terms)
    placed = place_terms(words, [Part(np.arange(0), PLACES)], LANES, np.dtype(np.float64))
    (projector,) = placed.projectors
    kept: list[int] = []
    constraints = placed.items[:-1].reshape(-1, 3)
    lanes: NDArray[np.float64] = placed.signs.reshape(-1, LANES)[projector[2]]
    for lane, row, base in np.ndindex(LANES, 8, 2):
        good = lanes[lane] and base & projector[3] == projector[4]
        good = good and all((row & int(m)).bit_count() % 2 == v for _, m, v in constraints)
        kept += [basis_state(lane, row, base)] if good else []
    assert sorted(kept) == [s for s in range(64) if s & 0b111101 == 0b101001]


def test_joined_is_linear() -> None:
    parts = [3, 5, 0, 8]
    found = joined(np.arange(16), parts)
    assert found.tolist() == [
        sum(((row & j).bit_count() & 1) << k for k, row in enumerate(transposed(parts, 4)))
        for j in range(16)
    ]
