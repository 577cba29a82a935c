"""From instructions to steps."""

from __future__ import annotations

from itertools import product

import dense
import numpy as np
import pytest
from gate_rows import angles_of, controls_of, every_function_row, every_row, payload_of, size_of

from circuits.gate_row import Gate
from circuits.gates import gate
from circuits.lowering import PartlyFixed, Slot, Source, lower
from circuits.plan.steps import Plan, Structure


@every_row
def test_slots_and_fixed_angles_give_the_same_matrix(row: Gate) -> None:
    values, controls = np.array(angles_of(row)), controls_of(row)
    num_qubits = controls + size_of(row)
    on, by = range(controls, num_qubits), range(controls)
    matrices = []
    for choice in product((False, True), repeat=len(values)):
        angles = [Slot(k) if free else values[k] for k, free in enumerate(choice)]
        steps = lower(row, on, by, angles=angles, payload=payload_of(row))
        plan = Plan(num_qubits, steps, len(values))
        assert {slot for step in steps for slot in step.slots} == set(np.flatnonzero(choice))
        matrices.append(dense.plan_matrix(plan, values))
    for matrix in matrices:
        np.testing.assert_allclose(matrix, matrices[0], rtol=0, atol=1e-15)


@every_function_row
def test_partly_fixed_derivatives_are_those_of_the_free_angles(row: Gate) -> None:
    assert row.derivative is not None
    values = np.array(angles_of(row))
    whole = row.derivative(np.stack([values, values]))
    for choice in list(product((False, True), repeat=len(values)))[1:]:
        angles = [Slot(k) if free else values[k] for k, free in enumerate(choice)]
        (step,) = lower(row, range(size_of(row)), angles=angles)
        assert step.derivative is not None
        free = np.flatnonzero(choice)
        actual = step.derivative(np.stack([values[free], values[free]]))
        np.testing.assert_allclose(actual, whole[:, free], rtol=0, atol=1e-15)
        assert step.spectra == tuple(row.spectra[k] for k in free)


def test_equally_fixed_functions_are_equal() -> None:
    first, second = (
        lower(gate("u"), [q], angles=[Slot(q), 0.5, Slot(2)])[0].function for q in (0, 1)
    )
    assert isinstance(first, PartlyFixed)
    assert first == second
    assert hash(first) == hash(second)


def test_no_step_of_many_controls_is_large() -> None:
    for name, angles in (("mcx", []), ("mcphase", [Slot(0)])):
        (step,) = lower(gate(name), [20], range(20), angles=angles)
        assert len(step.controls) == 20
        assert step.control_state == (1 << 20) - 1
        assert step.matrix is None
        assert step.permutation is None or step.permutation.shape == (2,)


def test_no_step_of_a_wide_permutation_or_word_is_large() -> None:
    steps = lower(gate("permutation"), range(25), payload=np.roll(np.arange(25), 1))
    assert len(steps) == 24
    assert all(len(step.targets) == 2 for step in steps)
    turn, phase = lower(gate("pauli"), range(25), payload="XYZIY" * 5)
    assert turn.structure is Structure.ROTATION
    assert len(turn.targets) == 20
    assert phase.targets == ()


def test_label_is_read_from_the_right_and_identities_are_left_out() -> None:
    (step,) = lower(gate("pauli_rotation"), [4, 2, 7], angles=[Slot(1)], payload="XIZ")
    assert (step.targets, step.word, step.slots) == ((4, 7), "ZX", (1,))


def test_matrix_from_outside_is_a_source() -> None:
    (step,) = lower(gate("unitary"), [1, 0], [2], 0, payload=Source(3), position=9)
    assert (step.source, step.matrix, step.control_state, step.position) == (3, None, 0, 9)


def test_target_j_receives_what_pattern_j_held() -> None:
    pattern = [2, 0, 1]
    steps = lower(gate("permutation"), [0, 1, 2], payload=pattern)
    matrix = dense.plan_matrix(Plan(3, steps, 0), np.zeros(0))
    for source in range(8):
        bits = [(source >> q) & 1 for q in range(3)]
        target = sum(bits[pattern[j]] << j for j in range(3))
        assert matrix[target, source] == 1


@pytest.mark.parametrize("state", range(4))
def test_control_state_is_kept(state: int) -> None:
    (step,) = lower(gate("x"), [0], [2, 1], state)
    assert step.control_mask == 0b110
    assert step.control_value == ((state & 1) << 2) | ((state >> 1) << 1)
