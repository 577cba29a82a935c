"""Every pass keeps the unitary, the values and the gradients of random plans."""

from __future__ import annotations

from dataclasses import dataclass, replace

import dense
import numpy as np
from block_steps import blocks_plan, global_phase, rename
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import random_plan, random_state, random_terms, random_unitary

from circuits.engines.base import Engine, Wanted
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.reference import ReferenceEngine
from circuits.plan.fusion import fuse
from circuits.plan.light_cone import observed
from circuits.plan.steps import Plan
from circuits.plan.terms import Terms


@dataclass(frozen=True)
class DrawnPlan:
    """A plan with operands for it."""

    plan: Plan
    angles: np.ndarray
    matrices: list[np.ndarray]
    seed: int


@st.composite
def plans(draw: st.DrawFn) -> DrawnPlan:
    """Some of the steps of a random plan of every structure, on 1 to 5 qubits."""
    seed = draw(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    whole = random_plan(rng, draw(st.integers(1, 5)), 21)
    kept = draw(st.lists(st.integers(0, 20), max_size=21))
    steps = [replace(whole.steps[k], position=position) for position, k in enumerate(kept)]
    matrices = [random_unitary(rng, 2 << k) for k in range(whole.num_matrices)]
    angles = rng.normal(size=whole.num_slots)
    return DrawnPlan(replace(whole, steps=tuple(steps)), angles, matrices, seed)


@settings(max_examples=150)
@given(plans())
def test_fusion_keeps_the_unitary(drawn: DrawnPlan) -> None:
    fused = fuse(drawn.plan)
    found = dense.plan_matrix(blocks_plan(fused, fused.blocks), drawn.angles, drawn.matrices)
    renamed = np.empty_like(found)
    renamed[rename(fused.wires)] = found * np.exp(1j * global_phase(fused, drawn.angles))
    expected = dense.plan_matrix(drawn.plan, drawn.angles, drawn.matrices)
    np.testing.assert_allclose(renamed, expected, rtol=0, atol=1e-12)


def run(engine: Engine, drawn: DrawnPlan, plan: Plan, terms: Terms) -> tuple[np.ndarray, ...]:
    """Final states, values, and the gradients of angles, state and matrices for a plan."""
    rng = np.random.default_rng(drawn.seed)
    state = random_state(rng, 2, 1 << plan.num_qubits)
    angles = np.stack([drawn.angles, -drawn.angles])
    matrices = [m[None] for m in drawn.matrices]
    coefficients = rng.normal(size=(1, len(terms.terms)))
    final, values = engine.forward(plan, state, angles, matrices, terms, coefficients)
    assert values is not None
    found = engine.reverse(
        plan,
        final.copy(),
        angles,
        matrices,
        Wanted(state=True, angles=True, matrices=True),
        terms=terms,
        coefficients=coefficients,
        weights=rng.normal(size=(2, terms.num_rows)),
    )
    assert found.angles is not None
    assert found.state is not None
    return final, values, found.angles, found.state, *[np.asarray(m) for m in found.matrices or ()]


@settings(max_examples=60)
@given(plans())
def test_engines_agree_in_values_and_gradients(drawn: DrawnPlan) -> None:
    terms = random_terms(np.random.default_rng(drawn.seed), drawn.plan.num_qubits)
    fast, slow = (run(e, drawn, drawn.plan, terms) for e in (NumbaEngine(), ReferenceEngine()))
    for found, expected in zip(fast, slow, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@settings(max_examples=60)
@given(plans(), st.data())
def test_light_cone_keeps_values_and_gradients(drawn: DrawnPlan, data: st.DataObject) -> None:
    terms = random_terms(np.random.default_rng(drawn.seed), drawn.plan.num_qubits)
    kept = data.draw(st.lists(st.sampled_from(range(len(terms.terms))), min_size=1, max_size=2))
    few = replace(terms, terms=tuple(terms.terms[k] for k in kept), rows=terms.rows[kept])
    engine = ReferenceEngine()
    _, *whole = run(engine, drawn, drawn.plan, few)
    _, *pruned = run(engine, drawn, observed(drawn.plan, few), few)
    for found, expected in zip(pruned, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
