"""Joining and cutting: NumPy's values, gradients, dtypes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Program, Tensor, gradcheck
from autodiff.errors import ShapeError
from autodiff.ops.join import array_split, concatenate, flat_elements, split, stack

RNG = np.random.default_rng(3)
A, B, C = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 0)), RNG.normal(size=(2, 4)) * 1j


@pytest.mark.parametrize("axis", [1, -1, None])
def test_concatenate(axis: int | None) -> None:
    np.testing.assert_array_equal(
        concatenate([A, B, C], axis).numpy(), np.concatenate([A, B, C], axis)
    )
    assert gradcheck(lambda a, b, c: concatenate([a, b, c], axis), A, B, C, order=2)


@pytest.mark.parametrize("axis", [0, 1, -1, -3])
def test_stack(axis: int) -> None:
    np.testing.assert_array_equal(stack([A, 2 * A], axis).numpy(), np.stack([A, 2 * A], axis))
    assert gradcheck(lambda a, b: stack([a, b], axis), A, A * 1j, order=2)


def test_stack_of_numbers_and_scalar_tensors() -> None:
    x = Parameter(2.0)
    out = stack([x, 1, x])
    assert out.tolist() == [2.0, 1.0, 2.0]
    out.sum().backward()
    assert x.grad.item() == 2.0


def test_gradients_have_the_dtype_of_their_operand() -> None:
    a, b = Parameter(np.ones(2, np.float32)), Parameter(np.ones(1, np.complex128))
    out = concatenate([a, b])
    assert out.dtype == np.complex128
    (out * (1 + 2j)).real.sum().backward()
    assert (a.grad.dtype, a.grad.tolist()) == (np.float32, [1.0, 1.0])
    assert b.grad.tolist() == [1 - 2j]


def test_single_precision_stays_single() -> None:
    halves = [np.ones(2, np.float32), np.ones(1, np.float32)]
    assert concatenate(halves).dtype == np.float32
    assert stack([halves[0], 0.5 * Tensor(halves[0])]).dtype == np.float32


def test_batched_and_shared_operands_join_per_sample() -> None:
    spec = ((2,), np.dtype(np.float64))
    program = Program.trace(lambda a, b: concatenate([a, b]), spec, spec)
    batch, shared = Parameter([[1.0, 2.0], [3.0, 4.0]]), Parameter([5.0, 6.0])
    (out,) = program.run([batch, shared], [True, False])
    assert out.tolist() == [[1.0, 2.0, 5.0, 6.0], [3.0, 4.0, 5.0, 6.0]]
    (out * Tensor([[1.0], [10.0]])).sum().backward()
    assert batch.grad.tolist() == [[1.0, 1.0], [10.0, 10.0]]
    assert shared.grad.tolist() == [11.0, 11.0]


@pytest.mark.parametrize(
    ("function", "sections"),
    [(split, 2), (split, [1, 3]), (split, []), (array_split, 3), (array_split, 6), (split, [-1])],
)
@pytest.mark.parametrize("axis", [0, -1])
def test_pieces_are_views(function: Any, sections: Any, axis: int) -> None:
    value = RNG.normal(size=(4, 4))
    x = Tensor(value)
    pieces = function(x, sections, axis)
    wanted = getattr(np, function.__name__)(value, sections, axis)
    for piece, expected in zip(pieces, wanted, strict=True):
        np.testing.assert_array_equal(piece.numpy(), expected)
        assert piece._cell.storage is x._cell.storage or piece.numel() == 0
    assert gradcheck(lambda x: function(x, sections, axis)[0], value, order=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: concatenate([]), "concatenate needs at least one tensor, got none"),
        (lambda: stack([]), "stack needs at least one tensor, got none"),
        (lambda: concatenate([1.0, 2.0]), "axis needs one of the 0 axes"),
        (lambda: concatenate([A, C]), r"concatenate needs shapes that agree .* \(2, 3\), \(2, 4\)"),
        (lambda: concatenate([A, A[0]]), "concatenate needs shapes that agree"),
        (lambda: concatenate([A, A], 2), "axis needs one of the 2 axes"),
        (lambda: stack([A, C]), r"stack needs equal shapes, got \(2, 3\), \(2, 4\)"),
        (lambda: stack([A, A], 3), "axis needs one of the 3 axes"),
        (lambda: split(A, 2, 1), "split needs a number of pieces that divides 3, got 2"),
        (lambda: split(A, 0), "split needs a number of pieces"),
        (lambda: array_split(A, 0), "array_split needs at least 1 piece, got 0"),
        (lambda: split(1.0, 1), "axis needs one of the 0 axes"),
    ],
)
def test_refusal(call: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        call()


@pytest.mark.parametrize("scalars", [False, True])
def test_flat_elements_of_arrays(scalars: bool) -> None:
    arrays = [np.array(1.0), np.array(2.0)] if scalars else [np.array(1.0), A, np.zeros(0)]
    flat = flat_elements(np, arrays, scalars)
    np.testing.assert_array_equal(flat, np.concatenate([a.ravel() for a in arrays]))
