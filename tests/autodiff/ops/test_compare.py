"""Comparisons: Bool, never recorded, and by NumPy's rules for NaN and complex operands."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import DTypeError, ShapeError, Tensor
from autodiff.ops.compare import equal, greater, isfinite, isinf, isnan, less, logical_not

SPECIAL = [0.0, np.inf, -np.inf, np.nan]


def test_results_are_bool_and_not_recorded() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    for made in (x == 1, x != 1, x < 1, x <= 1, x > 1, x >= 1, isnan(x), logical_not(x)):
        assert made.dtype == np.bool_
        assert not made.requires_grad


def test_nan_equals_nothing() -> None:
    assert equal(SPECIAL, SPECIAL).tolist() == [True, True, True, False]
    assert less(SPECIAL, 1.0).tolist() == [True, False, True, False]


@pytest.mark.parametrize("op", [isnan, isinf, isfinite])
def test_special_values(op: type[isnan]) -> None:
    reference = getattr(np, op.__name__)
    for values in (SPECIAL, [complex(1, v) for v in SPECIAL]):
        assert op(values).tolist() == reference(values).tolist()


def test_order_needs_real_operands() -> None:
    with pytest.raises(
        DTypeError, match=r"less needs real operands, got dtype complex128 of shape"
    ):
        less(1j, Tensor([1.0]))
    with pytest.raises(DTypeError, match=r"Take .real, .imag or abs\(\) first"):
        greater(Tensor([1.0]), 1j)


def test_complex_numbers_can_be_equal() -> None:
    assert (Tensor([1 + 1j, 2]) == Tensor([1 + 1j, 2j])).tolist() == [True, False]


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match="shapes that broadcast"):
        equal([1.0, 2.0], [1.0, 2.0, 3.0])
