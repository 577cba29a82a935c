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


@pytest.mark.parametrize("flip", [0, 0b10, 0b1000001])
@pytest.mark.parametrize(("num_qubits", "batch"), [(2, 1), (7, 1), (7, 9), (14, 1)])
def test_words_in_small_groups_are_as_in_large_ones(num_qubits: int, batch: int, flip: int) -> None:
    """One word alone is summed by its sign, many of a flip by a transform; gradients likewise."""
    rng, dim = np.random.default_rng(0), 1 << num_qubits
    words = [PauliTerm(flip % dim, int(z)) for z in [0, *rng.integers(1, dim, 30)]]
    plan = programs.rotations(num_qubits, 6)
    program = random_program(Case(2, batch, np.complex128), plan=plan)
    program = replace(program, state=programs.random_state(rng, batch, dim))
    every = np.arange(len(words))
    together = replace(
        program,
        terms=Terms(num_qubits, tuple(words), every, len(words)),
        coefficients=np.ones((1, len(words))),
        weights=np.ones((batch, len(words))),
    )
    found = results(NumbaEngine(), together)
    assert len(words) > 4 * term_kernels.FEW
    totals = [np.zeros_like(part) for part in found]
    for t, word in enumerate(words):
        alone = replace(
            together,
            terms=Terms(num_qubits, (word,), np.zeros(1, np.int64), 1),
            coefficients=np.ones((1, 1)),
            weights=np.ones((batch, 1)),
        )
        _, values, state, angles, _ = results(NumbaEngine(), alone)
        conformance.assert_close(values[:, 0], found[1][:, t], 1e-12)
        totals[2] += state
        totals[3] += angles
    conformance.assert_close(totals[2], found[2], 1e-11)
    conformance.assert_close(totals[3], found[3], 1e-11)
