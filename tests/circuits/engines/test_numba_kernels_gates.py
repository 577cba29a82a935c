"""Every kind of instruction on lanes, rows and samples, one step at a time."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import conformance
import numpy as np
import programs
import pytest
from programs import Case, random_program

from circuits.engines import instructions
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.numba_program import Program
from circuits.engines.reference import ReferenceEngine
from circuits.plan.steps import Plan, Step, Structure

ENGINE, REFERENCE = NumbaEngine(), ReferenceEngine()
N = 5
SPECTRAL = programs.SpectralMatrix(np.random.default_rng(0), 2, 1)
FREE = {"slots": (0,), **SPECTRAL.fields}
DIAGONAL = programs.SpectralDiagonal(np.random.default_rng(1), 4, 1)
KINDS: dict[int, dict[str, Any]] = {
    instructions.TURN: {"structure": Structure.DENSE, **FREE},
    instructions.WORD: {"structure": Structure.ROTATION, "word": "YX", "slots": (0,)},
    instructions.PHASE: {"structure": Structure.ROTATION, "word": "ZZ", "slots": (0,)},
    instructions.TABLE: {"structure": Structure.DIAGONAL, "slots": (0,), **DIAGONAL.fields},
}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("controlled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_on_all_qubits(kind: int, controlled: bool, batch: int) -> None:
    size = 1 if kind == instructions.TURN else 2
    for qubits in permutations(range(N), size + 1):
        controls = qubits[size:] if controlled else ()
        step = Step(
            targets=qubits[:size], controls=controls, control_state=int(controlled), **KINDS[kind]
        )
        plan = Plan(N, (step,), 1)
        program = random_program(Case(N, batch, np.complex128), plan=plan)
        results = []
        for engine in (ENGINE, REFERENCE):
            final, values = conformance.run_forward(engine, program)
            gradients = conformance.run_reverse(engine, program, final)
            results.append([final, values, *conformance.parts(gradients)])
        for found, wanted in zip(*results, strict=True):
            conformance.assert_close(found, wanted, 1e-13)


def test_the_kinds_are_what_the_steps_become() -> None:
    for kind, fields in KINDS.items():
        size = 1 if kind == instructions.TURN else 2
        step = Step(targets=(4, 3)[:size], controls=(2,), control_state=1, **fields)
        program = Program(Plan(N, (step,), 1))
        ops = program.shape(1, np.dtype(np.float64), None).layout.schedule.ops
        assert kind in ops[:, instructions.KIND]
