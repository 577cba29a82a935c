"""Activations far from zero, where the plain formulas overflow."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import DTypeError, Tensor, grad
from autodiff.ops.activation import relu, sigmoid, softplus


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_operands_do_not_overflow(dtype: type[np.floating]) -> None:
    x = Tensor(np.array([-1e4, 0, 1e4], dtype), requires_grad=True)
    assert sigmoid(x).tolist() == [0.0, 0.5, 1.0]
    assert softplus(x).tolist()[::2] == [0.0, 1e4]
    assert grad(sigmoid(x).sum(), x).tolist() == [0.0, 0.25, 0.0]
    assert grad(softplus(x).sum(), x).tolist() == [0.0, 0.5, 1.0]


def test_sigmoid_of_infinity_is_its_limit() -> None:
    assert sigmoid([np.inf, -np.inf]).tolist() == [1.0, 0.0]
    assert np.isnan(sigmoid(np.nan).item())


def test_sigmoid_keeps_its_small_values() -> None:
    np.testing.assert_allclose(sigmoid(-100.0).item(), np.exp(-100.0), rtol=1e-14)
    assert sigmoid(-1000 + 1j).item() == 0


def test_relu_is_flat_at_zero_and_passes_nan() -> None:
    x = Tensor([-1.0, 0.0, 2.0, np.nan], requires_grad=True)
    assert grad(relu(x).sum(), x).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert relu(x).tolist()[:3] == [0.0, 0.0, 2.0]


@pytest.mark.parametrize("op", [relu, softplus])
def test_order_needs_reals(op: type[relu]) -> None:
    with pytest.raises(DTypeError, match="needs real operands, got dtype complex128"):
        op(1j)


def test_unsigned_integers_do_not_wrap() -> None:
    x = Tensor(np.array([0, 200], np.uint8))
    assert sigmoid(x).tolist() == [0.5, 1.0]
    assert softplus(x).tolist() == [np.log(2), 200.0]
