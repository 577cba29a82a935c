"""Steps of every structure, one a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
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
    free = {"function": function, "derivative": function.derivative, "slots": (1, 0)}
    return [free, {"matrix": np.exp(1j * rng.normal(size=1 << size))}]


def _permutations(rng: np.random.Generator, size: int) -> list[dict[str, Any]]:
    orders = [np.arange(1 << size), np.roll(np.arange(1 << size), 1), rng.permutation(1 << size)]
    return [{"permutation": order} for order in orders]


def _matrices(rng: np.random.Generator, size: int) -> list[dict[str, Any]]:
    function = programs.SpectralMatrix(rng, 1 << size, 2)
    free = {"function": function, "derivative": function.derivative, "slots": (2, 2)}
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
