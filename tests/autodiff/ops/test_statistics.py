"""Mean, variance and standard deviation: complex data, ddof, constant data, and the refusals."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import ShapeError, Tensor, grad, gradcheck
from autodiff.ops.statistics import mean, std, var

Z = np.array([[1 + 2j, -1j, 0.5], [2 - 1j, 3 + 1j, -1 + 0.5j]])


@pytest.mark.parametrize("ddof", [0, 1])
def test_variance_of_complex_data_is_real(ddof: int) -> None:
    v = var(Z, axis=1, ddof=ddof)
    wanted = (np.abs(Z - Z.mean(1, keepdims=True)) ** 2).sum(1) / (3 - ddof)
    assert v.dtype == np.float64
    np.testing.assert_allclose(v.numpy(), wanted, rtol=1e-14)
    np.testing.assert_allclose(std(Z, axis=1, ddof=ddof).numpy(), np.sqrt(wanted), rtol=1e-14)


@pytest.mark.parametrize("op", [var, std])
def test_gradients_for_every_ddof(op: type[var]) -> None:
    for ddof in (0, 1):
        assert gradcheck(lambda z, ddof=ddof: op(z, axis=1, ddof=ddof), Z, order=2)


def test_constant_data() -> None:
    x = Tensor([2.0, 2.0, 2.0], requires_grad=True)
    assert std(x).item() == 0.0
    assert grad(std(x), x).tolist() == [0.0, 0.0, 0.0]
    assert grad(var(x), x).tolist() == [0.0, 0.0, 0.0]


def test_deviations_from_the_mean_have_no_common_gradient() -> None:
    """PyTorch issue 107007: the gradient of sum(x - mean(x)) is 0."""
    x = Tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    assert grad((x - mean(x)).sum(), x).tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("op", [mean, var, std])
def test_integers_become_float64(op: type[mean]) -> None:
    reference = {mean: np.mean, var: np.var, std: np.std}[op]
    for dtype in (np.int32, np.bool_, np.float32):
        value = np.array([1, 0, 1], dtype)
        given = op(Tensor(value))
        assert (given.dtype, given.item()) == (reference(value).dtype, reference(value).item())


def test_refusals() -> None:
    with pytest.raises(ShapeError, match="mean needs at least one element"):
        mean(np.empty(0))
    with pytest.raises(ShapeError, match="var needs more than ddof=1 elements along its axes"):
        var([1.0], ddof=1)
    with pytest.raises(ShapeError, match="std needs more than ddof=0 elements along its axes"):
        std(np.empty((0, 2)), axis=0)
