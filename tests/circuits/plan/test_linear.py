"""GF(2): affine permutations, CX circuits, constraints."""

from __future__ import annotations

import numpy as np
import pytest

from circuits.plan.linear import affine_part, cx_circuit, reduced, transposed


def random_rows(rng: np.random.Generator, bits: int) -> list[int]:
    """Rows of a random invertible matrix."""
    rows = [1 << k for k in range(bits)]
    for _ in range(4 * bits):
        source, target = (int(k) for k in rng.permutation(bits)[:2])
        rows[target] ^= rows[source]
    return [rows[k] for k in rng.permutation(bits)]


def apply(rows: list[int], state: int) -> int:
    return sum(((row & state).bit_count() & 1) << k for k, row in enumerate(rows))


@pytest.mark.parametrize("bits", [2, 3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_affine_maps_are_found_and_made_of_cx(bits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, offset = random_rows(rng, bits), int(rng.integers(1 << bits))
    images = np.array([apply(rows, j) ^ offset for j in range(1 << bits)])
    assert affine_part(images) == (rows, offset)
    order, pairs = cx_circuit(rows)
    for j in range(1 << bits):
        state = sum(((j >> origin) & 1) << k for k, origin in enumerate(order))
        for control, target in pairs:
            state ^= ((state >> control) & 1) << target
        assert state == apply(rows, j)


def test_other_permutations_are_not_affine() -> None:
    assert affine_part(np.array([0, 1, 2, 4, 3, 5, 6, 7])) is None


def test_transposed_twice_is_the_matrix() -> None:
    rows = random_rows(np.random.default_rng(0), 5)
    assert transposed(transposed(rows, 5), 5) == rows


@pytest.mark.parametrize("seed", range(10))
def test_reduced_constraints_select_the_same_states(seed: int) -> None:
    rng = np.random.default_rng(seed)
    given = [(row, int(rng.integers(2))) for row in random_rows(rng, 6)[:3]]
    found = reduced(given)
    assert [pivot for pivot, _, _ in found] == sorted(pivot for pivot, _, _ in found)
    for pivot, mask, _ in found:
        assert [p for p, _, _ in found if p & mask] == [pivot]
    for j in range(64):
        wanted = all((j & mask).bit_count() % 2 == value for mask, value in given)
        assert wanted == all((j & mask).bit_count() % 2 == value for _, mask, value in found)
