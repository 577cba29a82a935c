"""Views share storage and version; strided, zero-size and 0-d tensors are like any other."""

from __future__ import annotations

import numpy as np
import pytest
from leaves import version

from autodiff import ShapeError, Tensor, broadcast_to

VIEWS = {
    "reshape": lambda t: t.reshape(3, 2),
    "transpose": lambda t: t.transpose(),
    "T": lambda t: t.T,
    "row": lambda t: t[1],
    "column": lambda t: t[:, 1],
    "reversed": lambda t: t[::-1, ::2],
    "element": lambda t: t[1, 2, ...],
    "view of a view": lambda t: t.T[1:][0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_shares_storage_and_version(name: str) -> None:
    t = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    view = VIEWS[name](t)
    assert view._cell.storage is t._cell.storage
    expected = VIEWS[name](np.array(t.numpy()))
    t.set_(2 * t.numpy())
    assert np.array_equal(view.numpy(), 2 * expected)
    assert version(view) == version(t) == 1
    assert tuple(s * 8 for s in view.strides) == np.asarray(expected).strides


@pytest.mark.parametrize("name", VIEWS)
def test_write_through_a_view_changes_the_base(name: str) -> None:
    t = Tensor(np.zeros((2, 3)))
    expected = np.zeros((2, 3))
    VIEWS[name](t).set_(np.ones(VIEWS[name](t).shape))
    VIEWS[name](expected)[...] = 1.0
    assert np.array_equal(t.numpy(), expected)
    with VIEWS[name](t).storage_mut() as a:
        a[...] = 0.0
    assert not t.numpy().any()
    assert version(t) == 2


@pytest.mark.parametrize(
    "write", [lambda t: t.set_([1.0, 2.0]), lambda t: t.storage_mut().__enter__()]
)
def test_view_that_repeats_elements_is_not_written(write: object) -> None:
    t = Tensor([0.0])
    with pytest.raises(ShapeError, match=r"memory of their own.*repeats elements"):
        write(broadcast_to(t, (2,)))
    assert (t.tolist(), version(t)) == ([0.0], 0)


@pytest.mark.parametrize("data", [np.zeros((0, 3)), np.zeros((2, 0)), np.float64(3.0)])
def test_zero_size_and_0d_are_first_class(data: np.ndarray) -> None:
    x = Tensor(data, requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.shape == x.shape
    assert np.array_equal(x.grad.numpy(), 2 * data)
    assert x.is_contiguous()


def test_strided_operands_are_first_class() -> None:
    x = Tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    view = x.T[::2]
    assert not view.is_contiguous()
    (view * view).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 4.0], [6.0, 0.0, 10.0]]


def test_strided_data_is_taken_in() -> None:
    data = np.arange(6.0).reshape(2, 3).T[::-1]
    assert np.array_equal(Tensor(data).numpy(), data)
