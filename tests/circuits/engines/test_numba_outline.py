"""The outline of a run names what the engine runs."""

from __future__ import annotations

import numpy as np
import programs
import pytest

from circuits.engines import numba_threads
from circuits.engines.base import Wanted
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.numba_outline import outline
from circuits.engines.numba_program import Program
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import Terms

C128 = np.dtype(np.complex128)


def turns(num_qubits: int) -> Plan:
    steps = [
        Step(Structure.ROTATION, (q,), slots=(2 * q + k,), word=word)
        for q in range(num_qubits)
        for k, word in enumerate("YZ")
    ]
    return Plan(num_qubits, tuple(steps), 2 * num_qubits)


@pytest.mark.parametrize(
    ("num_qubits", "batch", "layout"),
    [
        (1, 1, "one tile, lanes are samples"),
        (8, 1, "one tile"),
        (8, 5, "one tile, lanes are samples"),
        (12, 5, "one tile"),
        (15, 1, "stages"),
    ],
)
def test_layout_is_that_of_a_call(num_qubits: int, batch: int, layout: str) -> None:
    program = Program(turns(num_qubits))
    found = outline(program, batch, C128, None)
    call = program.call(batch, np.dtype(np.float64), None, Wanted())
    assert found.layout == layout
    assert (found.layout == "stages") == bool(call.passes)
    assert found.blocks == {"Turn": num_qubits}
    assert sum(found.stages) >= num_qubits


def test_threads_are_those_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba_threads, "get_num_threads", lambda: 3)
    program = Program(turns(8))
    assert outline(program, 1, C128, None).threads == 1
    assert outline(program, 4096, C128, None).threads == 3
    assert outline(Program(turns(18)), 1, C128, None).threads == 3
    assert outline(Program(turns(13)), 1, C128, None).threads == 1


def test_memory_grows_with_samples_halves_with_precision_and_counts_sparse_products() -> None:
    engine, plan = NumbaEngine(), turns(19)
    one, four = engine.outline(plan, 1, C128), engine.outline(plan, 4, C128)
    state = 16 << 19
    assert four.forward_bytes - one.forward_bytes == pytest.approx(3 * state, rel=0.01)
    assert one.reverse_bytes - one.forward_bytes == 2 * state
    half = engine.outline(plan, 4, np.dtype(np.complex64))
    assert half.reverse_bytes == pytest.approx(four.reverse_bytes / 2, rel=0.2)
    sparse = Terms(2, (programs.sparse_term(np.eye(4, dtype=complex)),), np.zeros(1, np.int64), 1)
    small = engine.outline(turns(2), 1, C128)
    assert engine.outline(turns(2), 1, C128, sparse).reverse_bytes > small.reverse_bytes
