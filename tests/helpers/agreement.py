"""What two engines return for one program agrees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import conformance
import numpy as np
from numpy.typing import NDArray
from programs import Program

from circuits.engines.base import Engine
from circuits.engines.reference import ReferenceEngine

EITHER_START = (False, True)
REFERENCE = ReferenceEngine()


def results(
    engine: Engine, program: Program, starts: Sequence[bool] = EITHER_START
) -> list[NDArray[Any]]:
    """Final state, values, and all gradients: from a cotangent, from what is measured."""
    final, values = conformance.run_forward(engine, program)
    swept = [conformance.run_reverse(engine, program, final, measured=m) for m in starts]
    return [
        final,
        values,
        *[array for gradients in swept for array in conformance.parts(gradients)],
    ]


def assert_agree(program: Program, engine: Engine, other: Engine = REFERENCE) -> None:
    """Engines agree to 1e-12 in values and 1e-11 in gradients, or 1e-5 in single precision."""
    assert_equal_results(program, results(engine, program), results(other, program))


def assert_equal_results(
    program: Program, actual: Sequence[NDArray[Any]], expected: Sequence[NDArray[Any]]
) -> None:
    """Results of one program agree as ``assert_agree`` says."""
    single = program.state.dtype == np.complex64
    assert len(actual) == len(expected)
    for k, (got, want) in enumerate(zip(actual, expected, strict=True)):
        assert got.dtype == want.dtype
        conformance.assert_close(got, want, 1e-5 if single else 1e-12 if k < 2 else 1e-11)
