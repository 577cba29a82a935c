"""logsumexp, softmax, log_softmax: large operands, absent ones, and the refusals."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import DTypeError, ShapeError, Tensor, grad, gradcheck
from autodiff.ops.smooth_max import log_softmax, logsumexp, softmax

INF = float("inf")


def test_large_operands_do_not_overflow() -> None:
    x = Tensor([[1e4, 1e4], [-1e4, -1e4]], requires_grad=True)
    np.testing.assert_allclose(logsumexp(x, axis=1).numpy(), [1e4 + np.log(2), -1e4 + np.log(2)])
    assert softmax(x).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    np.testing.assert_allclose(log_softmax(x).numpy(), np.full((2, 2), -np.log(2)))
    assert grad(logsumexp(x, axis=1).sum(), x).tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert grad(log_softmax(x)[:, 0].sum(), x).tolist() == [[0.5, -0.5], [0.5, -0.5]]


def test_absent_elements() -> None:
    x = Tensor([0.0, -INF, 0.0], requires_grad=True)
    assert logsumexp(x).item() == np.log(2)
    assert softmax(x).tolist() == [0.5, 0.0, 0.5]
    assert log_softmax(x).tolist() == [-np.log(2), -INF, -np.log(2)]
    assert grad(logsumexp(x), x).tolist() == [0.5, 0.0, 0.5]
    assert grad(softmax(x)[0], x).tolist() == [0.25, 0.0, -0.25]
    assert grad(log_softmax(x)[0], x).tolist() == [0.5, 0.0, -0.5]


def test_nothing_but_absent_elements() -> None:
    x = Tensor([[-INF, -INF], [0.0, 0.0]], requires_grad=True)
    assert logsumexp(x, axis=1).tolist() == [-INF, np.log(2)]
    assert grad(logsumexp(x, axis=1).sum(), x).tolist() == [[0.0, 0.0], [0.5, 0.5]]


def test_infinite_elements() -> None:
    assert logsumexp([INF, 1000.0]).item() == INF
    assert np.isnan(logsumexp([np.nan, 1.0]).item())


def test_several_axes() -> None:
    value = np.random.default_rng(5).normal(size=(2, 3, 2))
    assert softmax(value, axis=(0, 2)).sum(axis=(0, 2)).tolist() == pytest.approx([1.0] * 3)
    assert softmax(value, axis=None).sum().item() == pytest.approx(1.0)
    for op in (softmax, log_softmax, logsumexp):
        assert gradcheck(lambda x, op=op: op(x, axis=(0, 2)), value, order=2)


def test_integers_become_float64() -> None:
    for op in (softmax, log_softmax, logsumexp):
        assert op([1, 2]).dtype == np.float64


def test_refusals() -> None:
    for op in (softmax, log_softmax, logsumexp):
        with pytest.raises(DTypeError, match=f"{op.__name__} needs real operands"):
            op([1j])
        with pytest.raises(ShapeError, match=f"{op.__name__} needs at least one element"):
            op(np.empty((2, 0)), axis=1)
