"""What is kept of a plan, and how calls are laid out."""

from __future__ import annotations

import gc

import numpy as np
import programs
import pytest

from circuits.engines.base import Wanted
from circuits.engines.numba_program import Kind, Program
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import PauliTerm, Terms

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


@pytest.mark.parametrize(
    ("num_qubits", "batch", "dtype", "kind"),
    [
        (2, 1, DOUBLE, Kind.SAMPLES),
        (4, 1, DOUBLE, Kind.QUBITS),
        (4, 1, SINGLE, Kind.SAMPLES),
        (5, 1, SINGLE, Kind.QUBITS),
        (10, 2, DOUBLE, Kind.SAMPLES),
        (11, 2, DOUBLE, Kind.QUBITS),
        (13, 1, DOUBLE, Kind.QUBITS),
        (14, 1, DOUBLE, Kind.STAGES),
        (14, 1, SINGLE, Kind.QUBITS),
        (15, 1, SINGLE, Kind.STAGES),
    ],
)
def test_layout_by_width_and_batch(
    num_qubits: int,
    batch: int,
    dtype: np.dtype[np.floating],
    kind: Kind,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("circuits.engines.numba_program.VECTOR_BYTES", 32)
    assert Program(Plan(num_qubits, (), 0)).kind(batch, dtype) is kind


def test_matrices_wider_than_the_rows_need_samples_in_the_lanes() -> None:
    matrix = programs.random_unitary(np.random.default_rng(0), 32)
    step = Step(Structure.DENSE, (0, 1, 2, 3, 4), matrix=matrix)
    assert Program(Plan(6, (step,), 0)).kind(1, DOUBLE) is Kind.SAMPLES


def test_shapes_are_kept_as_long_as_the_observables() -> None:
    program = Program(Plan(4, (), 0))
    terms = Terms(4, (PauliTerm(0, 1),), np.zeros(1, np.int64), 1)
    shape = program.shape(1, DOUBLE, terms)
    assert program.shape(1, DOUBLE, terms) is shape
    kept = shape.layout.shapes
    assert len(kept) == 1
    del terms, shape
    gc.collect()
    assert len(kept) == 0


@pytest.mark.parametrize("num_qubits", [4, 14])
def test_calls_hold_observables_once(num_qubits: int) -> None:
    program = Program(Plan(num_qubits, (), 0))
    terms = Terms(num_qubits, (PauliTerm(0, 1),), np.zeros(1, np.int64), 1)
    forward, reverse = [program.call(1, DOUBLE, terms, w) for w in (None, Wanted())]
    shape = forward.shape
    assert reverse.tables[1] is forward.tables[1] is shape.tables
    for part in (shape.placed.words, shape.placed.links, shape.placed.signs, shape.placed.shares):
        assert part.size
        assert np.shares_memory(part, shape.tables)


def test_calls_are_kept_as_long_as_the_observables() -> None:
    program = Program(Plan(4, (), 0))
    terms = Terms(4, (PauliTerm(0, 1),), np.zeros(1, np.int64), 1)
    wanted = [None, Wanted(), Wanted(state=True), Wanted(angles=False, coefficients=True)]
    calls = [program.call(batch, DOUBLE, terms, w) for batch in (1, 2) for w in wanted]
    again = [program.call(batch, DOUBLE, terms, w) for batch in (1, 2) for w in wanted]
    assert all(a is b for a, b in zip(calls, again, strict=True))
    assert len({id(call) for call in calls}) == len(calls)
    assert program.call(1, np.dtype(np.float32), terms, None) is not calls[0]
    assert len(program.calls) == 1
    del terms
    gc.collect()
    assert len(program.calls) == 0
