"""Terms of observables as dense matrices, entry by entry."""

from __future__ import annotations

import numpy as np

from circuits.engines.reference import parity_signs, step_indices
from circuits.plan.steps import ComplexArray, Step, Structure
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, Term


def add_term(total: ComplexArray, term: Term, factor: complex) -> None:
    """Add a multiple of a term to a matrix ``(2**n, 2**n)``, in place, touching its entries only.

    >>> total = np.zeros((2, 2), complex)
    >>> add_term(total, PauliTerm(1, 1), 0.5)  # Y
    >>> total.tolist()
    [[0j, -0.5j], [0.5j, 0j]]
    """
    basis = np.arange(len(total), dtype=np.int64)
    if isinstance(term, PauliTerm):
        phase = (1, 1j, -1, -1j)[(term.x_mask & term.z_mask).bit_count() % 4]
        total[basis ^ term.x_mask, basis] += factor * phase * parity_signs(basis & term.z_mask)
    elif isinstance(term, ProjectorTerm):
        held = basis[(basis & term.mask) == term.value]
        total[held, held] += factor
    elif isinstance(term, MatrixTerm):
        step = Step(Structure.DENSE, term.targets)
        places = step_indices(step, len(total).bit_length() - 1)
        for row, values in zip(places, factor * term.matrix, strict=True):
            total[row, places] += values[:, None]
    else:
        rows = np.repeat(basis, np.diff(term.indptr))
        total[rows, term.indices] += factor * term.data
