"""Expectation values from shots: each term is measured in its own eigenbasis, independently."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff import Tensor
from autodiff.backends.constants import ConstantArray
from autodiff.dispatch import apply
from autodiff.node import Op
from circuits.engines.base import Engine
from circuits.errors import ObservableError, StateError
from circuits.execute import expectation_of
from circuits.first_order import refuse_sampled
from circuits.plan.steps import Plan
from circuits.plan.terms import PauliTerm, ProjectorTerm, Terms
from circuits.state import check_normalised

# Any in this file: forwards take a backend's arrays.


def sampled_expectation(
    state: Tensor,
    angles: Tensor,
    coefficients: Tensor,
    matrices: Sequence[Tensor],
    plan: Plan,
    terms: Terms,
    engine: Engine,
    shots: int,
    generator: np.random.Generator,
    *,
    single: bool,
) -> Tensor:
    """Return an estimate with ``shots`` samples a term, and no derivative.

    Raises:
        ObservableError: a term other than Pauli words and projectors.
        StateError: an initial state that is not normalised, or amplitudes that are not finite.
    """
    for term in terms.terms:
        if not isinstance(term, PauliTerm | ProjectorTerm):
            raise ObservableError(
                f"shots need Pauli words and projectors, got {type(term).__name__}. "
                "Decompose the matrix into Pauli words, or leave shots out."
            )
    check_normalised(state, "shots need")
    each, ones, rows = _apart(terms)
    ones = ones.to(state.device)
    exact = expectation_of(state, angles, ones, matrices, plan, each, engine, single=False)
    drawn = Tensor(_draw(exact.numpy(), terms, shots, generator), device=exact.device)
    attrs = {"rows": rows, "num_rows": terms.num_rows, "single": single}
    return apply(_SAMPLED, exact, coefficients, drawn, **attrs)


def _apart(terms: Terms) -> tuple[Terms, Tensor, ConstantArray]:
    """Return each term as an observable of its own, their coefficients, and the terms' rows.

    The same at every call, so that a device gets them once.
    """
    found = terms.memo.get("apart")
    if not isinstance(found, tuple):
        count = len(terms.terms)
        each = Terms(terms.num_qubits, terms.terms, np.arange(count), count)
        found = terms.memo["apart"] = each, Tensor(np.ones(count)), ConstantArray(terms.rows)
    return found


def _draw(exact: Any, terms: Terms, shots: int, generator: np.random.Generator) -> Any:
    """Draw the mean outcome of every term: +-1 for a Pauli word, 0 or 1 for a projector."""
    if not np.isfinite(exact).all():
        raise StateError("shots need finite probabilities, got NaN. Check angles and inputs.")
    signs = np.array([isinstance(term, PauliTerm) for term in terms.terms], bool)
    chance = np.where(signs, (1 + exact) / 2, exact)
    mean = generator.binomial(shots, np.clip(chance, 0.0, 1.0)) / shots
    return np.where(signs, 2 * mean - 1, mean)


def _sampled(
    xp: Any,
    exact: Any,
    coefficients: Any,
    drawn: Any,
    rows: ConstantArray,
    num_rows: int,
    single: bool,
) -> Any:
    values = xp.zeros((*drawn.shape[:-1], num_rows))
    xp.add.at(values.T, rows.array, (drawn * coefficients).T)
    return (values[..., 0] if single else values).astype(exact.dtype)


_SAMPLED = Op("sampled_expectation", _sampled, refuse_sampled)
