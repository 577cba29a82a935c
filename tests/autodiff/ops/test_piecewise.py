"""Choices between operands: ties, NaN, and what the operand that was not chosen gets."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import DTypeError, ShapeError, Tensor, grad, gradcheck
from autodiff.ops.piecewise import ceil, clip, floor, maximum, minimum, rint, trunc, where


@pytest.mark.parametrize("op", [maximum, minimum])
def test_equal_operands_share_the_gradient(op: type[maximum]) -> None:
    x, y = Tensor([1.0, 2.0], requires_grad=True), Tensor([1.0, 2.0], requires_grad=True)
    by_x, by_y = grad(op(x, y).sum(), (x, y))
    assert by_x.tolist() == by_y.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("op", [maximum, minimum])
def test_nan_wins_and_both_get_its_gradient(op: type[maximum]) -> None:
    x, y = Tensor([np.nan, 1.0], requires_grad=True), Tensor([1.0, np.nan], requires_grad=True)
    assert np.isnan(op(x, y).numpy()).all()
    by_x, by_y = grad(op(x, y).sum(), (x, y))
    assert by_x.tolist() == by_y.tolist() == [1.0, 1.0]


def test_infinite_cotangents_stay_where_they_belong() -> None:
    x, y = Tensor([1.0, 3.0], requires_grad=True), Tensor([2.0, 2.0], requires_grad=True)
    seed = Tensor([np.inf, np.nan])
    by_x, by_y = grad(maximum(x, y), (x, y), seed)
    np.testing.assert_array_equal(by_x.numpy(), [0, np.nan])
    np.testing.assert_array_equal(by_y.numpy(), [np.inf, 0])
    np.testing.assert_array_equal(grad(floor(x), x, seed).numpy(), [0, 0])
    np.testing.assert_array_equal(grad(where(True, y, x), x, seed).numpy(), [0, 0])


def test_masked_root() -> None:
    """The documented way around 0 * inf in the branch that was not taken."""
    t = Tensor([0.0, 4.0], requires_grad=True)
    y = where(t > 0, where(t > 0, t, 1).sqrt(), 0)
    assert y.tolist() == [0.0, 2.0]
    assert grad(y.sum(), t).tolist() == [0.0, 0.25]


def test_condition_does_not_widen() -> None:
    assert (
        where(np.array([1.0, 0.0]), Tensor([1.0, 2.0], dtype=np.float32), 0.0).dtype == np.float32
    )
    assert where(True, 1, 2).dtype == np.int64


def test_where_refuses_shapes_that_do_not_fit() -> None:
    with pytest.raises(ShapeError, match="shapes that broadcast"):
        where([True, False], [1.0, 2.0, 3.0], 0.0)


def test_clip_counts_its_limits_in() -> None:
    x = Tensor([-2.0, -1.0, 0.0, 1.0, 2.0], requires_grad=True)
    assert clip(x, -1.0, 1.0).tolist() == [-1.0, -1.0, 0.0, 1.0, 1.0]
    assert grad(clip(x, -1.0, 1.0).sum(), x).tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_clip_gives_the_gradient_to_the_limit_that_was_taken() -> None:
    x = Tensor([-2.0, 0.0, 2.0])
    low, high = Tensor(-1.0, requires_grad=True), Tensor(1.0, requires_grad=True)
    assert [g.item() for g in grad(clip(x, low, high).sum(), (low, high))] == [1.0, 1.0]
    crossed = clip(x, high, low)  # low > high: the result is the upper limit, here -1
    assert crossed.tolist() == [-1.0, -1.0, -1.0]
    assert [g.item() for g in grad(crossed.sum(), (low, high))] == [3.0, 0.0]
    arrays = np.array([-2.0, 0.0, 2.0]), -1.0, 1.0
    assert gradcheck(clip, *arrays, order=2)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_clip_with_one_limit_keeps_the_dtype(dtype: type[np.number]) -> None:
    x = Tensor(np.array([1, 5], dtype))
    assert clip(x, 3).tolist() == [3, 5]
    assert clip(x, high=3).tolist() == [1, 3]
    assert clip(x, 3).dtype == clip(x, high=3).dtype == clip(x).dtype == dtype


def test_clip_refuses_complex_operands_and_shapes_that_do_not_fit() -> None:
    with pytest.raises(DTypeError, match="clip needs real operands, got dtype complex128"):
        clip(1j, 0.0, 1.0)
    with pytest.raises(ShapeError, match="shapes that broadcast"):
        clip([1.0, 2.0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("op", [floor, ceil, trunc, rint])
def test_steps_are_flat_and_real(op: type[floor]) -> None:
    x = Tensor([-1.5, 0.0, 2.5], requires_grad=True)
    assert grad(op(x).sum(), x).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(DTypeError, match="needs real operands, got dtype complex128"):
        op(1j)
