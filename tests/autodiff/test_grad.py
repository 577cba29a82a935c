"""grad(): derivatives by leaves and by intermediates, without touching any ``grad``."""

from __future__ import annotations

import numpy as np
import pytest
from leaves import leaf

from autodiff import C128, GradientError, ShapeError, Tensor, custom_op, grad


def test_grad_touches_no_gradient() -> None:
    x = leaf(3.0)
    y = (x * 2).retain_grad()
    assert grad(y * y, x).item() == 24.0
    assert x.grad is y.grad is None


def test_grad_of_one_input_is_one_tensor_and_of_several_a_tuple() -> None:
    x, y = leaf(3.0), leaf(4.0)
    assert isinstance(grad(x * y, x), Tensor)
    assert [g.item() for g in grad(x * y, (x, y))] == [4.0, 3.0]
    assert [g.item() for g in grad(x * y, [x])] == [4.0]


def test_grad_takes_several_outputs_and_cotangents() -> None:
    x = leaf([1.0, 2.0])
    y, z = x * x, x.sum()
    g = grad([y, z], x, [Tensor([1.0, 10.0]), None])
    assert g.tolist() == [3.0, 41.0]


def test_grad_needs_one_cotangent_an_output() -> None:
    x = leaf(1.0)
    with pytest.raises(ShapeError, match="one cotangent an output, got 1 for 2"):
        grad([x * 1, x * 2], x, [Tensor(1.0)])


def test_grad_of_an_unused_input_is_zeros() -> None:
    x, y = leaf([1.0, 2.0]), leaf([3 + 1j], dtype=C128)
    g = grad(x.sum(), [x, y])[1]
    assert (g.tolist(), g.dtype) == ([0.0], C128)


def test_o38_grad_of_an_output_that_nothing_reaches_is_zeros() -> None:
    x = leaf(1.1)
    (0 * x + Tensor(1.0)).backward()
    assert x.grad.item() == 0.0
    assert grad(Tensor(1.0) * 2, x).item() == 0.0


def test_grad_by_an_input_that_does_not_require_grad_is_refused() -> None:
    x, y = leaf(1.0), Tensor(2.0, name="y")
    with pytest.raises(GradientError, match="grad needs inputs that require grad, got Tensor 'y'"):
        grad(x * y, y)


def test_grad_by_an_intermediate() -> None:
    x = leaf(2.0)
    h = x * x
    assert grad(h * h, h).item() == 8.0
    assert grad(h, h).item() == 1.0


def test_grad_by_an_intermediate_leaves_the_graph_before_it() -> None:
    x = leaf(2.0)
    h = x * x
    h.backward(grad(3 * h, h))
    assert x.grad.item() == 12.0


def test_grad_by_an_intermediate_whose_graph_is_freed() -> None:
    h = leaf(2.0) * 2
    loss = h * h
    h.backward()
    assert grad(loss, h).item() == 8.0


def test_grad_by_an_intermediate_and_by_what_it_was_made_of() -> None:
    x = leaf(2.0)
    h = x * x
    by_x, by_h = grad(h * x, [x, h])
    assert (by_x.item(), by_h.item()) == (12.0, 2.0)


def test_grad_through_a_freed_graph_is_never_silently_zero() -> None:
    x = leaf(2.0)
    h = x * x
    loss = h * h
    h.backward()
    with pytest.raises(GradientError, match="freed"):
        grad(loss, [x, h])


def test_grad_computes_and_frees_only_what_leads_to_the_inputs() -> None:
    calls = []

    def rule(gs: object, outs: object, inputs: object) -> Tensor:
        calls.append(1)
        return gs[0]

    watched = custom_op("watched", lambda xp, x: x, rule)
    x, y = leaf(2.0), leaf(3.0)
    side = watched(y)
    assert grad(x * side, x).item() == 3.0
    assert calls == []
    side.backward()
    assert y.grad.item() == 1.0


def test_grads_share_no_memory() -> None:
    x, y, seed = leaf([1.0]), leaf([2.0]), Tensor([5.0])
    arrays = [g.numpy() for g in grad(x + y, [x, y, x], seed)]
    arrays += [seed.numpy(), grad(x, x, seed).numpy()]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


def test_grad_frees_the_graph_by_default() -> None:
    x = leaf(2.0)
    y = x * x
    grad(y, x, retain_graph=True)
    grad(y, x)
    with pytest.raises(GradientError, match="freed"):
        grad(y, x)


def test_cotangent_may_be_an_array_or_a_number() -> None:
    x = leaf([1.0, 2.0])
    assert grad(x * x, x, grad_outputs=np.array([1.0, 10.0])).tolist() == [2.0, 40.0]
    assert grad((x * x).sum(), x, 2.0).tolist() == [4.0, 8.0]
    assert grad([x * x, x.sum()], x, [np.ones(2), 1.0]).tolist() == [3.0, 5.0]
