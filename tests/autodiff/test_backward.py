"""Backward: seeds, accumulation, freed graphs, depth."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from leaves import leaf

from autodiff import (
    F32,
    GradientError,
    Parameter,
    Tensor,
    VersionError,
    custom_op,
    no_grad,
)

# -- seeds -----------------------------------------------------------------------------------------


def test_real_scalar_starts_with_one() -> None:
    x = leaf(3.0)
    (x * x).backward()
    assert x.grad.item() == 6.0


def test_leaf_is_its_own_gradient_of_one() -> None:
    x = leaf(3.0)
    x.backward()
    assert x.grad.item() == 1.0


def test_complex_scalar_needs_a_gradient() -> None:
    z = leaf(1 + 1j)
    with pytest.raises(GradientError, match=r"real tensor of shape \(\).*take \.real or abs\(\)"):
        (z * z).backward()
    assert z.grad is None


def test_shape_1_needs_a_gradient() -> None:
    x = leaf([1.0])
    with pytest.raises(GradientError, match=r"got Tensor of shape \(1,\).*sum\(\) it"):
        (x * x).backward()


@pytest.mark.parametrize(
    "gradient",
    [Tensor([1.0]), Tensor(np.ones(2), dtype=F32), Tensor([1j, 1j]), np.ones(3), Tensor(1.0)],
    ids=["shape", "dtype", "complex", "array", "scalar"],
)
def test_gradient_of_another_shape_or_dtype_is_refused(gradient: object) -> None:
    x = leaf([1.0, 2.0])
    y = x * x
    with pytest.raises(GradientError, match=r"needs a gradient of shape \(2,\), dtype float64"):
        y.backward(gradient)
    assert x.grad is None
    y.backward(Tensor([1.0, 1.0]))
    assert x.grad.tolist() == [2.0, 4.0]


def test_tensor_that_was_not_recorded_is_refused() -> None:
    with no_grad():
        y = leaf(2.0) * 2
    for t in (y, Tensor(1.0)):
        with pytest.raises(GradientError, match="backward needs a tensor that requires grad"):
            t.backward()


def test_users_seed_is_neither_changed_nor_shared() -> None:
    x, y, seed = leaf([1.0, 2.0]), leaf([1.0, 1.0]), np.array([3.0, 4.0])
    given = Tensor(seed)
    (x + y).backward(given)
    (x + y).backward(given)
    assert given.tolist() == seed.tolist() == [3.0, 4.0]
    assert x.grad.tolist() == y.grad.tolist() == [6.0, 8.0]
    x.zero_grad()
    x.backward(given)
    arrays = [x.grad.numpy(), y.grad.numpy(), given.numpy(), seed]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])


# -- where gradients go ----------------------------------------------------------------------------


def test_leaf_gradients_accumulate() -> None:
    x = leaf(3.0)
    for _ in range(3):
        (x * 2).backward()
    assert x.grad.item() == 6.0


def test_accumulation_never_writes_into_a_gradient_that_was_handed_out() -> None:
    x = leaf([3.0])
    (x * 2).sum().backward()
    handed_out, seen = x.grad, x.grad.numpy()
    (x * 2).sum().backward()
    assert (handed_out.tolist(), seen.tolist(), x.grad.tolist()) == ([2.0], [2.0], [4.0])


def test_zero_grad_sets_none() -> None:
    x = leaf(3.0)
    (x * 2).backward()
    x.zero_grad()
    assert x.grad is None


def test_intermediate_keeps_no_gradient_of_its_own() -> None:
    x = leaf(3.0)
    y = x * 2
    (y * y).backward()
    assert y.grad is None


def test_retain_grad_keeps_and_accumulates() -> None:
    x = leaf(3.0)
    y = x * 2
    assert y.retain_grad() is y
    z = y * y
    z.backward(retain_graph=True)
    assert y.grad.item() == 12.0
    z.backward()
    assert (y.grad.item(), x.grad.item()) == (24.0, 48.0)


def test_retain_grad_keeps_the_seed_of_the_tensor_itself() -> None:
    y = (leaf(3.0) * 2).retain_grad()
    y.backward()
    assert y.grad.item() == 1.0


def test_retain_grad_keeps_no_graph() -> None:
    y = (leaf(3.0) * 2).retain_grad()
    z = y * y
    z.backward()
    with pytest.raises(GradientError, match="freed"):
        z.backward()


def test_retain_grad_needs_a_recorded_tensor() -> None:
    with pytest.raises(GradientError, match="retain_grad needs a tensor that requires grad"):
        Tensor(1.0).retain_grad()


def test_o28_gradients_of_two_inputs_share_no_memory() -> None:
    x, y = leaf([2.0, 2.0, 2.0]), leaf([3.0, 3.0, 3.0])
    z = x + y
    (x / z).sum().backward()
    assert np.allclose(x.grad.numpy(), 0.12)
    assert np.allclose(y.grad.numpy(), -0.08)
    assert not np.shares_memory(x.grad.numpy(), y.grad.numpy())


@pytest.mark.parametrize("shape", [(), (1,), (2, 1)])
def test_gradient_is_no_part_of_a_seed(shape: tuple[int, ...]) -> None:
    x = leaf(np.ones(shape))
    y = leaf(np.ones(shape))
    seed = Tensor(np.full(shape, 2 + 1j))
    (x * (1 + 0j) + y.reshape(shape)).backward(seed)
    found = [x.grad.numpy(), y.grad.numpy(), seed.numpy()]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(found) for b in found[:i])


def test_same_operand_twice_adds_up() -> None:
    x = leaf(3.0)
    (x * x + x).backward()
    assert x.grad.item() == 7.0


def test_threads_may_accumulate_into_one_leaf() -> None:
    x = leaf(np.zeros(100))

    def work() -> None:
        for _ in range(200):
            x.sum().backward()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.grad.tolist() == [800.0] * 100


# -- graphs ----------------------------------------------------------------------------------------

SHARED = {"saved": (lambda t: t * t, 15.0), "nothing saved": (lambda t: 2 * t, 10.0)}


@pytest.mark.parametrize("name", SHARED)
def test_o32_second_pass_through_a_freed_graph_is_refused(name: str) -> None:
    t = leaf(1.5)
    k = SHARED[name][0](t)
    first, second = 2 * k, 3 * k
    first.backward()
    before = t.grad.item()
    with pytest.raises(GradientError, match="Combine losses that share a forward pass into one"):
        second.backward()
    assert t.grad.item() == before


@pytest.mark.parametrize("name", SHARED)
def test_o32_retained_graph_serves_again(name: str) -> None:
    build, total = SHARED[name]
    t = leaf(1.5)
    k = build(t)
    first, second = 2 * k, 3 * k
    first.backward(retain_graph=True)
    second.backward()
    assert t.grad.item() == total


def test_graph_must_be_retained_from_the_first_pass_on() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(GradientError, match=r"retain_graph=True\) from the first pass on"):
        y.backward(retain_graph=True)


def test_result_computed_from_a_freed_tensor_is_refused() -> None:
    y = leaf(2.0) * 2
    y.backward()
    with pytest.raises(GradientError, match="freed"):
        (y * 3).backward()


def test_part_that_the_pass_did_not_reach_stays() -> None:
    x = leaf(2.0)
    y = x * 3
    a, b = y * 2, x * 5
    a.backward()
    b.backward()
    assert x.grad.item() == 11.0


def test_refused_pass_changes_nothing() -> None:
    x, w = leaf(2.0), leaf(3.0, name="w")
    y = (x * x).retain_grad()
    z = y * w
    w.set_(4.0)
    with pytest.raises(VersionError):
        z.backward()
    assert x.grad is y.grad is w.grad is None
    y.backward()
    assert x.grad.item() == 4.0


def test_rule_that_fails_changes_nothing() -> None:
    calls = []

    def rule(gs: object, outs: object, inputs: object) -> tuple[Tensor]:
        calls.append(1)
        if len(calls) == 1:
            raise KeyError
        return (gs[0] * 2,)

    x, y = leaf(1.0), leaf(1.0)
    out = y * custom_op("flaky", lambda xp, x: 2 * x, rule)(x)
    with pytest.raises(KeyError):
        out.backward()
    assert x.grad is y.grad is None
    out.backward()
    assert (x.grad.item(), y.grad.item()) == (2.0, 2.0)


def test_rule_that_forgets_an_operand_is_named() -> None:
    op = custom_op("forgetful", lambda xp, x, y: x + y, lambda gs, outs, inputs: (gs[0],))
    with pytest.raises(GradientError, match=r"forgetful needs one cotangent an operand.*1 for 2"):
        op(leaf(1.0), leaf(1.0)).backward()


# -- depth -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_o36_deep_chain() -> None:
    x = Parameter(1.0)
    y = x
    for _ in range(200_000):
        y = y * 1.00001
    y.backward()
    assert np.isclose(x.grad.item(), 1.00001**200_000)


def test_o36_deep_chain_is_released_without_a_pass() -> None:
    def work() -> None:
        y = leaf(1.0)
        for _ in range(50_000):
            y = y * 1.0
        del y
        done.append(True)

    done: list[bool] = []
    previous = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(previous)
    assert done == [True]


def test_wide_graph_that_shares_everything_is_traversed_once() -> None:
    y = x = leaf(1.0)
    for _ in range(200):
        y = y + y
    y.backward()
    assert x.grad.item() == 2.0**200
