"""What the drivers compile, and that samples do not see each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import conformance
import numpy as np
import pytest
from programs import Case, random_program
from programs import Program as Operands

from circuits.engines import numba_kernels_drivers as drivers
from circuits.engines.base import Engine
from circuits.engines.numba_cpu import NumbaEngine

ENGINE = NumbaEngine()


def results(engine: Engine, program: Operands) -> list[np.ndarray[Any, Any]]:
    """Final state, values, and all gradients of the values."""
    final, values = conformance.run_forward(engine, program)
    gradients = conformance.run_reverse(engine, program, final, measured=True)
    return [final, values, *conformance.parts(gradients)]


def test_nothing_is_compiled_for_another_circuit_or_kind_of_array() -> None:
    results(ENGINE, random_program(Case(3, 2, np.complex128)))
    used = (drivers.forward, drivers.reverse)
    before = [len(driver.signatures) for driver in used]
    program = random_program(Case(5, 3, np.complex128, seed=1))
    for array in (program.state, program.angles, program.coefficients, program.cotangent):
        array.flags.writeable = False
    results(ENGINE, program)
    final, _ = conformance.run_forward(ENGINE, program)
    final.flags.writeable = False
    conformance.run_reverse(ENGINE, program, final[:, ::-1])
    assert [len(driver.signatures) for driver in used] == before


@pytest.mark.parametrize("num_qubits", [3, 11])
def test_a_sample_does_not_depend_on_the_others(num_qubits: int) -> None:
    program = random_program(Case(num_qubits, 7, np.complex128, num_steps=12))
    order = np.array([3, 6, 0, 2, 5, 1, 4])
    names = ("state", "angles", "coefficients", "weights", "cotangent")
    other = replace(
        program,
        matrices=tuple(m[order] for m in program.matrices),
        **{name: getattr(program, name)[order] for name in names},
    )
    for first, second in zip(results(ENGINE, program), results(ENGINE, other), strict=True):
        np.testing.assert_array_equal(first[order], second)
