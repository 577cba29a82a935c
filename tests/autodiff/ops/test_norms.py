"""norm: NumPy's values, gradients, the convention at 0, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, gradcheck
from autodiff.errors import DTypeError, ShapeError
from autodiff.ops.norms import norm

X = np.random.default_rng(4).normal(size=(3, 4, 2)) + 0.5j


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize(
    ("ord", "axis"),
    [(None, None), (None, 1), (None, (0, -1)), ("fro", (0, 2)), (1, 0), (2, 1), (np.inf, -1)],
)
@pytest.mark.parametrize("value", [X, X.real], ids=["complex", "real"])
def test_as_numpy(value: Any, ord: Any, axis: Any, keepdims: bool) -> None:
    out = norm(value, ord, axis, keepdims)
    np.testing.assert_allclose(out.numpy(), np.linalg.norm(value, ord, axis, keepdims), rtol=1e-14)
    assert out.dtype == np.float64
    assert gradcheck(lambda x: norm(x, ord, axis, keepdims), value, order=2)


@pytest.mark.parametrize("ord", [None, 1, 2])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_gradient_at_zero_is_zero(ord: Any, dtype: str) -> None:
    x = Parameter(np.zeros(3, dtype))
    out = norm(x, ord)
    out.backward()
    assert out.dtype == np.float32
    assert x.grad.dtype == dtype
    assert x.grad.tolist() == [0.0] * 3


def test_one_zero_row_does_not_touch_the_others() -> None:
    x = Parameter([[0.0, 0.0], [3.0, 4.0]])
    norm(x, axis=1).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0.0, 0.0], [0.6, 0.8]])


def test_scalars_integers_and_nothing() -> None:
    assert norm(-2.0).item() == 2.0
    assert norm([3, 4]).item() == 5.0
    assert norm(np.empty((0, 2)), axis=0).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("ord", "axis", "got"),
    [
        (3, 0, "3 over 1 axes"),
        (2, None, "2 over 3"),
        (1, (0, 1), "1 over 2"),
        ("nuc", (0, 1), "nuc"),
    ],
)
def test_other_norms_are_refused(ord: Any, axis: Any, got: str) -> None:
    with pytest.raises(ShapeError, match=f"norm needs ord None, 'fro' over two axes, .*{got}"):
        norm(X, ord, axis)


def test_bad_axis_and_dtype_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"axis needs .* got 3"):
        norm(X, axis=3)
    with pytest.raises(DTypeError, match="norm needs dtype float32"):
        norm(np.ones(2, np.float16))
