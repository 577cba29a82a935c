"""Samples and rows of cotangents in front: what is put there for an engine comes off again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import C64, C128, F32, F64, TraceError
from circuits.leading_axes import (
    as_batch,
    cotangent_rows,
    lead,
    lead_shape,
    repeated,
    row_metas,
    shaped,
    value_meta,
    values_of,
    weights_of,
    with_rows,
)
from circuits.plan.terms import Terms

TERMS = Terms(1, (), np.zeros(0, np.int64), 3)
DIGITS = np.arange(24.0)


def test_operands_get_the_batch_axis_that_they_lack() -> None:
    assert lead(np.zeros(3), 1).shape == (1, 3)
    assert lead(np.zeros((2, 3)), 1).shape == (2, 3)


@pytest.mark.parametrize(
    ("state", "angles", "shapes", "batched"),
    [
        ((4,), (3,), [(1, 4), (1, 3)], False),
        ((4,), (5, 3), [(1, 4), (5, 3)], True),
        ((5, 4), (3,), [(5, 4), (1, 3)], True),
        ((1, 4), (1, 3), [(1, 4), (1, 3)], True),
    ],
)
def test_states_and_angles_get_the_axis_of_samples(
    state: Any, angles: Any, shapes: list[tuple[int, ...]], batched: bool
) -> None:
    rows, table, flag = as_batch(np.zeros(state), np.zeros(angles))
    assert [rows.shape, table.shape] == shapes
    assert flag is batched
    axes = lead_shape((state, C128), (angles, F64))
    assert axes == ((max(len(rows), len(table)),) if batched else ())


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("rows", [None, 4])
def test_weights_undo_values(batched: bool, single: bool, rows: int | None) -> None:
    samples, observables = 2 if batched else 1, 1 if single else 3
    whole = DIGITS[: samples * observables].reshape(samples, observables)
    public = values_of(whole, batched, single)
    shape, kind = value_meta((2,) if batched else (), np.dtype(np.complex64), TERMS, single)
    assert (public.shape, kind) == (shape, F32)
    if rows is None:
        np.testing.assert_array_equal(weights_of(public, single), whole)
    else:
        many = np.stack([public + k for k in range(rows)])
        found = weights_of(many, single)
        np.testing.assert_array_equal(found, np.concatenate([whole + k for k in range(rows)]))


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("rows", [None, 2])
def test_gradients_get_the_axes_of_the_operands(batched: bool, rows: int | None) -> None:
    samples = 3 if batched else 1
    part = DIGITS[: (rows or 1) * samples * 4].reshape(-1, 4)
    (found,) = shaped([part], batched, rows)
    front = (*([] if rows is None else [rows]), *([3] if batched else []))
    assert found.shape == (*front, 4)
    np.testing.assert_array_equal(found.ravel(), part.ravel())
    metas = [((*([3] if batched else []), 4), F64)]
    ranks = None if rows is None else (1,)
    assert row_metas(metas, ((rows or 0,), F64), ranks) == ((found.shape, F64),)


def test_padding_behind_the_rows_is_dropped() -> None:
    attrs = with_rows({"plan": None}, (1, 2))
    assert attrs == {"plan": None, "ranks": (1, 2)}
    g, rows = cotangent_rows(DIGITS.reshape(4, 1, 6), [np.zeros((2, 3))], attrs["ranks"])
    assert (g.shape, rows) == ((4, 6), 4)
    g, rows = cotangent_rows(DIGITS.reshape(24, 1), [np.zeros(3)], (0, 1))
    assert (g.shape, rows) == ((24,), 24)
    g, rows = cotangent_rows(DIGITS, [], None)
    assert g is DIGITS
    assert rows is None


def test_runs_for_every_row_are_refused() -> None:
    with pytest.raises(TraceError, match=r"rows of cotangents of one run, got runs for every row"):
        cotangent_rows(np.zeros((4, 3)), [np.zeros((4, 8))], (1, 1))


def test_what_samples_have_is_repeated_row_by_row() -> None:
    array = np.array([[1.0], [2.0]])
    assert repeated(np, array, 2)[:, 0].tolist() == [1, 2, 1, 2]
    assert repeated(np, np.zeros((2, 3, 3), C64), 2).shape == (4, 3, 3)
    assert repeated(np, array[:1], 2).shape == (1, 1)
    assert repeated(np, array, None) is array
