"""Columns of a call and of its results, and gradients through one-qubit matrices."""

from __future__ import annotations

import numpy as np
import programs
import pytest

from circuits.engines.numba_columns import (
    Columns,
    as_matrices,
    member_columns,
    member_results,
    turn_gradients,
)
from circuits.plan.fusion import fuse

PAULIS = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])


def test_columns_of_functions_and_matrices_do_not_overlap() -> None:
    rng = np.random.default_rng(0)
    plan = programs.random_plan(rng, 4, 60)
    fused = fuse(plan)
    columns = Columns.place(fused)
    taken = np.zeros(columns.width, int)
    results = np.zeros(columns.out_width, int)
    taken[:2] = 1
    for start, out, f in zip(columns.starts, columns.outs, fused.functions, strict=True):
        taken[start : start + len(f.slots) * member_columns(f.size, f.diagonal)] += 1
        results[out : out + len(f.slots) * member_results(f.size, f.diagonal)] += 1
    for source, size in fused.matrices.items():
        taken[columns.given[source] :][: 2 * size * size] += 1
        results[columns.given_outs[source] :][: 2 * size * size] += 1
    assert (taken == 1).all()
    assert (results == 1).all()


@pytest.mark.parametrize("controlled", [False, True])
def test_gradient_of_a_matrix_is_that_of_its_generator(controlled: bool) -> None:
    """d/dt Re <lambda|U psi> against the environments of the same vectors."""
    rng = np.random.default_rng(0)
    function = programs.SpectralMatrix(rng, 2, 2)
    angles = rng.normal(size=(1, 1, 2))
    before, lam = programs.random_state(rng, 2, 2)
    psi = function(angles[0, 0]) @ before
    found = [np.vdot(lam, pauli @ psi).imag for pauli in PAULIS]
    dot = np.vdot(lam, psi).imag
    environments = np.array([[[*found, dot if controlled else np.nan]]])
    parts = turn_gradients(
        environments,
        function(angles).reshape(1, 1, 4),
        function.derivative(angles).reshape(1, 1, 2, 4),
        np.array([controlled]),
        np.array([[np.nan if controlled else dot]]),
    )
    exact = [np.vdot(lam, d @ before).real for d in function.derivative(angles[0, 0])]
    np.testing.assert_allclose(parts[0, 0], exact, atol=1e-14)


def test_diagonals_become_matrices() -> None:
    np.testing.assert_array_equal(as_matrices(np.array([[1.0, 2.0]])), [[[1, 0], [0, 2]]])
