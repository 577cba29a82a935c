"""Maxima and minima: ties, NaN, positions, and the refusals."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import DTypeError, ShapeError, Tensor, grad
from autodiff.ops.extremes import argmax, argmin, max, min


@pytest.mark.parametrize("op", [max, min])
def test_equal_elements_share_the_gradient(op: type[max]) -> None:
    x = Tensor([[3.0, 3.0, 3.0], [1.0, 2.0, 1.0]], requires_grad=True)
    wanted = [[1 / 3] * 3, [0.0, 1.0, 0.0] if op is max else [0.5, 0.0, 0.5]]
    np.testing.assert_allclose(grad(op(x, axis=1).sum(), x).numpy(), wanted)


@pytest.mark.parametrize("op", [max, min])
def test_nan_wins_and_gets_the_gradient(op: type[max]) -> None:
    x = Tensor([1.0, np.nan, 2.0], requires_grad=True)
    assert np.isnan(op(x).item())
    assert grad(op(x), x).tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("op", [max, min])
def test_infinite_elements(op: type[max]) -> None:
    x = Tensor([np.inf, 1.0, -np.inf], requires_grad=True)
    wanted = [1.0, 0.0, 0.0] if op is max else [0.0, 0.0, 1.0]
    assert grad(op(x), x).tolist() == wanted


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions_are_numpys(name: str) -> None:
    op = {"argmax": argmax, "argmin": argmin}[name]
    value = np.random.default_rng(3).integers(0, 4, (2, 3, 4)).astype(float)
    for axis in (None, 0, -1):
        for keepdims in (False, True):
            wanted = getattr(np, name)(value, axis=axis, keepdims=keepdims)
            given = op(value, axis, keepdims)
            assert (given.tolist(), given.dtype) == (wanted.tolist(), wanted.dtype)


@pytest.mark.parametrize("op", [max, min, argmax, argmin])
def test_refusals(op: type[max]) -> None:
    with pytest.raises(
        DTypeError, match=f"{op.__name__} needs real operands, got dtype complex128"
    ):
        op([1j])
    with pytest.raises(ShapeError, match=f"{op.__name__} needs at least one element"):
        op(np.empty((0, 2)), axis=0)
    with pytest.raises(ShapeError, match=f"{op.__name__} needs at least one element"):
        op(np.empty((0, 2)))
    with pytest.raises(ShapeError, match="axis needs one of the 1 axes"):
        op([1.0], axis=1)


def test_integers_keep_their_dtype() -> None:
    assert max(Tensor(np.array([1, 2], np.int32))).dtype == np.int32
