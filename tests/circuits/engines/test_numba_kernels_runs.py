"""Runs of phases, of one table and of several, in every layout."""

from __future__ import annotations

import conformance
import numpy as np
import pytest
from programs import Case, random_program

from circuits.engines import instructions as gates
from circuits.engines import numba_program, numba_stages
from circuits.engines.base import Wanted
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.numba_program import Program
from circuits.engines.reference import ReferenceEngine
from circuits.plan.steps import Plan, Step, Structure

ENGINE, REFERENCE = NumbaEngine(), ReferenceEngine()
KINDS = {"RUN": gates.RUN, "MEMBER": gates.MEMBER, "PHASE": gates.PHASE}


def cost_layers(num_qubits: int, seed: int, *, dense: bool = False) -> Plan:
    """Two layers of Z words and controlled phases with angles of their own, turns between."""
    rng = np.random.default_rng(seed)
    steps: list[Step] = []
    for layer in range(2):
        first = len(steps)
        for k in range(num_qubits * (6 if dense else 2)):
            qubits = tuple(int(q) for q in rng.permutation(num_qubits)[: 1 + k % 4])
            fields = {"controls": qubits[1:], "control_state": k % 2} if k % 5 == 0 else {}
            targets = qubits[:1] if fields else qubits
            word, slots = "Z" * len(targets), (first + k,)
            steps.append(Step(Structure.ROTATION, targets, slots=slots, word=word, **fields))
        for q in range(num_qubits * (1 - layer)):
            steps.append(Step(Structure.ROTATION, (q,), slots=(len(steps),), word="Y"))
    return Plan(num_qubits, tuple(steps), len(steps))


def assert_agree(plan: Plan, batch: int, dtype: type[np.complexfloating]) -> None:
    program = random_program(Case(plan.num_qubits, batch, dtype), plan=plan)
    results = []
    for engine in (ENGINE, REFERENCE):
        final, values = conformance.run_forward(engine, program)
        gradients = conformance.run_reverse(engine, program, final)
        results.append([final, values, *conformance.parts(gradients)])
    for found, wanted in zip(*results, strict=True):
        conformance.assert_close(found, wanted, 1e-12 if dtype is np.complex128 else 2e-5)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize(("num_qubits", "batch"), [(2, 1), (5, 1), (6, 9), (10, 1)])
def test_runs_are_their_phases(
    num_qubits: int, batch: int, dtype: type[np.complexfloating]
) -> None:
    assert_agree(cost_layers(num_qubits, num_qubits), batch, dtype)


def test_more_phases_than_two_tables_hold() -> None:
    assert_agree(cost_layers(10, 0, dense=True), 1, np.complex128)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_runs_in_tiles(dtype: type[np.complexfloating], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (numba_stages, numba_program):
        monkeypatch.setattr(module, "TILE_ROWS_LOG", 4)
    monkeypatch.setattr(numba_stages, "LOW_ROWS", 1)
    monkeypatch.setattr(numba_program, "WIDE_QUBITS", 0)
    assert_agree(cost_layers(9, 9), 2, dtype)


def test_a_layer_is_one_pass() -> None:
    steps = [Step(Structure.ROTATION, (q,), slots=(q,), word="Z") for q in range(9)]
    ops = Program(Plan(9, tuple(steps), 9)).shape(1, np.dtype(np.float64), None).layout.schedule.ops
    counts = {name: int((ops[:, gates.KIND] == kind).sum()) for name, kind in KINDS.items()}
    assert counts == {"RUN": 1, "MEMBER": 9, "PHASE": 0}


def test_a_phase_under_many_controls_visits_its_rows_only() -> None:
    narrow = Step(Structure.ROTATION, (9,), (5, 6, 7, 8), 15, slots=(0,), word="Z")
    steps = [narrow, *[Step(Structure.ROTATION, (q,), slots=(q,), word="Z") for q in (8, 9)]]
    ops = Program(Plan(10, tuple(steps), 10)).shape(1, np.dtype(np.float64), None)
    kinds = ops.layout.schedule.ops[:, gates.KIND].tolist()
    assert kinds == [gates.PHASE, gates.MEMBER, gates.MEMBER, gates.RUN]


def test_an_angle_that_is_not_a_number_gives_that() -> None:
    program = random_program(Case(7, 1, np.complex128), plan=cost_layers(7, 1))
    program.angles[0, 3] = np.nan
    _, values = conformance.run_forward(ENGINE, program)
    assert np.isnan(values).all()


def test_runs_that_nobody_asks_for_get_no_environments() -> None:
    plan = cost_layers(8, 2)
    program = Program(plan)
    shape = program.shape(1, np.dtype(np.float64), None)
    assert int((shape.layout.schedule.ops[:, gates.KIND] == gates.RUN).sum()) == 2  # one a layer
    last = len(plan.steps) - 1
    wanted = Wanted(angles=tuple(slot == last for slot in range(plan.num_slots)))
    ops, _ = program.variant(shape.layout, wanted)
    live = ops[:, gates.LIVE] >= 0
    assert int((live & (ops[:, gates.KIND] == gates.MEMBER)).sum()) == 1
    assert int((live & (ops[:, gates.KIND] == gates.RUN)).sum()) == 1
