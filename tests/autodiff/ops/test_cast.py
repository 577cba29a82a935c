"""astype and copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Tensor
from autodiff.errors import DTypeError
from autodiff.ops.cast import as_inexact, astype, copy

DTYPES = ["float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_gradient_comes_back_in_the_dtype_of_the_operand(source: str, target: str) -> None:
    if np.dtype(source).kind == "c" and np.dtype(target).kind != "c":
        with pytest.raises(DTypeError, match=f"can hold {source}, got {target}. Take .real"):
            astype(np.ones(2, source), target)
        return
    x = Parameter(np.ones(2, source))
    out = x.astype(target)
    assert out.dtype == target
    (out * out).real.sum().backward()
    assert x.grad.dtype == source
    assert x.grad.tolist() == [2.0, 2.0]


def test_integers_have_no_gradient() -> None:
    assert not Parameter([1.5]).astype(int).requires_grad
    assert Parameter([1.5]).astype(int).tolist() == [1]


def test_same_dtype_is_the_tensor_itself() -> None:
    x = Tensor([1.0])
    assert astype(x, float) is x


@pytest.mark.parametrize("target", ["U3", object, "datetime64[s]"])
def test_other_dtypes_are_refused(target: Any) -> None:
    with pytest.raises(DTypeError, match="astype needs a numeric dtype"):
        astype([1.0], target)


def test_copy_has_its_own_storage_and_a_gradient() -> None:
    x = Parameter([1.0, 2.0])
    y = copy(x)
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    x.set_([5.0, 5.0])
    assert y.tolist() == [1.0, 2.0]


def test_copy_of_a_view_is_contiguous() -> None:
    view = Tensor(np.arange(6.0).reshape(2, 3)).T
    assert not view.is_contiguous()
    assert view.copy().is_contiguous()


def test_as_inexact() -> None:
    assert as_inexact("inv", Tensor([1])).dtype == np.float64
    assert as_inexact("inv", Tensor([True])).dtype == np.float64
    single = Tensor(np.ones(1, np.complex64))
    assert as_inexact("inv", single) is single
    with pytest.raises(
        DTypeError, match=r"inv needs dtype float32, .* got float16 of shape \(1,\)"
    ):
        as_inexact("inv", Tensor(np.ones(1, np.float16)))
