"""Sparse terms on a device."""

from __future__ import annotations

import numpy as np
from programs import random_hermitian, random_state, sparse_term

from autodiff.backends.emulated_backend import EmulatedBackend
from circuits.engines.base import Wanted
from circuits.engines.cuda import CudaEngine
from circuits.engines.cuda_sparse import sparse_rows
from circuits.plan.steps import Plan
from circuits.plan.terms import PauliTerm, Terms


def test_sparse_terms_are_sent_once_and_give_values_and_gradients() -> None:
    rng = np.random.default_rng(0)
    matrix = random_hermitian(rng, 8)
    terms = Terms(3, (PauliTerm(0, 1), sparse_term(matrix)), np.array([0, 1]), 2)
    backend = EmulatedBackend()
    rows = sparse_rows(backend, terms, np.dtype(np.complex128))
    uploads = backend.stats.uploads
    assert sparse_rows(backend, terms, np.dtype(np.complex128)) is rows
    assert backend.stats.uploads == uploads == 3
    states, coefficients = random_state(rng, 4, 8), np.array([[0.0, 2.0]])
    engine, plan, angles = CudaEngine(backend), Plan(3, (), 0), np.zeros((1, 0))
    _, values = engine.forward(plan, states, angles, (), terms, coefficients)
    products = states @ matrix.T
    np.testing.assert_allclose(values[:, 1], 2 * np.vecdot(states, products).real, atol=1e-12)
    weights = rng.normal(size=(4, 2))
    wanted = Wanted(state=True, coefficients=True)
    start = {"terms": terms, "coefficients": coefficients, "weights": weights}
    found = engine.reverse(plan, states, angles, (), wanted, **start)
    assert found.state is not None
    assert found.coefficients is not None
    np.testing.assert_allclose(found.state, 4 * weights[:, 1:] * products, atol=1e-12)
    expected = weights[:, 1] * np.vecdot(states, products).real
    np.testing.assert_allclose(found.coefficients[:, 1], expected, atol=1e-12)
