"""Which axes an op reduces, and what that does to shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff.errors import ShapeError
from autodiff.node import Attrs, Shape
from autodiff.ops.shape import some_axes

Axis = int | Sequence[int] | None


def normalise_axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """Return sorted axes counted from 0; None means all of them."""
    return tuple(range(rank)) if axis is None else tuple(sorted(some_axes(axis, rank)))


def reduced_shape(shape: Shape, axis: tuple[int, ...], keepdims: bool) -> Shape:
    """Return the shape after a reduction."""
    if keepdims:
        return tuple([1 if k in axis else n for k, n in enumerate(shape)])
    return tuple([n for k, n in enumerate(shape) if k not in axis])


def count(shape: Shape, axis: tuple[int, ...]) -> int:
    """Return how many elements go into one element of the result."""
    product = 1
    for a in axis:
        product *= shape[a]
    return product


def require_elements(name: str, shape: Shape, axis: tuple[int, ...]) -> None:
    """Refuse a reduction of nothing, where the op has no value for it."""
    if count(shape, axis) == 0:
        raise ShapeError(
            f"{name} needs at least one element along its axes, got shape {shape} and axis {axis}. "
            "Choose other axes, or skip empty data."
        )


def behind_batch_axis(attrs: Attrs, ranks: Sequence[int]) -> Attrs:
    """Rewrite ``axis`` for an operand with a batch axis in front."""
    axis = attrs["axis"]
    moved = axis + 1 if isinstance(axis, int) else tuple(a + 1 for a in axis)
    return {**attrs, "axis": moved}


def reduction_samples(
    draw: Callable[..., Any], **attrs: Any
) -> list[tuple[tuple[Any, ...], Attrs]]:
    """Operands for the table test of a reduction over one or more elements."""
    # Any: test arrays, and whatever further attrs the op has
    return [
        ((draw(2, 3),), {"axis": (0, 1), "keepdims": False, **attrs}),
        ((draw(2, 3, 2),), {"axis": (1,), "keepdims": True, **attrs}),
        ((draw(3, 2, 2),), {"axis": (0, 2), "keepdims": False, **attrs}),
        ((draw(0, 3),), {"axis": (1,), "keepdims": False, **attrs}),
    ]
