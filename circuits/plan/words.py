"""Observables as distinct Pauli words, projectors, and sparse matrices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, SparseTerm, Terms

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Words:
    """Terms as sums of W distinct words and P projectors.

    Attributes:
        x_masks: ``(W,)``; the words are those of PauliTerm.
        z_masks: ``(W,)``.
        projectors: masks and values ``(P, 2)``.
        links: ``(L, 3)`` term, position among words and then projectors, row of the term.
        shares: ``(L,)``: a term is the sum of its links' shares times what they name.
        sparse: position and matrix of every sparse term.
    """

    x_masks: Integers
    z_masks: Integers
    projectors: Integers
    links: Integers
    shares: NDArray[np.float64]
    sparse: tuple[tuple[int, SparseTerm], ...]


def words_of(terms: Terms) -> Words:
    """Return the words of observables, made once."""
    found = terms.memo.get("words")
    if not isinstance(found, Words):
        found = terms.memo["words"] = split_terms(terms)
    return found


def split_terms(terms: Terms) -> Words:
    """Return the terms as words, projectors and sparse matrices.

    >>> words = split_terms(Terms(2, (PauliTerm(0, 1), PauliTerm(0, 1)), np.array([0, 1]), 2))
    >>> words.z_masks.tolist(), words.links.tolist()
    ([1], [[0, 0, 0], [1, 0, 1]])
    """
    known: dict[tuple[int, int], int] = {}
    links: list[tuple[int, int]] = []
    shares: list[float] = []
    projectors: list[tuple[int, int]] = []
    selected: list[int] = []
    sparse: list[tuple[int, SparseTerm]] = []
    for position, term in enumerate(terms.terms):
        if isinstance(term, PauliTerm):
            links.append((position, known.setdefault((term.x_mask, term.z_mask), len(known))))
            shares.append(1.0)
        elif isinstance(term, ProjectorTerm):
            projectors.append((term.mask, term.value))
            selected.append(position)
        elif isinstance(term, MatrixTerm):
            for x, z, share in pauli_expansion(term):
                links.append((position, known.setdefault((x, z), len(known))))
                shares.append(share)
        else:
            sparse.append((position, term))
    for k, position in enumerate(selected):
        links.append((position, len(known) + k))
        shares.append(1.0)
    pairs = np.array(links, np.int64).reshape(-1, 2)
    masks = np.array(list(known), np.int64).reshape(-1, 2)
    return Words(
        masks[:, 0].copy(),
        masks[:, 1].copy(),
        np.array(projectors, np.int64).reshape(-1, 2),
        np.column_stack([pairs, np.asarray(terms.rows)[pairs[:, 0]]]).astype(np.int64),
        np.array(shares),
        tuple(sparse),
    )


def pauli_expansion(term: MatrixTerm) -> list[tuple[int, int, float]]:
    """Return x mask, z mask and coefficient of the words of a Hermitian matrix.

    The coefficient of P is Tr(P M) / d. With P = i^{|x & z|} X^x Z^z it is, for every x, a
    transform over z of the entries M[j, j ^ x].
    """
    size = len(term.matrix)
    local = np.arange(size)
    signs = 1 - 2 * (np.bitwise_count(local[:, None] & local).astype(np.int64) & 1)
    powers = np.array([1, 1j, -1, -1j])
    spread = np.zeros(size, np.int64)
    for k, qubit in enumerate(term.targets):
        spread |= ((local >> k) & 1) << qubit
    found = []
    for x in range(size):
        entries = term.matrix[local, local ^ x]
        factors = powers[np.bitwise_count(x & local) % 4]
        coefficients = (factors * (signs @ entries)).real / size
        for z in np.flatnonzero(coefficients):
            found.append((int(spread[x]), int(spread[z]), float(coefficients[z])))
    return found
