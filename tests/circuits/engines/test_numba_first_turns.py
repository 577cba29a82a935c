"""First turns of a program: from |0...0> they reach its rows in turn, going back they only look."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from circuits.engines import instructions as gates
from circuits.engines import numba_kernels_drivers as drivers
from circuits.engines.base import Wanted
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.numba_first_turns import grown_turns
from circuits.engines.numba_program import Kind, Program
from circuits.engines.reference import ReferenceEngine
from circuits.plan.steps import Plan, Step, Structure

ENGINE, REFERENCE = NumbaEngine(), ReferenceEngine()
DOUBLE = np.dtype(np.float64)
FLIP = np.array([1, 0])


def layers(num_qubits: int, order: list[int], count: int = 2, *, ring: bool = True) -> Plan:
    """RY and RZ on every qubit of ``order``, and behind them a ring of CX, in layers."""
    steps: list[Step] = []
    for _ in range(count):
        for q in order:
            slot = sum(len(step.slots) for step in steps)
            steps.append(Step(Structure.ROTATION, (q,), slots=(slot,), word="Y"))
            steps.append(Step(Structure.ROTATION, (q,), slots=(slot + 1,), word="Z"))
        for q in range(num_qubits if ring else 0):
            target = (q + 1) % num_qubits
            steps.append(Step(Structure.PERMUTATION, (target,), (q,), 1, permutation=FLIP))
    return Plan(num_qubits, tuple(steps), 2 * count * len(order))


def zero_state(batch: int, num_qubits: int, dtype: Any = np.complex128) -> np.ndarray[Any, Any]:
    state = np.zeros((1, 1 << num_qubits), dtype)
    state[0, 0] = 0.6 + 0.8j
    return np.broadcast_to(state, (batch, 1 << num_qubits))


def grown(plan: Plan, batch: int) -> int:
    call = Program(plan).call(batch, DOUBLE, None, None)
    return int(call.tables[0][drivers.GROWN])


@pytest.mark.parametrize("num_qubits", [2, 4, 6, 9])
def test_turns_on_every_qubit_reach_all_rows(num_qubits: int) -> None:
    order = list(range(num_qubits))
    assert grown(layers(num_qubits, order), 5) == num_qubits
    assert grown(layers(num_qubits, order, 1, ring=False), 1) == num_qubits
    assert grown(layers(num_qubits, order[:-1], 1), 5) == 0  # half of the rows stay out


def test_turns_that_leave_out_rows_on_their_way_do_not_count() -> None:
    """Zeros that they leave behind would not see that one of them is not a number."""
    layout = Program(layers(6, list(range(6)))).shape(3, DOUBLE, None).layout
    schedule = layout.schedule
    assert grown_turns(schedule, layout.lanes, 6) == 6
    assert (
        grown_turns(replace(schedule, ops=schedule.ops[[0, 2, 1, 3, 4, 5]]), layout.lanes, 6) == 0
    )


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("batch", [1, 5, 9])
@pytest.mark.parametrize("num_qubits", [1, 3, 5, 7, 11])
def test_from_zeros_all_is_as_from_any_state(num_qubits: int, batch: int, dtype: Any) -> None:
    rng = np.random.default_rng(num_qubits)
    for order in (rng.permutation(num_qubits).tolist(), list(range(num_qubits))):
        plan = layers(num_qubits, order) if num_qubits > 1 else layers(1, [0], 0)
        angles = rng.normal(size=(batch, plan.num_slots)).astype(np.dtype(dtype).type(0).real.dtype)
        state = zero_state(batch, num_qubits, dtype)
        final, _ = ENGINE.forward(plan, state, angles)
        expected, _ = REFERENCE.forward(plan, state, angles)
        np.testing.assert_allclose(
            final, expected, rtol=0, atol=1e-5 if dtype is np.complex64 else 1e-13
        )


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("slot", [0, 3, 11])
def test_nan_reaches_all_amplitudes(slot: int, batch: int) -> None:
    """Also those that were zero when it came."""
    plan = layers(6, list(range(6)), 1)
    angles = np.full((batch, plan.num_slots), 0.3)
    angles[-1, slot] = np.nan
    final, _ = ENGINE.forward(plan, zero_state(batch, 6), angles)
    assert np.isnan(final[-1]).all()
    assert not np.isnan(final[:-1]).any()


def test_a_state_with_nan_or_anything_beside_the_first_amplitude_is_no_zero_state() -> None:
    plan = layers(5, list(range(5)))
    angles = np.full((3, plan.num_slots), 0.3)
    for value in (np.nan, 1e-300, 1j):
        state = zero_state(1, 5).copy()
        state[0, 19] = value
        shared = np.broadcast_to(state, (3, 32))
        final, _ = ENGINE.forward(plan, shared, angles)
        expected, _ = REFERENCE.forward(plan, shared, angles)
        np.testing.assert_allclose(final, expected, rtol=0, atol=1e-13)


def looked_at(plan: Plan, wanted: Wanted, batch: int = 3) -> list[bool]:
    program = Program(plan)
    shape = program.shape(batch, DOUBLE, None)
    ops, stop = program.variant(shape.layout, wanted)
    turns = np.isin(ops[:, gates.KIND], [gates.TURN, gates.LANE_TURN])
    assert not ops[:stop][turns[:stop], gates.SIZE].any()
    return [bool(op[gates.SIZE]) for op in ops[stop:][turns[stop:]]]


@pytest.mark.parametrize("batch", [1, 3])
def test_the_sweep_only_looks_at_its_last_turns(batch: int) -> None:
    """Those of the first layer, which commute; all are undone for the gradient of the state."""
    plan = layers(5, list(range(5)), ring=batch > 1)  # lanes that are qubits: CX moves them
    looks = looked_at(plan, Wanted(), batch)
    assert looks[:5] == [True] * 5
    assert not any(looks[5:])
    assert not any(looked_at(plan, Wanted(state=True), batch))


def test_the_sweep_looks_only_as_far_as_turns_commute() -> None:
    plan = layers(4, list(range(4)))
    first_of_layer_two = tuple(slot >= 8 for slot in range(16))
    assert looked_at(plan, Wanted(angles=first_of_layer_two)) == [True] * 4
    controlled = Step(Structure.ROTATION, (1,), (0,), 1, slots=(0,), word="X")
    plain = Step(Structure.ROTATION, (2,), slots=(1,), word="Y")
    plan = Plan(3, (controlled, plain), 2)
    assert not any(looked_at(plan, Wanted()))


@pytest.mark.parametrize(("num_qubits", "batch"), [(3, 4), (5, 1), (6, 9), (11, 1), (15, 1)])
def test_gradients_are_those_of_the_reference(num_qubits: int, batch: int) -> None:
    rng = np.random.default_rng(0)
    plan = layers(num_qubits, list(range(num_qubits)))
    angles = rng.normal(size=(batch, plan.num_slots))
    cotangent = rng.normal(size=(batch, 2 << num_qubits)).view(complex)
    final, _ = REFERENCE.forward(plan, zero_state(batch, num_qubits), angles)
    late = tuple(slot >= plan.num_slots // 2 + 3 for slot in range(plan.num_slots))
    for wanted in (Wanted(), Wanted(state=True), Wanted(angles=late)):
        got = ENGINE.reverse(plan, final, angles, (), wanted, cotangent=cotangent)
        expected = REFERENCE.reverse(plan, final, angles, (), wanted, cotangent=cotangent)
        np.testing.assert_allclose(got.angles, expected.angles, rtol=0, atol=1e-10)
        assert (got.state is None) == (expected.state is None)
        if got.state is not None:
            np.testing.assert_allclose(got.state, expected.state, rtol=0, atol=1e-12)


def woven(num_qubits: int, rng: np.random.Generator) -> Plan:
    """RX, RY and RZ on one qubit after the other, with CX between those that had theirs."""
    steps: list[Step] = []
    for q in range(num_qubits):
        for word in "XYZ":
            steps.append(Step(Structure.ROTATION, (q,), slots=(len(steps),), word=word))
        for _ in range(2 if q else 0):
            control, target = rng.permutation(q + 1)[:2].tolist()
            steps.append(Step(Structure.PERMUTATION, (target,), (control,), 1, permutation=FLIP))
        if q + 1 < num_qubits:
            steps.append(Step(Structure.PERMUTATION, (q + 1,), (q,), 1, permutation=FLIP))
    moved, slots = [], 0
    for step in steps:
        moved.append(replace(step, slots=(slots,)) if step.slots else step)
        slots += len(step.slots)
    return Plan(num_qubits, tuple(moved), slots)


@pytest.mark.parametrize("batch", [1, 5, 9])
@pytest.mark.parametrize("num_qubits", [2, 3, 4, 6, 8])
@pytest.mark.parametrize("seed", range(4))
def test_from_zeros_with_cx_between_the_first_turns(num_qubits: int, batch: int, seed: int) -> None:
    """A qubit behind a CX is 1 in some of the rows that are reached: the second of their pairs."""
    rng = np.random.default_rng(seed)
    plan = woven(num_qubits, rng)
    if Program(plan).kind(batch, DOUBLE) is Kind.SAMPLES:
        assert grown(plan, batch) > 0
    angles = rng.normal(size=(batch, plan.num_slots))
    state = zero_state(batch, num_qubits)
    final, _ = ENGINE.forward(plan, state, angles)
    expected, _ = REFERENCE.forward(plan, state, angles)
    np.testing.assert_allclose(final, expected, rtol=0, atol=1e-13)
