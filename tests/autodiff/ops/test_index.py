"""Indexing against NumPy: values, gradients (repeated elements add up), views, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Program, Tensor, gradcheck
from autodiff.errors import DTypeError, ShapeError, TraceError
from autodiff.node import Kind
from autodiff.ops.index import flip, getitem

RNG = np.random.default_rng(5)
X = RNG.normal(size=(3, 4, 2, 5))
I = np.array([2, 0, 2])  # noqa: E741 - an index
J = np.array([[-1], [1]])
MASK = np.array([True, False, True, True])

BASIC: list[Any] = [
    0,
    -1,
    np.int64(1),
    ...,
    None,
    (),
    slice(None),
    slice(None, None, -1),
    slice(-1, 0, -2),
    slice(2, 2),
    (1, 2),
    (0, 0, 0, 0),
    (..., 1),
    (0, ..., None, slice(1, 4, 2)),
    (None, slice(1), None, ..., 0),
]

ADVANCED: list[Any] = [
    I,
    [0, 0],
    [],
    [[0, 1], [2, 2]],
    (slice(None), [3, 1]),
    (..., [4, 0, 4]),
    (I, [0, 1, 0]),
    (J, I),
    ([0, 1], [-1, -2]),
    (0, [1, 3]),
    (slice(None), 1, [0, 1]),
    (I, slice(None), 1),
    (I, slice(1, 3), [0, 1, 0]),
    (slice(None), I, slice(None), [4, 4, 0]),
    (0, slice(None), [1, 0], [2, 3]),
    (0, ..., I),
    (None, I),
    (I, None, I),
    (slice(None), None, I, ..., None),
    (slice(None, None, -1), [1, 2], ...),
    np.array(1),
    (slice(None), np.array(1), ...),
    np.array([1, 2], np.uint8),
    X > 0.5,
    (slice(None), MASK),
    (slice(None), MASK, ..., [0, 4, 0]),
    (I, MASK),
    np.array([True, False, True]),
    np.zeros(3, bool),
    (..., RNG.normal(size=(2, 5)) > 0),
    (slice(None), slice(None), *np.ix_([1, 0], [4, 4])),
]


@pytest.mark.parametrize("index", BASIC)
def test_basic_index_is_a_view(index: Any) -> None:
    x = Tensor(X)
    out = x[index]
    np.testing.assert_array_equal(out.numpy(), X[index])
    if out.numel():
        assert out._cell.storage is x._cell.storage
    x.set_(X + 1)
    np.testing.assert_array_equal(out.numpy(), (X + 1)[index])
    assert gradcheck(lambda x: x[index], X + 1j, order=2)


@pytest.mark.parametrize("index", ADVANCED)
def test_advanced_index_is_a_copy(index: Any) -> None:
    x = Tensor(X)
    out = x[index]
    assert out.shape == X[index].shape
    np.testing.assert_array_equal(out.numpy(), X[index])
    assert out._cell.storage is not x._cell.storage
    weights = RNG.normal(size=out.shape)
    leaf = Parameter(X)
    (leaf[index] * weights).sum().backward()
    expected = np.zeros_like(X)
    np.add.at(expected, index, weights)
    np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-12, atol=1e-14)


def test_second_order_through_advanced_index() -> None:
    def function(x: Tensor) -> Tensor:
        picked = x[[0, 2, 0], :, [1, 1, 0]]
        return picked * picked

    assert gradcheck(function, X[:, :2, :, 0] * (1 + 0.5j), order=2)


def test_same_element_twice() -> None:
    """PyTorch issue 1528, HIPS/autograd issue 263: gradients of repeated indices add up."""
    y = Parameter([1.0])
    z = y[[0, 0]]
    (2 * z[0] + 3 * z[1]).backward()
    assert y.grad.tolist() == [5.0]
    y.zero_grad()
    y[[0, 0]][0].backward()
    assert y.grad.tolist() == [1.0]


def test_new_axis_broadcast_against_nothing() -> None:
    """PyTorch issue 15223: an axis of length 0 is summed over as well."""
    b = Parameter(np.ones(4))
    loss = (Tensor(np.zeros((4, 0))) + b[:, None]).sum()
    loss.backward()
    assert loss.item() == 0.0
    assert b.grad.tolist() == [0.0] * 4


def test_tensors_as_index_stay_operands() -> None:
    """A traced function may compute its index, or get it as an argument."""

    def function(x: Tensor, k: Tensor) -> Tensor:
        return x[k, [0, 1]]

    program = Program.trace(function, ((3, 2), X.dtype), ((2,), I.dtype))
    for k in ([0, 1], [2, -1]):
        (out,) = program.run([Tensor(X[:, :2, 0, 0]), Tensor(k)])
        np.testing.assert_array_equal(out.numpy(), X[:, :2, 0, 0][k, [0, 1]])


def test_index_tensors_of_any_shape() -> None:
    x = Tensor(X)
    np.testing.assert_array_equal(x[Tensor(1)].numpy(), X[1])
    np.testing.assert_array_equal(x[[Tensor(1), Tensor(0)]].numpy(), X[[1, 0]])
    np.testing.assert_array_equal(x[Tensor(1) : Tensor(3)].numpy(), X[1:3])
    np.testing.assert_array_equal(x[:, Tensor(MASK)].numpy(), X[:, MASK])


def test_constant_index_may_be_captured() -> None:
    """What eager code picked from a Parameter is a program of it: the index is a constant."""
    x = Parameter([1.0, 2.0, 3.0])
    program = Program.capture([x[[2, 0]]], lambda leaf: leaf is x, lambda leaf: TraceError("no"))
    assert [constant._meta.kind for constant in program.constants] == [Kind.CONSTANT]
    assert program.run([Tensor([4.0, 5.0, 6.0])])[0].tolist() == [6.0, 4.0]


@pytest.mark.parametrize(
    "index", [(0, ..., None), [2, 0], (..., [0, 1, 0]), (I, [1, 0, 1]), MASK[1:]]
)
def test_replay_per_sample(index: Any) -> None:
    batch = RNG.normal(size=(4, 3, 2))
    program = Program.trace(lambda x: x[index], ((3, 2), X.dtype))
    (out,) = program.run([Tensor(batch)], [True])
    np.testing.assert_array_equal(out.numpy(), np.stack([row[index] for row in batch]))


def test_replay_with_an_index_a_sample_is_refused() -> None:
    program = Program.trace(lambda x, k: x[k], ((3,), X.dtype), ((2,), I.dtype))
    with pytest.raises(TraceError, match=r"evaluated per sample needs .*'flat_index'"):
        program.run([Tensor(X[:, 0, 0, 0]), Tensor([[0, 1], [1, 2]])], [False, True])


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (3, ShapeError, r"an index needs to fit shape \(3, 4, 2, 5\), got .*out of bounds"),
        ((0,) * 5, ShapeError, "an index needs to fit shape"),
        ((..., ...), ShapeError, "an index needs to fit shape"),
        ((..., I, ...), ShapeError, "more than one Ellipsis"),
        ((0,) * 4 + (I,), ShapeError, "5 axes indexed"),
        ([0, 3], ShapeError, "an index needs values from -3 to 2 for an axis of length 3"),
        (([0, 1], [-5, 0]), ShapeError, "values from -4 to 3"),
        (([0, 1], [0, 1, 2]), ShapeError, "operands need shapes that broadcast"),
        (MASK, ShapeError, r"a mask of shape \(4,\) for axes of shape \(3,\)"),
        (np.array(True), ShapeError, r"a mask of shape \(\)"),
        (True, DTypeError, "an index needs integers, slices, None, Ellipsis or arrays, got True"),
        (np.True_, DTypeError, "an index needs integers.* got True"),
        (1.0, DTypeError, "an index needs integers"),
        ("a", DTypeError, "needs num"),
        ([0.5], DTypeError, "an index needs integers.* got dtype float64"),
        (Tensor([0.5]), DTypeError, "an index needs integers.* got dtype float64"),
        (slice(0.5), DTypeError, r"a slice needs integers, got slice\(None, 0.5, None\)"),
        (slice(None, None, 0), ShapeError, "a slice needs a step other than 0"),
    ],
)
def test_refusal(index: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        getitem(X, index)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
def test_flip(axis: Any) -> None:
    x = Tensor(X)
    out = flip(x, axis)
    np.testing.assert_array_equal(out.numpy(), np.flip(X, axis))
    assert out._cell.storage is x._cell.storage
    assert gradcheck(lambda x: flip(x, axis), X)


def test_flip_refuses_a_missing_axis() -> None:
    with pytest.raises(ShapeError, match="axis needs one of the 4 axes"):
        flip(X, 4)
