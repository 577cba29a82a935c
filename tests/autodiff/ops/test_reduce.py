"""Sums and products: nothing, zeros, integers, and long axes."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import ShapeError, Tensor, grad, gradcheck
from autodiff.ops.reduce import _SPREAD, _SUM, MOST_WRITTEN, all, any, cumsum, prod, spread, sum


def test_reductions_of_nothing() -> None:
    empty = Tensor(np.empty((0, 2)), requires_grad=True)
    assert sum(empty, axis=0).tolist() == [0.0, 0.0]
    assert prod(empty, axis=0).tolist() == [1.0, 1.0]
    assert all(empty).item() is True
    assert any(empty).item() is False
    for made in (sum(empty), prod(empty), sum(cumsum(empty, axis=0))):
        assert grad(made, empty).shape == (0, 2)


def test_gradient_of_a_sum_over_a_stretched_axis_of_length_zero() -> None:
    """PyTorch issue 15223."""
    for b in (Tensor(np.ones((4, 1)), requires_grad=True), Tensor(np.ones(4), requires_grad=True)):
        column = b if b.ndim == 2 else b[:, None]
        loss = (Tensor(np.zeros((4, 0))) + column).sum()
        assert loss.item() == 0.0
        g = grad(loss, b)
        assert (g.shape, g.tolist()) == (b.shape, np.zeros(b.shape).tolist())


@pytest.mark.parametrize("length", [MOST_WRITTEN // 4, MOST_WRITTEN // 4 + 1])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_reductions_pull_back_at_any_size(name: str, length: int) -> None:
    x = Tensor(np.ones((length, 2, 2)), requires_grad=True)
    weights = np.array([3.0, 5.0])
    g = grad(getattr(x, name)(axis=(0, 2)), x, weights)
    parts = 2 * length if name == "mean" else 1
    assert np.array_equal(g.numpy(), np.broadcast_to(weights[:, None], x.shape) / parts)


def test_spread_is_a_view_only_where_it_is_large() -> None:
    g = Tensor([3.0, 5.0])
    small, large = [spread(g, (2, n), (1,)) for n in (MOST_WRITTEN // 2, MOST_WRITTEN)]
    assert small.is_contiguous()
    assert large.strides == (1, 0)
    assert large._cell.storage is g._cell.storage


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_reductions_of_complex_numbers_are_differentiated_twice(name: str) -> None:
    z = np.array([[1 + 1j, 2.0, 0.0], [0.5j, -1.0, 1 - 1j]])
    assert gradcheck(lambda z: getattr(z, name)(axis=1) ** 3, z, order=2)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]),
        ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0]),
        ([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]),
        ([5.0], [1.0]),
    ],
)
def test_product_with_zeros(values: list[float], wanted: list[float]) -> None:
    x = Tensor(values, requires_grad=True)
    assert grad(prod(x), x).tolist() == wanted


def test_second_derivatives_of_a_product_with_zeros() -> None:
    assert gradcheck(prod, [0.0, 0.0, 4.0], order=2)
    assert gradcheck(lambda x: prod(x, axis=(0, 2)), np.arange(12.0).reshape(2, 3, 2) / 4, order=2)
    assert gradcheck(lambda z: prod(z, axis=0), np.array([[0j, 1 + 1j], [2 - 1j, 0j]]), order=2)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 8, 13, 100])
def test_product_of_any_length(length: int) -> None:
    value = np.random.default_rng(length).uniform(0.5, 1.5, length)
    x = Tensor(value, requires_grad=True)
    np.testing.assert_allclose(grad(prod(x), x).numpy(), value.prod() / value, rtol=1e-12)


def test_product_over_no_axis() -> None:
    x = Tensor([2.0, 3.0], requires_grad=True)
    assert prod(x, axis=()).tolist() == [2.0, 3.0]
    assert grad(prod(x, axis=()).sum(), x).tolist() == [1.0, 1.0]


def test_running_sum_of_a_flattened_tensor() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    assert cumsum(x).tolist() == [1.0, 3.0, 6.0, 10.0]
    assert grad(cumsum(x).sum(), x).tolist() == [[4.0, 3.0], [2.0, 1.0]]


@pytest.mark.parametrize("dtype", [np.int32, np.bool_, np.uint8])
def test_integers_are_counted_wide(dtype: type[np.generic]) -> None:
    value = np.ones((2, 3), dtype)
    for op, reference in ((sum, np.sum), (prod, np.prod), (cumsum, np.cumsum)):
        assert op(Tensor(value)).dtype == reference(value).dtype


def test_long_float32_sums_stay_exact() -> None:
    x = Tensor(np.full(1 << 20, 0.1, np.float32))
    assert sum(x).item() == pytest.approx(0.1 * (1 << 20), rel=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "?"])
@pytest.mark.parametrize("axis", [(), (0,), (1,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_have_the_bits_of_numpys(dtype: str, axis: tuple[int, ...], keepdims: bool) -> None:
    draw = np.random.default_rng(3).normal(size=(7, 300, 5)) * 3
    for x in (draw, draw.T, draw[:, ::-2], draw[:0], draw[:1, :1]):
        array = x.astype(dtype, order="K")
        expected = array.sum(axis=axis, keepdims=keepdims)
        made = _SUM.forward(np, array, axis=axis, keepdims=keepdims)
        assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
        assert made.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(("shape", "lead"), [((), 0), ((5,), 0), ((3,), 1), ((3, 5), 1)])
def test_spread_divides_what_it_repeats(dtype: str, shape: tuple[int, ...], lead: int) -> None:
    x = np.asarray(np.random.default_rng(4).normal(size=shape)).astype(dtype)
    batch, kept = shape[:lead], (1, *shape[lead:])
    wide = (4, *shape[lead:])
    for parts in (1, 3, 7):
        made = _SPREAD.forward(np, x, shape=wide, kept=kept, parts=parts, lead=lead)
        expected = np.broadcast_to(x.reshape(*batch, *kept), (*batch, *wide)) / parts
        assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
        assert made.tobytes() == expected.tobytes()


def test_axes_that_do_not_exist_are_refused() -> None:
    for op in (sum, prod, cumsum, all, any):
        with pytest.raises(ShapeError, match="axis needs one of the 1 axes of the tensor, got 1"):
            op([1.0, 2.0], axis=1)


def test_keepdims() -> None:
    x = Tensor(np.ones((2, 3)))
    assert sum(x, axis=0, keepdims=True).shape == (1, 3)
    assert sum(x, keepdims=True).shape == (1, 1)
    assert all(x, axis=-1, keepdims=True).shape == (2, 1)
