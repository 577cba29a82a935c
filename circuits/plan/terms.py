"""What an engine sees of observables: a flat list of Hermitian terms with real coefficients.

Several observables are rows: term ``t`` belongs to row ``rows[t]``, and row ``k`` has the value
``sum_t [rows[t] == k] c_t <psi|O_t|psi>``. The coefficients are given at run time, so they can be
trained; the terms are fixed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PauliTerm:
    """A Pauli word as bit masks: P = i^{|x & z|} X^x Z^z, so that letters X, Y, Z are exact.

    P |i> = i^{|x & z|} (-1)^{|i & z|} |i ^ x>.
    """

    x_mask: int
    z_mask: int


@dataclass(frozen=True, eq=False)
class ProjectorTerm:
    """Sum of |i><i| over all i with ``i & mask == value``."""

    mask: int
    value: int


@dataclass(frozen=True, eq=False)
class MatrixTerm:
    """A Hermitian ``(d, d)`` matrix on ``targets``, least significant first."""

    matrix: NDArray[np.complexfloating]
    targets: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SparseTerm:
    """A Hermitian ``(2**n, 2**n)`` matrix in compressed sparse row form."""

    data: NDArray[np.complexfloating]
    indices: NDArray[np.int64]
    indptr: NDArray[np.int64]


Term = PauliTerm | ProjectorTerm | MatrixTerm | SparseTerm


@dataclass(frozen=True, eq=False)
class Terms:
    """Observables compiled for one width.

    Attributes:
        num_qubits: width.
        terms: T Hermitian operators.
        rows: ``(T,)`` int64, the observable that each term belongs to.
        num_rows: K observables.
        memo: what an engine derives and keeps, by engine name.
    """

    num_qubits: int
    terms: tuple[Term, ...]
    rows: NDArray[np.int64]
    num_rows: int
    memo: dict[str, object] = field(default_factory=dict, repr=False)


NO_TERMS = Terms(0, (), np.zeros(0, np.int64), 0)
"""No observables."""
