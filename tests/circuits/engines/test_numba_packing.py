"""Plans and observables as arrays."""

from __future__ import annotations

import numpy as np
import programs
import pytest

from circuits.engines import numba_kernels as kernels
from circuits.engines.base import Wanted
from circuits.engines.numba_packing import pack_plan, pack_terms, transpositions
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, Terms


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_transpositions_compose_to_the_permutation(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(20):
        permutation = rng.permutation(size)
        values = np.arange(size)
        pairs = np.reshape(transpositions(permutation), (-1, 2))
        for first, second in pairs:
            values[[first, second]] = values[[second, first]]
        np.testing.assert_array_equal(values[permutation], np.arange(size))
        fixed = int((permutation == np.arange(size)).sum())
        assert len(pairs) < max(size - fixed, 1)


def test_instruction_of_a_controlled_rotation() -> None:
    step = Step(Structure.ROTATION, (2, 0, 1), (4, 3), 0b01, slots=(5,), word="YXZ")
    packed = pack_plan(Plan(5, (step,), 6))
    row = packed.code[0][0]
    assert row[kernels.KIND] == kernels.ROTATION
    assert row[kernels.PINNED] == 0b11000
    assert row[kernels.VALUE] == 0b10000
    assert row[kernels.X_MASK] == 0b00101
    assert row[kernels.Z_MASK] == 0b00110
    assert row[kernels.QUARTERS] == 1
    assert packed.code[1][row[kernels.SLOT]] == 5
    assert row[kernels.SLOTS] == 1


def test_instruction_of_a_local_step_pins_its_targets_and_names_its_basis_states() -> None:
    step = Step(Structure.DENSE, (3, 1), (0,), 1, matrix=np.eye(4))
    ops, integers = pack_plan(Plan(4, (step,), 0)).code
    row = ops[0]
    assert row[kernels.PINNED] == 0b1011
    assert row[kernels.VALUE] == 0b0001
    places = integers[row[kernels.LOCAL] :][: row[kernels.SIZE]]
    assert places.tolist() == [0b0000, 0b1000, 0b0010, 0b1010]


def test_tables_hold_what_the_instructions_point_to() -> None:
    rng = np.random.default_rng(0)
    spectral = programs.SpectralMatrix(rng, 4, 2)
    free = {"function": spectral, "derivative": spectral.derivative}
    steps = (
        Step(Structure.DENSE, (0, 1), slots=(2, 0), **free),
        Step(Structure.ROTATION, (0,), slots=(1,), word="Z"),
        Step(Structure.DENSE, (1, 0), slots=(0, 1), **free),
        Step(Structure.DENSE, (1,), source=1),
        Step(Structure.ROTATION, (0,), angle=0.5, word="X"),
    )
    packed = pack_plan(Plan(2, steps, 3, num_matrices=2))
    angles = rng.normal(size=(4, 3))
    given = np.stack([programs.random_unitary(rng, 2)])
    dtype = np.dtype(np.complex128)
    tables = packed.tables(angles, (np.zeros((1, 4, 4)), given), dtype, derive=True)
    expected = (
        spectral(angles[:, [2, 0]]),
        np.exp(0.5j * angles[:, 1]),
        spectral(angles[:, [0, 1]]),
        given,
        np.exp(0.25j * np.ones((1, 1))),
    )
    for row, numbers in zip(packed.code[0], expected, strict=True):
        flat = numbers.reshape(len(numbers), -1)
        table = tables[row[kernels.TABLE]]
        np.testing.assert_allclose(table[:, row[kernels.ENTRY] :][:, : flat.shape[1]], flat)
    for k, slots in ((0, [2, 0]), (2, [0, 1])):
        flat = spectral.derivative(angles[:, slots]).reshape(4, -1)
        start = packed.code[0][k, kernels.DERIVATIVE]
        np.testing.assert_array_equal(tables[kernels.DERIVATIVES][:, start : start + 32], flat)
    assert len(packed.groups) == 1
    assert packed.widths == (4, 16)
    again = packed.tables(angles, (np.zeros((1, 4, 4)), given), np.dtype(np.complex64))
    assert [table.dtype for table in again] == [np.complex64] * 4
    assert again[kernels.DERIVATIVES].shape == (4, 0)


@pytest.mark.parametrize(
    ("wanted", "stop"),
    [
        (Wanted(state=True), 0),
        (Wanted(), 2),
        (Wanted(angles=False, matrices=True), 1),
        (Wanted(angles=True, matrices=True), 1),
        (Wanted(angles=False), 3),
    ],
)
def test_stop(wanted: Wanted, stop: int) -> None:
    steps = (
        Step(Structure.PERMUTATION, (0,), permutation=np.array([1, 0])),
        Step(Structure.DENSE, (0,), source=0),
        Step(Structure.ROTATION, (0,), slots=(0,), word="Y"),
    )
    assert pack_plan(Plan(1, steps, 1, num_matrices=1)).stop(wanted) == stop


def test_gradient_of_a_matrix_that_no_step_reads_is_zero() -> None:
    packed = pack_plan(Plan(1, (Step(Structure.DENSE, (0,), source=1),), 0, num_matrices=2))
    gradients = np.arange(8, dtype=complex).reshape(2, 4)
    matrices = (np.zeros((1, 4, 4)), np.zeros((1, 2, 2)))
    unread, read = packed.split(gradients, matrices, np.dtype(np.complex64))
    assert unread.shape == (2, 4, 4)
    assert not unread.any()
    np.testing.assert_array_equal(read, gradients.reshape(2, 2, 2))
    assert unread.dtype == read.dtype == np.complex64


def test_words_are_grouped_by_flip_and_parity_of_the_power_of_i() -> None:
    terms = (
        PauliTerm(0, 0b11),
        PauliTerm(1 << 7 | 1, 1 << 8 | 4),
        ProjectorTerm(3, 1),
        PauliTerm(1 << 7 | 1, 2),
        PauliTerm(1 << 7 | 1, 1),
        PauliTerm(3, 3),
        MatrixTerm(np.eye(2), (0,)),
        PauliTerm(0, 1 << 6),
    )
    packed = pack_terms(Terms(9, terms, np.array([0, 1, 0, 1, 0, 1, 2, 0]), 3))
    groups, words, projectors = packed.paulis
    assert groups.tolist() == [
        [0, 0, 0b11, 0, 0, 2],
        [1 << 7 | 1, 0, 0b110, 1 << 7, 2, 4],
        [1 << 7 | 1, 1, 1, 1 << 7, 4, 5],
        [3, 0, 3, 0, 5, 6],
    ]
    assert words.tolist() == [
        [0b11, 1, 0],
        [1 << 6, 1, 7],
        [1 << 8 | 4, 1, 1],
        [2, 1, 3],
        [1, -1, 4],
        [3, -1, 5],
    ]
    assert projectors.tolist() == [[3, 1, 2]]
    assert [position for position, _ in packed.others] == [6]
    assert packed.rows.tolist() == [0, 1, 0, 1, 0, 1, 2, 0]
