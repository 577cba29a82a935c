"""Instructions for the CUDA kernels."""

from __future__ import annotations

import numpy as np
from programs import random_plan

from circuits.engines import instructions
from circuits.engines.cuda_schedule import DeviceScheduler
from circuits.engines.numba_columns import Columns
from circuits.engines.numba_instructions import Place
from circuits.plan.fusion import fuse
from circuits.plan.steps import Plan, Step, Structure


def scheduler_of(plan: Plan) -> DeviceScheduler:
    """A scheduler that has written a plan for one tile."""
    fused = fuse(plan)
    scheduler = DeviceScheduler(fused, Columns.place(fused))
    scheduler.places = [Place(flip=1 << q, mask=1 << q) for q in range(plan.num_qubits)]
    for block in fused.blocks:
        scheduler.add(block)
    return scheduler


def test_tables_and_matrices_take_no_coefficients() -> None:
    plan = random_plan(np.random.default_rng(0), 5, 40)
    scheduler = scheduler_of(plan)
    schedule = scheduler.finish(np.dtype(np.float64), range(5))
    kinds = schedule.ops[:, instructions.KIND]
    stored = np.isin(kinds, [instructions.TABLE, instructions.DENSE, instructions.EXCHANGE])
    sizes = np.diff(schedule.ops[:, instructions.ENTRY], append=schedule.sizes[0])
    assert stored.any()
    np.testing.assert_array_equal(sizes == 0, stored)
    assert instructions.LANE_TURN not in kinds


def test_a_table_lists_the_states_of_its_targets_in_the_tile() -> None:
    diagonal = np.exp(1j * np.arange(8))
    step = Step(Structure.DIAGONAL, (2, 0, 3), (1,), 1, matrix=diagonal)
    scheduler = scheduler_of(Plan(4, (step,), 0))
    (op,) = scheduler.ops
    start = op[instructions.FLIP]
    constraints, count = scheduler.items[start], scheduler.items[start + 1]
    assert (constraints, count) == (4, 8)
    members = np.reshape(scheduler.items[start + 2 + 12 :], (8, 2))
    flips = [sum(1 << q for k, q in enumerate((2, 0, 3)) if (j >> k) & 1) for j in range(8)]
    np.testing.assert_array_equal(members, np.column_stack([flips, np.arange(8)]))
