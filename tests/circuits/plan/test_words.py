"""Terms as words: every kind keeps its operator."""

from __future__ import annotations

import dense
import numpy as np
import programs
import pytest

from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, Terms
from circuits.plan.words import pauli_expansion, split_terms


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pauli_expansion_is_the_matrix(size: int) -> None:
    rng = np.random.default_rng(size)
    term = MatrixTerm(programs.random_hermitian(rng, 1 << size), (3, 0, 2)[:size])
    total = sum(c * dense.term_matrix(PauliTerm(x, z), 4) for x, z, c in pauli_expansion(term))
    np.testing.assert_allclose(total, dense.term_matrix(term, 4), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_links_add_up_to_the_terms(seed: int) -> None:
    terms = programs.random_terms(np.random.default_rng(seed), 3)
    words = split_terms(terms)
    pairs = zip(words.x_masks.tolist(), words.z_masks.tolist(), strict=True)
    parts = [PauliTerm(x, z) for x, z in pairs]
    assert len({(p.x_mask, p.z_mask) for p in parts}) == len(parts)
    everything = [*parts, *[ProjectorTerm(m, v) for m, v in words.projectors.tolist()]]
    sums = [np.zeros((8, 8), complex) for _ in terms.terms]
    for (term, part, row), share in zip(words.links.tolist(), words.shares, strict=True):
        assert row == terms.rows[term]
        sums[term] += share * dense.term_matrix(everything[part], 3)
    for position, sparse in words.sparse:
        sums[position] += dense.term_matrix(sparse, 3)
    for found, term in zip(sums, terms.terms, strict=True):
        np.testing.assert_allclose(found, dense.term_matrix(term, 3), atol=1e-12)


def test_no_terms() -> None:
    words = split_terms(Terms(2, (), np.zeros(0, np.int64), 0))
    assert words.links.shape == (0, 3)
