"""Pass: leave out steps that the observables asked for do not see.

<psi|U^dagger O U|psi> = <psi|O|psi> where U commutes with O. Going back from the end, O grows to
U^dagger O U for every step U that is kept. An operator's support and the qubits on which it is not
diagonal are known of both; two operators commute if both are diagonal on every qubit that they
share, and products of operators that are diagonal on a qubit are so too.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, Terms

_KEY = "light cones"


def observed(plan: Plan, terms: Terms) -> Plan:
    """Return the plan without the steps that the values of the terms do not depend on.

    Angles and matrices keep their places; the gradients of those that no step reads are 0. The
    plan itself is returned where every step is seen. Made once for a plan and terms.

    >>> import numpy as np
    >>> steps = [Step(Structure.ROTATION, (q,), slots=(q,), word="Y") for q in (0, 1)]
    >>> terms = Terms(2, (PauliTerm(0, 0b10),), np.zeros(1, np.int64), 1)
    >>> [step.targets for step in observed(Plan(2, tuple(steps), 2), terms).steps]
    [(1,)]
    """
    known = plan.memo.get(_KEY)
    if not isinstance(known, WeakKeyDictionary):
        known = plan.memo[_KEY] = WeakKeyDictionary()
    found: Plan | None = known.get(terms)
    if found is None:
        kept = seen_steps(plan, terms)
        whole = len(kept) == len(plan.steps)
        found = plan if whole else replace(plan, steps=kept, partial=True, memo={})
        # Pruned plans are found again by their steps, so that equal ones share their programs.
        found = next((p for p in known.values() if p.steps == kept), found)
        known[terms] = found
    return found


def seen_steps(plan: Plan, terms: Terms) -> tuple[Step, ...]:
    """Return the steps that some term sees, in order."""
    support, mixed = terms_support(terms)
    kept: list[Step] = []
    for step in reversed(plan.steps):
        touched, moved = step_support(step)
        # The derivative by a matrix's entries asks for M^dagger O M also where M is not unitary.
        if touched & mixed | moved & support or step.source is not None:
            support |= touched
            mixed |= moved
            kept.append(step)
    return tuple(reversed(kept))


def terms_support(terms: Terms) -> tuple[int, int]:
    """Return bits of the qubits that terms act on, and on which one of them is not diagonal."""
    support = mixed = 0
    for term in terms.terms:
        if isinstance(term, PauliTerm):
            support, mixed = support | term.x_mask | term.z_mask, mixed | term.x_mask
        elif isinstance(term, ProjectorTerm):
            support |= term.mask
        elif isinstance(term, MatrixTerm):
            targets = sum(1 << q for q in term.targets)
            support, mixed = support | targets, mixed | targets
        else:
            everything = (1 << terms.num_qubits) - 1
            return everything, everything
    return support, mixed


def step_support(step: Step) -> tuple[int, int]:
    """Return bits of the qubits that a step acts on, and on which it is not diagonal."""
    targets = sum(1 << q for q in step.targets)
    touched = targets | step.control_mask
    if step.structure is Structure.ROTATION:
        return step.x_mask | step.z_mask | step.control_mask, step.x_mask
    return touched, 0 if step.structure is Structure.DIAGONAL else targets
