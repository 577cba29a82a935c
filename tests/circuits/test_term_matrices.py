"""Matrices of terms: what the reference engine applies to every basis state."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from circuits.engines.reference import apply_term
from circuits.observable_base import Observable
from circuits.observables import Hermitian, Projector, SparseHermitian
from circuits.pauli import PauliSum
from circuits.plan.terms import Term
from circuits.term_matrices import add_term

RNG = np.random.default_rng(5)
WIDTH = 4


def hermitian(size: int) -> np.ndarray:
    m = RNG.normal(size=(size, size)) + 1j * RNG.normal(size=(size, size))
    return m + m.conj().T


def sparse() -> SparseHermitian:
    kept = hermitian(16)
    kept[abs(kept) < 3] = 0
    return SparseHermitian(csr_array(kept))


OBSERVABLES: dict[str, Observable] = {
    **{label: PauliSum({label: 1.0}) for label in ("IIII", "XIZY", "YYYY", "YYYI", "ZIIZ", "IYXX")},
    "projector": Projector("10", (3, 1)),
    "one qubit": Hermitian(hermitian(2), 2),
    "out of order": Hermitian(hermitian(4), (3, 0)),
    "all qubits": Hermitian(hermitian(16), (1, 3, 0, 2)),
    "sparse": sparse(),
}


def term_of(name: str) -> Term:
    (operator,) = OBSERVABLES[name]._terms
    term: Term = operator.term()
    return term


@pytest.mark.parametrize("name", OBSERVABLES)
def test_columns_are_what_the_reference_engine_makes_of_basis_states(name: str) -> None:
    term, factor = term_of(name), 0.5 - 2j
    start = RNG.normal(size=(1 << WIDTH,) * 2) + 0j
    total = start.copy()
    add_term(total, term, factor)
    applied = apply_term(term, np.eye(1 << WIDTH, dtype=np.complex128)).T
    np.testing.assert_allclose(total - start, factor * applied, atol=1e-14)


def test_every_kind_of_term_is_compared() -> None:
    kinds = {type(term_of(name)) for name in OBSERVABLES}
    assert kinds == set(Term.__args__)
