"""take and segment_sum: values, sums over repeated indices, dtypes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Tensor, gradcheck
from autodiff.errors import DTypeError, ShapeError
from autodiff.ops.gather import segment_sum, take

X = np.random.default_rng(8).normal(size=(3, 4, 2))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [1, [0, -1, 0], [[1, 0], [1, 1]], np.empty((0, 2), int)])
def test_take_as_numpy(indices: Any, axis: int | None) -> None:
    out = take(X, indices, axis)
    np.testing.assert_array_equal(out.numpy(), np.take(X, indices, axis))
    assert out.shape == np.take(X, indices, axis).shape
    assert gradcheck(lambda x: take(x, indices, axis), X * (1 + 1j), order=2)


def test_take_follows_an_index_tensor() -> None:
    index = Tensor([0, 1])
    assert Tensor([5.0, 6.0, 7.0]).take(index).tolist() == [5.0, 6.0]


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_segment_sum_adds_what_has_one_id(axis: int) -> None:
    ids = np.array([3, -4, 3, 1])[: X.shape[axis]]
    expected = np.zeros((*X.shape[:axis], 4, *X.shape[axis:][1:])) if axis >= 0 else None
    if expected is None:
        expected = np.zeros((*X.shape[:-1], 4))
    for k, segment in enumerate(ids):
        np.moveaxis(expected, axis, 0)[segment] += np.moveaxis(X, axis, 0)[k]
    np.testing.assert_allclose(segment_sum(X, ids, 4, axis).numpy(), expected, rtol=1e-15)
    assert gradcheck(lambda x: segment_sum(x, ids, 4, axis), X * (1 - 1j), order=2)


def test_segment_sum_of_nothing() -> None:
    assert segment_sum(np.empty((0, 2)), [], 3).tolist() == [[0.0, 0.0]] * 3


@pytest.mark.parametrize(
    ("dtype", "result"),
    [("float32", "float32"), ("complex64", "complex64"), ("int32", "int64"), ("bool", "int64")],
)
def test_segment_sum_has_the_dtype_of_sum(dtype: str, result: str) -> None:
    out = segment_sum(np.ones(3, dtype), [0, 0, 1], 2)
    assert out.dtype == result
    assert out.tolist() == [2, 1]


def test_embedding_rows_accumulate() -> None:
    table = Parameter(np.zeros((3, 2), np.float32))
    take(table, [[2, 2], [0, 2]], 0).sum().backward()
    assert table.grad.tolist() == [[1.0, 1.0], [0.0, 0.0], [3.0, 3.0]]
    assert table.grad.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: take(X, [3], 0), ShapeError, "values from -3 to 2 for an axis of length 3"),
        (lambda: take(X, Tensor([-4]), 0), ShapeError, "values from -3 to 2"),
        (lambda: take(X, [0], 3), ShapeError, "axis needs one of the 3 axes"),
        (lambda: take(X, [0.0], 0), DTypeError, "an index needs integers"),
        (
            lambda: take(X, [True, False, True], 0),
            DTypeError,
            "need integer indices, got dtype bool",
        ),
        (lambda: segment_sum(X, [0, 1], 2), ShapeError, r"needs ids of shape \(3,\) .* \(2,\)"),
        (lambda: segment_sum(X, [0, 1, 2], 2), ShapeError, "values from -2 to 1"),
        (lambda: segment_sum(1.0, [0], 2), ShapeError, "axis needs one of the 0 axes"),
    ],
)
def test_refusal(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
