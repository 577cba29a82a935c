"""Sines and cosines, in vectors, against the C library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from programs import rotations

from circuits.engines import instructions as gates
from circuits.engines.numba_kernels_tables import fill_operands, mark_varying
from circuits.engines.numba_program import Program
from circuits.engines.numba_simd import VECTOR_BYTES, compiled_driver
from circuits.plan.steps import Plan, Step, Structure


@compiled_driver
def operands(angles: Any, columns: Any, lanes: int, L: Any, marks: Any, scratch: Any) -> None:
    """Make the entries without a mark."""
    none, zero = L.dtype.type(0), lanes - lanes
    fill_operands(angles, columns, zero, lanes, L, marks, none, zero, angles.shape[1], scratch)


@compiled_driver
def marked(angles: Any, columns: Any, ops: Any, items: Any, marks: Any) -> Any:
    """Call the compiled function."""
    return mark_varying(angles, columns, ops, items, marks)


def tables(angles: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Angles, cosines and sines of halves, then two columns, a vector each."""
    lanes = VECTOR_BYTES // angles.itemsize
    columns = np.arange(2.0 * len(angles)).reshape(-1, 2).astype(angles.dtype)
    L = np.full((3 * angles.shape[1] + 2) * lanes, np.nan, angles.dtype)
    marks = np.zeros(angles.shape[1] + 1, angles.dtype)
    operands(angles, columns, min(len(angles), lanes), L, marks, np.empty(3 * lanes, L.dtype))
    return L.reshape(-1, lanes)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 30.0, 4000.0, 1e7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sines_and_cosines(dtype: type[np.floating], scale: float) -> None:
    angles = (scale * np.random.default_rng(0).normal(size=(1, 500))).astype(dtype)
    found = tables(angles)
    exact = angles[0].astype(np.float64)
    tolerance = 2e-15 if dtype is np.float64 else 2e-7
    for lane in found.T:
        np.testing.assert_array_equal(lane[:500], angles[0])
        np.testing.assert_allclose(lane[500:1000], np.cos(exact / 2), rtol=0, atol=tolerance)
        np.testing.assert_allclose(lane[1000:1500], np.sin(exact / 2), rtol=0, atol=tolerance)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_angle_gives_nan_in_its_lane_only(bad: float) -> None:
    angles = np.full((4, 1), 0.5)
    angles[2] = bad
    found = tables(angles)
    assert np.isnan(found[1:3, 2]).all()
    assert np.isfinite(np.delete(found[1:3], 2, axis=1)).all()


def test_lanes_are_samples_and_the_last_one_repeats() -> None:
    found = tables(np.array([[0.1], [0.2], [0.3]]))
    repeats = found.shape[1] - 2
    np.testing.assert_array_equal(found[0], [0.1, 0.2, *[0.3] * repeats])
    np.testing.assert_array_equal(found[3:], [[0, 2, *[4] * repeats], [1, 3, *[5] * repeats]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("slots", [1, 5, 8, 21])
def test_entries_with_another_mark_stay(dtype: type[np.floating], slots: int) -> None:
    angles = np.random.default_rng(0).normal(size=(3, slots)).astype(dtype)
    lanes = VECTOR_BYTES // angles.itemsize
    marks = (np.arange(slots + 1) % 3 == 1).astype(dtype)
    for used in (1, 3):
        L = np.full((3 * slots + 2, lanes), np.nan, dtype)
        operands(angles, angles[:, :2], used, L.reshape(-1), marks, np.empty(3 * lanes, dtype))
        written = np.isfinite(L).all(axis=1)
        assert written[: 3 * slots].reshape(3, slots).tolist() == [(marks[:-1] == 0).tolist()] * 3
        assert written[3 * slots :].all() == (marks[-1] == 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_differs_in_any_one_sample_is_marked(dtype: type[np.floating]) -> None:
    slots, batch = 19, 13
    plan, shared = rotations(5, slots), np.zeros((1, 2), dtype)
    schedule = Program(plan).shape(batch, np.dtype(dtype), None).layout.schedule
    readers = np.zeros((slots, len(schedule.ops)), bool)
    for i, read in enumerate(schedule.slots):
        readers[list(read), i] = schedule.ops[i, gates.KIND] != gates.RUN
    assert readers.any(axis=1).all()
    for sample in range(batch):
        for slot in range(slots):
            angles = np.full((batch, slots), 0.5, dtype)
            angles[sample, slot] = np.nextafter(angles[0, 0], dtype(1))
            marks = np.full(slots + 1 + len(schedule.ops), np.nan, dtype)
            found = marked(angles, shared, schedule.ops, schedule.items, marks)
            assert found == (slot, slot + 1, True)
            assert np.flatnonzero(marks[: slots + 1]).tolist() == [slot]
            assert marks[slots + 1 :].tolist() == readers[slot].tolist()


@pytest.mark.parametrize("slots", [1, 8, 23])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_differs_from_numbers(slots: int, bad: float) -> None:
    angles, columns, ops = np.zeros((3, slots)), np.zeros((1, 2)), np.zeros((0, 19), np.int64)
    angles[2, -1] = bad
    marks = np.full(slots + 1, np.nan)
    found = marked(angles, columns, ops, np.zeros(1, np.int64), marks)
    assert found == (slots - 1, slots, True)
    assert marks.tolist() == [*[0] * (slots - 1), 1, 0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("other", [-0.5, np.nextafter(0.5, 1, dtype=np.float32), 0.0, 1e-44])
def test_whatever_bit_it_is_that_differs(other: float, dtype: type[np.floating]) -> None:
    angles, columns, ops = np.full((3, 37), 0.5, dtype), np.zeros((1, 2)), np.zeros((0, 19), int)
    angles[1] = other
    marks = np.full(38, np.nan, dtype)
    found = marked(angles, columns.astype(dtype), ops, np.zeros(1, np.int64), marks)
    assert found == (0, 37, True)
    assert marks.tolist() == [*[1] * 37, 0]


def test_what_differs_may_lie_apart() -> None:
    angles, columns, ops = np.ones((5, 21)), np.zeros((1, 2)), np.zeros((0, 19), np.int64)
    angles[3, 2], angles[1, 17], marks = 1.5, np.nextafter(0, 1), np.zeros(22)
    assert marked(angles, columns, ops, np.zeros(1, np.int64), marks) == (2, 18, True)
    assert np.flatnonzero(marks).tolist() == [2, 17]


@pytest.mark.parametrize("rows", [1, 4])
def test_columns_differ_as_a_whole(rows: int) -> None:
    plan = Plan(1, (Step(Structure.DENSE, (0,), source=0),), 1, num_matrices=1)
    schedule = Program(plan).shape(4, np.dtype(np.float64), None).layout.schedule
    marks = np.full(2 + len(schedule.ops), np.nan)
    columns = np.ones((rows, 10))
    found = marked(np.zeros((1, 1)), columns, schedule.ops, schedule.items, marks)
    assert found[2] == (rows > 1)
    assert marks.tolist() == [0, *[float(rows > 1)] * (1 + len(schedule.ops))]
