"""Steps of every structure: one a program, or one for each place of its targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import programs
from programs import Case, Program, random_program, random_unitary

from circuits.plan.steps import Plan, Step, Structure


def _words(rng: np.random.Generator, size: int) -> list[dict[str, Any]]:
    words = [letter * size for letter in "XYZI"] + ["YXZY"[:size]]
    return [{"word": word, "slots": (0,)} for word in words] + [{"word": words[0], "angle": 0.3}]


def _diagonals(rng: np.random.Generator, size: int) -> list[dict[str, Any]]:
    function = programs.SpectralDiagonal(rng, 1 << size, 2)
    free = {"slots": (1, 0), **function.fields}
    return [free, {"matrix": np.exp(1j * rng.normal(size=1 << size))}]


def _permutations(rng: np.random.Generator, size: int) -> list[dict[str, Any]]:
    orders = [np.arange(1 << size), np.roll(np.arange(1 << size), 1), rng.permutation(1 << size)]
    return [{"permutation": order} for order in orders]


def _matrices(rng: np.random.Generator, size: int) -> list[dict[str, Any]]:
    function = programs.SpectralMatrix(rng, 1 << size, 2)
    free = {"slots": (2, 2), **function.fields}
    return [free, {"matrix": programs.random_unitary(rng, 1 << size)}, {"source": 0}]


#: What a step of every structure can be, by its number of targets: fields of ``Step``.
ACTIONS: dict[Structure, Callable[[np.random.Generator, int], list[dict[str, Any]]]] = {
    Structure.ROTATION: _words,
    Structure.DIAGONAL: _diagonals,
    Structure.PERMUTATION: _permutations,
    Structure.DENSE: _matrices,
}


def structure_program(
    structure: Structure,
    action: dict[str, Any],
    rng: np.random.Generator,
    case: Case,
    num_targets: int,
    num_controls: int,
) -> Program:
    """A program of one step, on shuffled qubits."""
    qubits = tuple(int(q) for q in rng.permutation(case.num_qubits))
    controls = qubits[num_targets : num_targets + num_controls]
    state = int(rng.integers(0, 1 << num_controls))
    step = Step(structure, qubits[:num_targets], controls, state, **action)
    plan = Plan(case.num_qubits, (step,), 3, num_matrices=int("source" in action))
    given = random_unitary(rng, 1 << num_targets).astype(case.dtype)[None]
    matrices = (given,) if step.source == 0 else ()
    return replace(random_program(case, plan=plan), matrices=matrices)


def places(
    rng: np.random.Generator, num_qubits: int, num_targets: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Every qubit as every target, with up to three controls; of one or two targets, with each.

    Yields:
        Targets and controls, otherwise in random order.
    """
    for role, qubit in product(range(num_targets), range(num_qubits)):
        for num_controls in range(4) if num_targets < 3 else ((role + qubit) % 4,):
            others = [int(q) for q in rng.permutation(num_qubits) if q != qubit]
            others.insert(role, qubit)
            yield tuple(others[:num_targets]), tuple(others[num_targets:][:num_controls])


def position_program(
    structure: Structure, action: dict[str, Any], case: Case, num_targets: int
) -> Program:
    """A program of an action at all ``places``, with angles and matrices of its own at each."""
    rng = np.random.default_rng(case.seed)
    width = 1 + max(action.get("slots", (0,)))
    steps: list[Step] = []
    for k, (targets, controls) in enumerate(places(rng, case.num_qubits, num_targets)):
        own: dict[str, Any] = dict(action)
        if "slots" in action:
            own["slots"] = tuple(slot + width * k for slot in action["slots"])
        if "source" in action:
            own["source"] = k
        state = int(rng.integers(0, 1 << len(controls)))
        steps.append(Step(structure, targets, controls, state, **own))
    given = len(steps) if "source" in action else 0
    plan = Plan(case.num_qubits, tuple(steps), width * len(steps), num_matrices=given)
    made = random_program(case, plan=replace(plan, num_matrices=0))
    matrices = [
        random_unitary(rng, 1 << num_targets)[None].astype(case.dtype) for _ in steps[:given]
    ]
    return replace(made, plan=plan, matrices=tuple(matrices))
