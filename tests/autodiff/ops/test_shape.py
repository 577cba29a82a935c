"""Shapes: NumPy's values, shared storage, gradients, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import Tensor, gradcheck
from autodiff.errors import DTypeError, ShapeError
from autodiff.ops import shape
from autodiff.program import Program

X = np.arange(12.0).reshape(2, 1, 3, 2)

#: name, arguments, whether the result is a view of the operand.
CALLS: list[tuple[str, tuple[Any, ...], bool]] = [
    ("reshape", ((3, 4),), True),
    ("reshape", ((-1, 2),), True),
    ("ravel", (), True),
    ("squeeze", (), True),
    ("squeeze", (1,), True),
    ("squeeze", ((-3,),), True),
    ("expand_dims", (0,), True),
    ("expand_dims", ((0, -1),), True),
    ("transpose", (), True),
    ("transpose", ((3, 0, -2, 1),), True),
    ("swapaxes", (0, -1), True),
    ("moveaxis", (0, -1), True),
    ("moveaxis", ((0, 2), (-1, 0)), True),
    ("broadcast_to", ((2, 4, 3, 2),), True),
    ("broadcast_to", ((5, 2, 1, 3, 2),), True),
    ("broadcast_to", ((2, 1, 3, 2),), True),
    ("roll", (1,), False),
    ("roll", (-4, 2), False),
    ("roll", ((1, 5), (0, -1)), False),
    ("roll", (3, (0, 2)), False),
]


@pytest.mark.parametrize(("name", "args", "view"), CALLS)
def test_value_storage_and_gradient(name: str, args: tuple[Any, ...], view: bool) -> None:
    function: Callable[..., Tensor] = getattr(shape, name)
    x = Tensor(X)
    out = function(x, *args)
    np.testing.assert_array_equal(out.numpy(), getattr(np, name)(X, *args))
    assert (out._cell.storage is x._cell.storage) == view
    if view:
        x.set_(X + 1)
        np.testing.assert_array_equal(out.numpy(), getattr(np, name)(X + 1, *args))
        assert out._cell.version == 1
    assert gradcheck(lambda x: function(x, *args), X + 1j * X[::-1], order=2)


@pytest.mark.parametrize(("name", "args", "view"), CALLS)
def test_view_of_a_view(name: str, args: tuple[Any, ...], view: bool) -> None:
    base = Tensor(np.arange(24.0).reshape(2, 1, 3, 4))
    strided = base[..., ::-2]
    expected = getattr(np, name)(strided.numpy(), *args)
    np.testing.assert_array_equal(getattr(shape, name)(strided, *args).numpy(), expected)


def test_reshape_takes_extents_one_by_one_and_as_array() -> None:
    assert shape.reshape(X, 3, 4).shape == (3, 4)
    assert shape.reshape(X, np.array([3, 4])).shape == (3, 4)
    assert shape.reshape(X, np.int64(12)).shape == (12,)
    assert Tensor(X).reshape(12).flatten().shape == (12,)


def test_reshape_to_a_scalar_and_of_nothing() -> None:
    assert shape.reshape([5.0], ()).item() == 5.0
    assert shape.reshape(np.empty((0, 3)), (3, 0, 2)).shape == (3, 0, 2)


def test_unsqueeze_and_movedim_are_methods() -> None:
    assert Tensor(X).unsqueeze(-1).shape == (2, 1, 3, 2, 1)
    assert Tensor(X).movedim(0, 1).shape == (1, 2, 3, 2)


def test_replay_per_sample_keeps_the_batch_axis() -> None:
    """A batch of 0 too, where -1 could not be resolved."""

    def function(x: Tensor) -> Tensor:
        grown = shape.broadcast_to(x, (2, 3))
        return shape.roll(shape.reshape(shape.transpose(grown), 6), 1, 0)

    program = Program.trace(function, ((3,), np.dtype(np.float64)))
    for count in (0, 1, 4):
        batch = np.arange(3.0 * count).reshape(count, 3)
        (out,) = program.run([Tensor(batch)], [True])
        expected = [function(Tensor(row)).numpy() for row in batch]
        np.testing.assert_array_equal(out.numpy(), np.reshape(expected, (count, 6)))


REFUSED: list[tuple[str, tuple[Any, ...], str]] = [
    ("reshape", ((5,),), r"reshape needs a shape of 12 elements, got \(5,\)"),
    ("reshape", ((-1, -1),), "One extent may be -1"),
    ("reshape", ((-1, 5),), "reshape needs a shape of 12 elements"),
    ("reshape", ((-3, -4),), "reshape needs a shape of 12 elements"),
    ("squeeze", (0,), r"squeeze needs axes of length 1, got axis 0 of shape \(2, 1, 3, 2\)"),
    ("squeeze", (4,), "axis needs one of the 4 axes of the tensor, got 4"),
    ("expand_dims", (5,), "axis needs one of the 5 axes"),
    ("expand_dims", ((0, 0),), "axis needs distinct axes"),
    ("transpose", ((0, 1),), "transpose needs a permutation of 4 axes"),
    ("transpose", ((0, 1, 1, 2),), "transpose needs a permutation of 4 axes"),
    ("transpose", ((0, 1, 2, 7),), "axis needs one of the 4 axes"),
    ("swapaxes", (0, -5), "axis needs one of the 4 axes"),
    ("moveaxis", ((0, 1), (2,)), "moveaxis needs one destination a source"),
    ("broadcast_to", ((2, 2),), "broadcast_to needs a shape|operands need shapes that broadcast"),
    ("broadcast_to", ((3, 2),), "broadcast_to needs a shape that"),
    ("roll", ((1, 2), (0,)), "roll needs one shift an axis"),
    ("roll", (1, 9), "axis needs one of the 4 axes"),
]


@pytest.mark.parametrize(("name", "args", "message"), REFUSED)
def test_refusal(name: str, args: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        getattr(shape, name)(X, *args)


def test_transpose_takes_axes_one_by_one() -> None:
    x = Tensor(np.arange(6.0).reshape(1, 2, 3))
    for axes in ((1, 2, 0), ((1, 2, 0),), ([1, 2, 0],), (np.array([1, 2, 0]),), (-2, -1, 0)):
        assert np.array_equal(x.transpose(*axes).numpy(), x.numpy().transpose(1, 2, 0))
    assert x.transpose().shape == x.transpose(None).shape == (3, 2, 1)
    assert Tensor(1.0).transpose().shape == ()
    assert Tensor([1.0]).transpose(0).shape == (1,)
    with pytest.raises(ShapeError, match=r"permutation of 3 axes, got \(0, 0\).*swapaxes"):
        x.transpose(0, 0)


@pytest.mark.parametrize("call", [lambda x: x.sum(axis=0.5), lambda x: x.squeeze("0")])
def test_axis_is_an_integer(call: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(DTypeError, match="axis needs integers, got"):
        call(Tensor([1.0]))
