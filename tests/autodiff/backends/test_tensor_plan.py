"""Pieces of plans: where values lie, how kernels see them."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff.backends.tensor_plan import (
    ALIGNMENT,
    NoKernel,
    Planner,
    Slot,
    View,
    axes_of,
    real_of,
)

FLOAT, SINGLE, BOOL = np.dtype(float), np.dtype(np.float32), np.dtype(bool)


def test_slots_are_aligned_and_apart() -> None:
    planner = Planner({0: ((3,), FLOAT), 1: ((0,), FLOAT), 2: ((5, 20), SINGLE)}, {})
    slots = [planner.define(k).slot for k in range(3)]
    assert slots == [Slot(0, 3, FLOAT), Slot(256, 0, FLOAT), Slot(256, 100, SINGLE)]
    assert planner.nbytes == 256 + 2 * ALIGNMENT


@pytest.mark.parametrize(
    ("looked", "offset", "strides", "contiguous"),
    [
        (lambda a: a, 0, [4, 1], True),
        (lambda a: a.reshape(2, 6), 0, [6, 1], True),
        (lambda a: a[1:], 4, [4, 1], False),
        (lambda a: a.T, 0, [1, 4], False),
        (lambda a: a[::-1, ::2], 8, [-4, 2], False),
        (lambda a: np.broadcast_to(a[0], (3, 4)), 0, [0, 1], False),
    ],
)
def test_view_knows_its_place(
    looked: object, offset: int, strides: list[int], contiguous: bool
) -> None:
    base = np.empty((3, 4))
    view = View(Slot(0, 12, FLOAT), looked(base))  # type: ignore[operator]
    assert (view.offset, view.strides, view.contiguous) == (offset, strides, contiguous)


def test_axes_of_length_one_do_not_count() -> None:
    assert axes_of([1, 2, 1, 3, 1], [9, 3, 9, 1, 9]) == ([1, 1, 2, 3], [0, 0, 3, 1])
    assert axes_of([], []) == ([1] * 4, [0] * 4)
    with pytest.raises(NoKernel, match="5 axes"):
        axes_of([2] * 5, [1] * 5)


def test_there_is_one_precision() -> None:
    assert real_of([BOOL, FLOAT, FLOAT]) == FLOAT
    assert real_of([BOOL]) == SINGLE
    for dtypes in ([FLOAT, SINGLE], [np.dtype(int)], [np.dtype(complex), BOOL]):
        with pytest.raises(NoKernel, match="dtypes"):
            real_of(dtypes)
