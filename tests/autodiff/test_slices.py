"""Gradients that are slices of one flat buffer."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import Parameter, Tensor
from autodiff.dispatch import apply
from autodiff.node import Op
from autodiff.slices import Slice
from autodiff.table import OPS

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


def test_slices_of_the_same_flat_ones_are_added_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = [Parameter(float(k)) for k in range(5)]
    added, add = [], OPS["add"].forward
    monkeypatch.setattr(OPS["add"], "forward", lambda *args: added.append(1) or add(*args))
    weights = np.arange(5.0)
    (apply(JOIN, *parameters) * weights).sum().backward()
    both = (apply(JOIN, *parameters) * weights).sum() + (apply(JOIN, *parameters) * 2.0).sum()
    added.clear()
    both.backward()
    assert len(added) == 2  # within the pass, and to what was there
    assert all(isinstance(p._meta.raw_grad, Slice) for p in parameters)
    assert [p.grad.item() for p in parameters if p.grad is not None] == (2 * weights + 2).tolist()


def test_slices_of_other_places_are_added_one_by_one() -> None:
    p, q = Parameter(1.0), Parameter(2.0)
    (apply(JOIN, p, q) * np.array([3.0, 5.0])).sum().backward()
    (apply(JOIN, q, p) * np.array([7.0, 11.0])).sum().backward()
    (apply(JOIN, p, q, q) * np.array([1.0, 1.0, 1.0])).sum().backward()
    assert p.grad is not None
    assert q.grad is not None
    assert (p.grad.item(), q.grad.item()) == (15.0, 14.0)


def test_a_gradient_that_was_read_stays_what_it_was() -> None:
    p, q = Parameter(1.0), Parameter(2.0)
    apply(JOIN, p, q).sum().backward()
    first = p.grad
    assert first is not None
    apply(JOIN, p, q).sum().backward()
    assert first.item() == 1.0
    assert p.grad is not None
    assert q.grad is not None
    assert (p.grad.item(), q.grad.item()) == (2.0, 2.0)


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
