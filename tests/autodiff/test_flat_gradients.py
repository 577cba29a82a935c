"""Gradients of many leaves as the few buffers that they lie in."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff as ad
from autodiff import Parameter, Tensor, no_grad
from autodiff.dispatch import apply
from autodiff.flat_gradients import gradient_pieces, map_gradients
from autodiff.node import Op
from autodiff.slices import Slice


def _rule(gs: list[Tensor], outs: list[Tensor], inputs: list[Tensor]) -> list[Slice]:
    ends = np.cumsum([0, *[x.numel() for x in inputs]]).tolist()
    return [Slice(gs[0], start, x.shape) for start, x in zip(ends, inputs, strict=False)]


JOIN = Op(
    "join_for_pieces",
    lambda xp, *arrays: xp.concatenate([a.reshape(-1) for a in arrays]),
    _rule,
)


def leaves() -> list[Parameter]:
    """Six elements; the gradient of element k is k + 1, all in one buffer."""
    made = [Parameter(1.0), Parameter([[1.0, 1.0], [1.0, 1.0]]), Parameter(1.0)]
    (apply(JOIN, *made) * np.arange(1.0, 7.0)).sum().backward()
    return made


def elements(chosen: list[Parameter]) -> list[float]:
    pieces = gradient_pieces(chosen)
    return [x for t, start, stop in pieces for x in t.reshape(-1)[start:stop].tolist()]


def test_slices_that_follow_each_other_are_one_piece_and_no_tensor_is_made() -> None:
    made = leaves()
    (piece,) = gradient_pieces(made)
    assert (piece.start, piece.stop) == (0, 6)
    assert elements(made) == [1, 2, 3, 4, 5, 6]
    assert all(isinstance(p._meta.raw_grad, Slice) for p in made)


def test_order_gaps_and_other_gradients_part_the_pieces() -> None:
    first, middle, last = leaves()
    other = Parameter([0.0, 0.0])
    other.grad = Tensor([8.0, 9.0])
    assert elements([first, last]) == [1, 6]
    assert elements([middle, first]) == [2, 3, 4, 5, 1]
    assert elements([first, other, middle]) == [1, 8, 9, 2, 3, 4, 5]
    assert len(gradient_pieces([first, other, middle, last])) == 3
    assert gradient_pieces([]) == []


def test_two_buffers_stay_apart() -> None:
    a, b = leaves(), leaves()
    assert elements([a[0], b[0], a[1]]) == [1, 1, 2, 3, 4, 5]


def test_formula_runs_once_a_buffer_and_keeps_the_slices() -> None:
    made, calls = leaves(), []
    seen = made[1].grad

    def formula(g: Tensor) -> Tensor:
        calls.append(g.shape)
        return 10.0 * g

    map_gradients(formula, made)
    assert calls == [(6,), (2, 2)]  # the gradient that was read is a tensor of its own
    assert elements(made) == [10, 20, 30, 40, 50, 60]
    assert isinstance(made[0]._meta.raw_grad, Slice)
    assert seen is not None
    assert seen.tolist() == [[2, 3], [4, 5]]


def test_leaves_that_are_left_out_keep_their_gradient() -> None:
    first, middle, last = leaves()
    with no_grad():
        map_gradients(lambda g: -g, [first, last])
    assert elements([first, middle, last]) == [-1, 2, 3, 4, 5, -6]


@pytest.mark.parametrize("device", ["cpu", "emulated"])
def test_gradients_of_a_device_stay_there(device: str) -> None:
    p = Parameter(Tensor([1.0, 2.0], device=device))
    (p * p).sum().backward()
    map_gradients(lambda g: ad.clip(g, -3.0, 3.0), [p])
    assert p.grad is not None
    assert (p.grad.device, p.grad.tolist()) == (device, [2.0, 3.0])
