"""Gradients that are slices of one flat buffer."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import Parameter, Tensor
from autodiff.dispatch import apply
from autodiff.node import Op, Slice

JOIN = Op(
    "join",
    lambda xp, *arrays: xp.concatenate([a.reshape(-1) for a in arrays]),
    lambda gs, outs, inputs: [Slice(gs[0], k, x.shape) for k, x in enumerate(inputs)],
)


def test_slice_becomes_a_tensor_in_memory_of_its_own() -> None:
    flat = Tensor(np.arange(6.0))
    made = Slice(flat, 2, (2, 2)).tensor()
    assert made.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert not np.shares_memory(made.numpy(), flat.numpy())


def test_no_tensor_is_made_before_a_gradient_is_read() -> None:
    p, q = Parameter(1.0), Parameter(2.0)
    apply(JOIN, p, q).sum().backward()
    assert isinstance(p._meta.raw_grad, Slice)
    assert p.grad is not None
    assert p.grad.item() == 1.0
    assert isinstance(p._meta.raw_grad, Tensor)
    assert isinstance(q._meta.raw_grad, Slice)


def test_gradients_accumulate_and_stay_apart() -> None:
    p, q = Parameter(1.0), Parameter(2.0)
    weights = np.array([3.0, 5.0])
    for _ in range(2):
        (apply(JOIN, p, q) * weights).sum().backward()
    assert p.grad is not None
    assert q.grad is not None
    assert (p.grad.item(), q.grad.item()) == (6.0, 10.0)
    assert not np.shares_memory(p.grad.numpy(), q.grad.numpy())


def test_operand_that_occurs_twice_gets_the_sum() -> None:
    p = Parameter(1.0)
    (apply(JOIN, p, p) * np.array([3.0, 5.0])).sum().backward()
    assert p.grad is not None
    assert p.grad.item() == 8.0


@pytest.mark.parametrize("scale", [2.0, -1.0])
def test_intermediate_operand_passes_it_on(scale: float) -> None:
    p = Parameter(1.0)
    inner = (scale * p).retain_grad()
    apply(JOIN, inner, p).sum().backward()
    assert p.grad is not None
    assert inner.grad is not None
    assert (p.grad.item(), inner.grad.item()) == (scale + 1.0, 1.0)


def test_another_dtype_is_converted() -> None:
    p, q = Parameter(1.0, dtype="float32"), Parameter(2.0)
    apply(JOIN, p, q).sum().backward()
    assert p.grad is not None
    assert p.grad.dtype == np.float32
