"""One reverse call: what is wanted comes back in one order, as its shape rule says."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from counting import CountingEngine
from programs import Case, random_program

from autodiff import GradientError, Tensor
from autodiff.dispatch import apply
from circuits.engines.base import Wanted
from circuits.engines.reference import ReferenceEngine
from circuits.sweeping import gradient_metas, reverse_op, spread, swept

FLAGS = [Wanted(*flags) for flags in product((False, True), repeat=4)]


def sweep(wanted: Wanted, rows: int | None, engine: Any) -> tuple[list[Any], Any]:
    p = random_program(Case(3, 2, np.complex128))
    final, _ = ReferenceEngine().forward(p.plan, p.state, p.angles, p.matrices)
    start = {"terms": p.terms, "coefficients": p.coefficients}
    weights = p.weights if rows is None else np.concatenate([p.weights, 2 * p.weights])
    operands = (p.plan, final, p.angles, p.matrices, wanted, rows)
    return swept(np, engine.reverse, *operands, weights=weights, **start), p


@pytest.mark.parametrize("wanted", FLAGS)
def test_what_is_wanted_comes_in_order_and_shape(wanted: Wanted) -> None:
    engine = CountingEngine(ReferenceEngine())
    found, p = sweep(wanted, None, engine)
    operands = [p.state, p.angles, p.coefficients, *p.matrices]
    state, angles, coefficients, *matrices = [(x.shape, x.dtype) for x in operands]
    metas = gradient_metas(wanted, state, angles, coefficients, matrices)
    assert [(x.shape, x.dtype) for x in found] == metas
    assert engine.calls == {"reverse": 1}


def test_rows_share_the_final_states_in_one_call() -> None:
    wanted, engine = Wanted(True, True, True, True), CountingEngine(ReferenceEngine())
    single, _ = sweep(wanted, None, ReferenceEngine())
    double, _ = sweep(wanted, 2, engine)
    assert engine.calls == {"reverse": 1}
    for one, two in zip(single, double, strict=True):
        np.testing.assert_allclose(two, np.concatenate([one, 2 * one]), rtol=0, atol=1e-12)


def test_gradients_go_to_those_who_asked() -> None:
    a, b = Tensor(1.0), Tensor(2.0)
    assert spread([a, b], [False, True, True, False]) == [None, a, b, None]


def test_a_reverse_op_is_first_order() -> None:
    op = reverse_op("doubled", lambda xp, x: (2 * x,), lambda x: (x,))
    (found,) = apply(op, Tensor(3.0, requires_grad=True))
    with pytest.raises(GradientError, match="a second derivative through a circuit"):
        found.backward()
