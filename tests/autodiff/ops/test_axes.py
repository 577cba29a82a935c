"""Axes as NumPy takes them, and the refusals."""

from __future__ import annotations

import pytest

from autodiff import ShapeError
from autodiff.ops.axes import (
    behind_batch_axis,
    count,
    normalise_axes,
    reduced_shape,
    require_elements,
)


def test_axes_are_sorted_and_counted_from_the_front() -> None:
    assert normalise_axes(None, 3) == (0, 1, 2)
    assert normalise_axes(-1, 3) == (2,)
    assert normalise_axes((2, -3), 3) == (0, 2)
    assert normalise_axes((), 3) == ()
    assert normalise_axes(None, 0) == ()


@pytest.mark.parametrize("axis", [3, -4, (0, 5)])
def test_axes_that_do_not_exist_are_refused(axis: int | tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match="axis needs one of the 3 axes"):
        normalise_axes(axis, 3)


def test_axes_given_twice_are_refused() -> None:
    with pytest.raises(ShapeError, match="axis needs distinct axes"):
        normalise_axes((1, -2), 3)


def test_shapes_and_counts() -> None:
    assert reduced_shape((2, 3, 4), (0, 2), False) == (3,)
    assert reduced_shape((2, 3, 4), (0, 2), True) == (1, 3, 1)
    assert count((2, 3, 4), (0, 2)) == 8
    assert count((2, 0), ()) == 1


def test_reductions_of_nothing_are_refused() -> None:
    require_elements("max", (0, 3), (1,))
    with pytest.raises(ShapeError, match=r"max needs at least one element .* got shape \(0, 3\)"):
        require_elements("max", (0, 3), (0,))


def test_axes_move_behind_a_batch_axis() -> None:
    assert behind_batch_axis({"axis": 0, "keepdims": True}, (2,)) == {"axis": 1, "keepdims": True}
    assert behind_batch_axis({"axis": (0, 1)}, (2,)) == {"axis": (1, 2)}
