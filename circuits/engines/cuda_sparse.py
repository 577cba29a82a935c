"""Sparse terms on a device: values, gradients and lambda by one kernel a term."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff.backends.interface import Array, Backend
from circuits.engines.cuda_calls import REVERSE, Call
from circuits.engines.cuda_program import PART
from circuits.engines.cuda_table import THREADS
from circuits.plan.terms import SparseTerm, Terms
from circuits.plan.words import words_of

ROWS = 1 << 12
"""Rows of a sparse matrix that a block takes, at least."""

# Any in this file: arrays are a device's, with NumPy's methods.


@dataclass(frozen=True, eq=False)
class Rows:
    """A sparse term on a device.

    Attributes:
        position: of the term.
        row: observable that it belongs to.
        starts: where the entries of every row start.
        indices: columns of the entries.
        entries: by dtype.
    """

    position: int
    row: int
    starts: Array
    indices: Array
    entries: dict[Any, Array]


def sparse_rows(backend: Backend, terms: Terms, dtype: np.dtype[Any]) -> tuple[Rows, ...]:
    """Return the sparse terms on a device, sent once."""
    key = f"sparse on {backend.device}"
    found = terms.memo.get(key)
    if not isinstance(found, tuple):
        sparse = words_of(terms).sparse
        found = tuple([_sent(backend, k, int(terms.rows[k]), term) for k, term in sparse])
        terms.memo[key] = found
    for rows, (_, term) in zip(found, words_of(terms).sparse, strict=True):
        if dtype not in rows.entries:
            rows.entries[dtype] = backend.send(term.data.astype(dtype))
    return found


def _sent(backend: Backend, position: int, row: int, term: SparseTerm) -> Rows:
    starts, indices = term.indptr.astype(np.int64), term.indices.astype(np.int64)
    return Rows(position, row, backend.send(starts), backend.send(indices), {})


def sparse_values(call: Call, term: Rows, states: Array) -> Array:
    """Return <psi|A|psi> of every sample, ``(B, 1)``."""
    partial = _product(call, term, states, None, call.scratch)
    totals = call.empty(call.batch, 1)
    call.collect(partial, partial.shape[0] // call.batch, totals, 0)
    return totals


def add_sparse(call: Call, term: Rows, states: Array, factors: Array, lam: Array) -> None:
    """Add factors ``(B,)`` times A psi to lambda ``(B, 2**n)``."""
    _product(call, term, states, factors, lam)


def _product(call: Call, term: Rows, states: Array, factors: Array | None, lam: Array) -> Array:
    """Launch the product; return what every block has of <psi|A|psi>."""
    size = states.shape[1]
    blocks = max(1, size // ROWS)
    partial = call.empty(call.batch * blocks, 1)
    arguments = (
        *(term.starts, term.indices, term.entries[call.dtype]),
        *(np.uint64(size), np.uint64(blocks), np.uint32(REVERSE * (factors is not None))),
        *(states, np.uint64(states.shape[0])),
        *(call.nothing if factors is None else factors, lam, partial),
    )
    call.launch("sparse_product", (call.batch * blocks, 1), THREADS, arguments, PART)
    return partial
