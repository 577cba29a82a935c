"""Observables wider than a block of the Walsh-Hadamard transforms, against the reference engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import conformance
import numpy as np
import programs
import pytest
from programs import Case, random_program
from programs import Program as Operands

from circuits.engines import numba_kernels_terms as term_kernels
from circuits.engines.base import Engine
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.reference import ReferenceEngine
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, SparseTerm, Term, Terms


def wide_terms(rng: np.random.Generator, num_qubits: int) -> Terms:
    """Terms of every kind, with flips within a block of the Pauli sums and beyond it."""
    dim = 1 << num_qubits
    terms: list[Term] = [PauliTerm(0, 0), PauliTerm(1, 1), PauliTerm(dim >> 1, dim - 1)]
    for x in [*rng.integers(0, dim, 4), *rng.integers(0, 64, 4), 0, 0]:
        terms += [PauliTerm(int(x), int(z)) for z in rng.integers(0, dim, 3)]
    terms += [ProjectorTerm(int(m), int(m) & int(v)) for m, v in rng.integers(0, dim, (4, 2))]
    terms.append(MatrixTerm(programs.random_hermitian(rng, 8), (num_qubits - 1, 0, 2)))
    diagonal = rng.normal(size=dim).astype(complex)
    terms.append(SparseTerm(diagonal, np.arange(dim), np.arange(dim + 1)))
    rows = rng.integers(0, 3, len(terms)).astype(np.int64)
    return Terms(num_qubits, tuple(terms), rows, 3)


def wide_program(num_qubits: int, batch: int, dtype: type[np.complexfloating]) -> Operands:
    """A random program with the terms above."""
    rng = np.random.default_rng(num_qubits)
    plan = programs.random_plan(rng, num_qubits, 40)
    narrow = random_program(Case(2, batch, dtype), plan=plan)
    terms = wide_terms(rng, num_qubits)
    real = narrow.angles.dtype
    return replace(
        narrow,
        terms=terms,
        state=programs.random_state(rng, batch, 1 << num_qubits).astype(dtype),
        coefficients=rng.normal(size=(batch, len(terms.terms))).astype(real),
        weights=rng.normal(size=(batch, terms.num_rows)).astype(real),
        cotangent=programs.random_state(rng, batch, 1 << num_qubits).astype(dtype),
    )


def results(engine: Engine, program: Operands) -> list[np.ndarray[Any, Any]]:
    """Final state, values, and all gradients of the values."""
    final, values = conformance.run_forward(engine, program)
    gradients = conformance.run_reverse(engine, program, final, measured=True)
    return [final, values, *conformance.parts(gradients)]


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize(("num_qubits", "batch"), [(7, 3), (9, 2), (12, 1)])
def test_agrees_with_reference_beyond_a_block_of_the_pauli_sums(
    num_qubits: int, batch: int, dtype: type[np.complexfloating]
) -> None:
    assert 1 << num_qubits > term_kernels.BLOCK
    program = wide_program(num_qubits, batch, dtype)
    tolerance = 1e-11 if dtype is np.complex128 else 1e-5
    expected = results(ReferenceEngine(), program)
    for got, want in zip(results(NumbaEngine(), program), expected, strict=True):
        conformance.assert_close(got, want, tolerance)
