"""Backward: versions, the complex convention, several outputs, second order."""

from __future__ import annotations

import numpy as np
import pytest
from leaves import leaf

from autodiff import C128, F32, F64, Tensor, VersionError, custom_op, grad, no_grad

# -- versions --------------------------------------------------------------------------------------


def test_o30_changed_operand_is_named_with_both_versions() -> None:
    w, x = Tensor(0.0, name="w"), leaf(3.0)
    y = w * x
    w.set_(5.0)
    w.set_(6.0)
    with pytest.raises(
        VersionError, match=r"multiply \(.*\.py:\d+\).*'w'.*version 0, got version 2"
    ):
        y.backward()


CHANGES = {
    "set_": lambda w: w.set_(5.0),
    "clone": lambda w: w.clone().set_(5.0),
    "detach": lambda w: w.detach().set_(5.0),
    "view": lambda w: w.reshape(1).set_([5.0]),
    "storage_mut": lambda w: w.storage_mut().__enter__().fill(5.0),
    "optimizer": lambda w: w._cell.storage.write(np.array(5.0), "cpu"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_o30_every_change_is_seen(change: str) -> None:
    w, x = Tensor(0.0), leaf(3.0)
    y = w * x
    with no_grad():
        CHANGES[change](w)
    with pytest.raises(VersionError, match="version 0, got version 1"):
        y.backward()
    assert x.grad is None


def test_changed_output_that_its_rule_reads_is_refused() -> None:
    x = leaf(1.0)
    y = x.exp()
    with y.storage_mut() as a:
        a[...] = 0.0
    with pytest.raises(
        VersionError, match=r"the output of exp of shape .*version 0, got version 1"
    ):
        (y * 2).backward()


def test_changed_output_that_no_rule_reads_is_fine() -> None:
    x = leaf(1.0)
    y = x + 1.0
    y.set_(9.0)
    y.backward()
    assert x.grad.item() == 1.0


def test_change_of_the_base_is_seen_through_its_view() -> None:
    x = leaf([1.0, 2.0])
    y = x[0] * 2
    x.set_([3.0, 4.0])
    with pytest.raises(VersionError):
        y.backward()


# -- conventions -----------------------------------------------------------------------------------


def test_o31_gradient_of_a_real_loss_descends() -> None:
    z = leaf(3 + 4j)
    (z.real**2 + z.imag**2).backward()
    assert z.grad.item() == 6 + 8j
    z.set_(z.detach() - 0.1 * z.grad)
    assert np.isclose(z.item(), 2.4 + 3.2j)


def test_real_leaf_receives_a_real_gradient() -> None:
    x = leaf(2.0, dtype=F32)
    (x * Tensor(1 + 2j)).backward(Tensor(1j, dtype=C128))
    assert (x.grad.dtype, x.grad.item()) == (F32, 2.0)


def test_holomorphic_rule_is_conjugated() -> None:
    z = leaf(1 + 2j)
    (z * z).backward(Tensor(1 + 0j))
    assert z.grad.item() == (2 * (1 + 2j)).conjugate()


@pytest.mark.parametrize("dtype", [F32, F64, "complex64", C128])
def test_gradient_has_its_leafs_dtype(dtype: object) -> None:
    x = leaf([1.0, 2.0], dtype=dtype)
    (x * Tensor([1.0, 2.0], dtype=C128)).abs().sum().backward()
    assert x.grad.dtype == np.dtype(dtype)


def test_o25_modulus_at_and_near_zero() -> None:
    z = leaf([0, -1e-170, 3 + 4j], dtype=C128)
    abs(z).sum().backward()
    assert np.allclose(z.grad.numpy(), [0, -1, 0.6 + 0.8j])
    z = leaf([0, -1e-23, 3 + 4j], dtype="complex64")
    abs(z).sum().backward()
    assert np.allclose(z.grad.numpy(), [0, -1, 0.6 + 0.8j])


def test_o26_broadcast_against_a_zero_size_axis() -> None:
    a, b, c = Tensor(np.zeros((4, 0))), leaf(np.ones((4, 1))), leaf(np.ones(4))
    loss = (a + b).sum()
    loss.backward()
    (a + c[:, None]).sum().backward()
    assert loss.item() == 0.0
    assert b.grad.tolist() == [[0.0]] * 4
    assert c.grad.tolist() == [0.0] * 4


def test_o27_element_picked_twice() -> None:
    y = leaf([1.0])
    z = y[[0, 0]]
    (2 * z[0] + 3 * z[1]).backward(retain_graph=True)
    assert y.grad.tolist() == [5.0]
    y.zero_grad()
    z[0].backward()
    assert y.grad.tolist() == [1.0]


def test_index_array_may_change_after_it_was_used() -> None:
    x, index = leaf([1.0, 2.0]), np.array([0])
    y = x[index]
    index[0] = 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


# -- several outputs -------------------------------------------------------------------------------

SINCOS = custom_op(
    "sincos",
    lambda xp, x: (xp.sin(x), xp.cos(x)),
    lambda gs, outs, inputs: (
        (0 if gs[0] is None else gs[0] * outs[1]) - (0 if gs[1] is None else gs[1] * outs[0]),
    ),
    outputs=2,
    reads_outputs=True,
)


def test_every_output_contributes() -> None:
    x = leaf(0.4)
    s, c = SINCOS(x)
    (2 * s + 3 * c).backward()
    assert np.isclose(x.grad.item(), 2 * np.cos(0.4) - 3 * np.sin(0.4))


@pytest.mark.parametrize("k", [0, 1])
def test_output_without_cotangent_gives_none_to_the_rule(k: int) -> None:
    x = leaf(0.4)
    SINCOS(x)[k].backward()
    assert np.isclose(x.grad.item(), [np.cos(0.4), -np.sin(0.4)][k])


def test_output_that_is_not_used_keeps_nothing_alive() -> None:
    x = leaf(0.4)
    s, c = SINCOS(x)
    c.retain_grad()
    s.backward()
    assert c.grad is None


def test_rule_reads_from_some_output_on() -> None:
    """What it does not read may change; what it reads is differentiated again."""
    square = custom_op(
        "square_and_slope",
        lambda xp, x: (x * x, 2 * x),
        lambda gs, outs, inputs: (
            (0 if gs[0] is None else gs[0] * outs[0]) + (0 if gs[1] is None else 2 * gs[1]),
        ),
        outputs=2,
        reads_outputs=True,
        reads_from=1,
    )
    x = leaf(3.0)
    y, _ = square(x)
    y.set_(0.0)
    (first,) = grad(y, [x], create_graph=True)
    (second,) = grad(first, [x])
    assert (first.item(), second.item()) == (6.0, 2.0)
    y, slope = square(x)
    slope.set_(0.0)
    with pytest.raises(VersionError, match="the output of square_and_slope"):
        y.backward()


# -- second order ----------------------------------------------------------------------------------


def test_create_graph_records_the_pass() -> None:
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    first = x.grad
    x.zero_grad()
    first.backward()
    assert (first.item(), x.grad.item()) == (12.0, 12.0)


def test_create_graph_retains_the_graph() -> None:
    x = leaf(2.0)
    y = x * x
    y.backward(create_graph=True)
    y.backward()
    assert x.grad.item() == 8.0


def test_pass_is_not_recorded_otherwise() -> None:
    x = leaf(2.0)
    (x * x).backward()
    assert not x.grad.requires_grad


def test_outputs_that_a_rule_reads_are_differentiated_again() -> None:
    op = custom_op(
        "e", lambda xp, x: xp.exp(x), lambda gs, outs, ins: gs[0] * outs[0], reads_outputs=True
    )
    x = leaf(0.3)
    for _ in range(4):
        (slope,) = grad(op(x), [x], create_graph=True)
    (second,) = grad(slope, [x], create_graph=True)
    (third,) = grad(second, [x])
    assert np.allclose([slope.item(), second.item(), third.item()], np.exp(0.3))


def test_third_derivative() -> None:
    x = leaf(2.0)
    y = x**4
    for factor in (4 * 8.0, 12 * 4.0, 24 * 2.0):
        y = grad(y, x, create_graph=True)
        assert np.isclose(y.item(), factor)
