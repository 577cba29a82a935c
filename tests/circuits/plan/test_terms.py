"""The formula by which masks stand for Pauli words."""

from __future__ import annotations

import dense
import numpy as np
import pytest

from circuits.plan.terms import PauliTerm


@pytest.mark.parametrize("masks", list(np.ndindex(8, 8)), ids=str)
def test_masks_are_exact_words(masks: tuple[int, ...]) -> None:
    x, z = masks
    matrix = np.zeros((8, 8), complex)
    for i in range(8):
        matrix[i ^ x, i] = 1j ** (x & z).bit_count() * (-1) ** (i & z).bit_count()
    np.testing.assert_allclose(matrix, dense.term_matrix(PauliTerm(x, z), 3), rtol=0, atol=1e-15)
