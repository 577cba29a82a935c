"""Pruned plans give the same values and gradients; what they leave out has gradient 0."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import programs
import pytest

from circuits.engines.base import Engine, Wanted
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.reference import ReferenceEngine
from circuits.plan.light_cone import observed, seen_steps, step_support
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, SparseTerm, Term, Terms

ENGINES = [NumbaEngine(), ReferenceEngine()]


def terms_of(num_qubits: int, *terms: Term) -> Terms:
    return Terms(num_qubits, terms, np.zeros(len(terms), np.int64), 1)


def small_terms(rng: np.random.Generator, num_qubits: int) -> list[Terms]:
    """Terms of every kind on one or two qubits."""
    q, p = (int(k) for k in rng.permutation(num_qubits)[:2])
    matrix = programs.random_hermitian(rng, 2)
    return [
        terms_of(num_qubits, PauliTerm(0, 1 << q)),
        terms_of(num_qubits, PauliTerm(1 << q, 1 << q | 1 << p)),
        terms_of(num_qubits, ProjectorTerm(1 << q | 1 << p, 1 << p)),
        terms_of(num_qubits, MatrixTerm(matrix, (q,)), PauliTerm(0, 1 << p)),
        terms_of(num_qubits, PauliTerm(0, 0)),
    ]


def short_plan(rng: np.random.Generator, num_qubits: int, *, given: bool) -> Plan:
    """Random steps with few controls, of which a term does not see all; with or without sources."""
    plan = programs.random_plan(rng, num_qubits, 21)
    steps = [
        replace(s, controls=s.controls[:1], control_state=s.control_state & 1)
        for s in plan.steps
        if len(s.targets) < 3 and (given or s.source is None)
    ]
    return replace(plan, steps=tuple(steps))


def run(engine: Engine, plan: Plan, terms: Terms, seed: int) -> tuple[np.ndarray, ...]:
    """Values, and the gradients of angles, of the state and of matrices."""
    rng = np.random.default_rng(seed)
    state = programs.random_state(rng, 2, 1 << plan.num_qubits)
    angles = rng.normal(size=(2, plan.num_slots))
    matrices = [programs.random_unitary(rng, 2 << k)[None] for k in range(plan.num_matrices)]
    coefficients = rng.normal(size=(1, len(terms.terms)))
    final, values = engine.forward(plan, state, angles, matrices, terms, coefficients)
    assert values is not None
    found = engine.reverse(
        plan,
        final,
        angles,
        matrices,
        Wanted(state=True, angles=True, matrices=True),
        terms=terms,
        coefficients=coefficients,
        weights=np.ones((2, 1)),
    )
    assert found.angles is not None
    assert found.state is not None
    assert found.matrices is not None
    return values, found.angles, found.state, *found.matrices


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("given", [False, True])
def test_values_and_gradients_stay(engine: Engine, seed: int, given: bool) -> None:
    rng = np.random.default_rng(seed)
    plan = short_plan(rng, 5, given=given)
    pruned = 0
    for terms in small_terms(rng, 5):
        cone = observed(plan, terms)
        pruned += len(plan.steps) - len(cone.steps)
        whole, part = run(engine, plan, terms, seed), run(engine, cone, terms, seed)
        for got, want in zip(part, whole, strict=True):
            np.testing.assert_allclose(got, want, atol=1e-12)
        read = {slot for step in cone.steps for slot in step.slots}
        unread = [slot for slot in range(plan.num_slots) if slot not in read]
        assert not part[1][:, unread].any()
    if not given:
        assert pruned > len(plan.steps)  # the constant term alone sees nothing


def rotation(word: str, *targets: int, slot: int = 0) -> Step:
    return Step(Structure.ROTATION, targets, slots=(slot,), word=word)


def test_chain_is_seen_as_far_as_it_reaches() -> None:
    cx = [
        Step(Structure.PERMUTATION, (q + 1,), (q,), 1, permutation=np.array([1, 0]))
        for q in range(3)
    ]
    plan = Plan(4, (*[rotation("Y", q) for q in range(4)], *cx), 1)
    seen = seen_steps(plan, terms_of(4, PauliTerm(0, 0b10)))
    assert seen == (plan.steps[0], plan.steps[1], cx[0])


def test_diagonal_steps_before_a_diagonal_observable_are_not_seen() -> None:
    plan = Plan(2, (rotation("X", 0), rotation("Z", 0), rotation("ZZ", 0, 1)), 1)
    assert seen_steps(plan, terms_of(2, PauliTerm(0, 0b11))) == plan.steps[:1]
    assert seen_steps(plan, terms_of(2, PauliTerm(1, 0))) == plan.steps


def test_sparse_terms_see_every_step() -> None:
    identity = programs.sparse_term(np.eye(4, dtype=complex))
    assert isinstance(identity, SparseTerm)
    plan = Plan(2, (rotation("X", 0), rotation("Z", 1)), 1)
    assert observed(plan, terms_of(2, identity)) is plan


def test_a_cone_is_made_once_and_equal_ones_are_one_plan() -> None:
    plan = Plan(3, tuple(rotation("Y", q, slot=q) for q in range(3)), 3)
    first, second = terms_of(3, PauliTerm(0, 2)), terms_of(3, PauliTerm(2, 0))
    cone = observed(plan, first)
    assert observed(plan, first) is cone
    assert observed(plan, second) is cone
    assert (cone.num_slots, cone.num_matrices) == (3, 0)
    everything = terms_of(3, PauliTerm(0, 7))
    assert observed(plan, everything) is plan


def test_steps_whose_matrix_may_be_differentiated_are_seen() -> None:
    given = Step(Structure.DENSE, (2,), source=0)
    plan = Plan(3, (rotation("Y", 2), rotation("Y", 1), given), 1, 1)
    assert seen_steps(plan, terms_of(3, PauliTerm(0, 1))) == (plan.steps[0], given)


@pytest.mark.parametrize(
    ("step", "support"),
    [
        (rotation("XY", 2, 0), (0b101, 0b101)),
        (rotation("ZI", 1, 0), (0b010, 0)),
        (Step(Structure.DIAGONAL, (), (1,), 1, matrix=np.array([1j])), (0b010, 0)),
        (Step(Structure.DENSE, (2,), (0,), 0, matrix=np.eye(2)), (0b101, 0b100)),
    ],
)
def test_support_of_a_step(step: Step, support: tuple[int, int]) -> None:
    assert step_support(step) == support
