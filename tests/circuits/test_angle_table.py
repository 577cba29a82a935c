"""All angles at once: the affine map, its adjoint, batches and programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import autodiff as ad
from autodiff import Parameter, Tensor, transforms
from circuits.angle_layout import Entries
from circuits.angle_table import AngleTable
from circuits.angles import Angle, Input, capture_angle

A, W, X = Parameter(0.3), Parameter([0.1, 0.2, 0.4]), Input("x", 2)


def table_of(*expressions: Any) -> AngleTable:
    captured = [capture_angle(expression, "rx") for expression in expressions]
    angles = [angle for angle in captured if isinstance(angle, Angle)]
    return AngleTable.build(angles, [A, W, X])


def expressions() -> list[Any]:
    """Affine ones, shared elements, and two that are programs."""
    return [A, 2 * A - W[1] + 0.5, W[1] / 4 + X[0], X[1], ad.sin(A) * X[0], A, W[0] * W[2] + 1]


def expected(a: Any, w: Any, x: Any) -> NDArray[Any]:
    rows = [a, 2 * a - w[1] + 0.5, w[1] / 4 + x[0], x[1], np.sin(a) * x[0], a, w[0] * w[2] + 1]
    return np.stack(np.broadcast_arrays(*rows), axis=-1)


def evaluate(table: AngleTable, *given: tuple[Tensor, bool]) -> Tensor:
    tensors, batched = zip(*given, strict=True)
    return table.evaluate(tensors, batched)


def test_single_sample() -> None:
    x = Tensor([0.7, -0.2])
    found = evaluate(table_of(*expressions()), (A, False), (W, False), (x, False))
    np.testing.assert_allclose(found.numpy(), expected(0.3, W.numpy(), x.numpy()), atol=1e-15)


@pytest.mark.parametrize("batched", [(0, 0, 1), (1, 0, 0), (0, 1, 1), (1, 1, 1)])
@pytest.mark.parametrize("batch", [1, 4])
def test_batches_and_their_gradients(batched: tuple[int, int, int], batch: int) -> None:
    rng = np.random.default_rng(0)
    given = [
        Tensor(rng.normal(size=((batch,) if flag else ()) + leaf.shape), requires_grad=True)
        for flag, leaf in zip(batched, (A, W, X), strict=True)
    ]
    pairs = [(x, bool(flag)) for x, flag in zip(given, batched, strict=True)]
    found = evaluate(table_of(*expressions()), *pairs)
    a, w, x = (value.numpy() for value in given)
    wanted = expected(a, np.moveaxis(w, -1, 0), np.moveaxis(x, -1, 0))
    np.testing.assert_allclose(found.numpy(), wanted, atol=1e-15)

    weights = rng.normal(size=found.shape)
    (found * weights).sum().backward()
    step = 1e-6
    for tensor in given:
        assert tensor.grad is not None
        for index in np.ndindex(tensor.shape):
            moved = [value.numpy().copy() for value in given]
            place = next(k for k, other in enumerate(given) if other is tensor)
            difference = 0.0
            for sign in (1, -1):
                moved[place][index] = tensor.numpy()[index] + sign * step
                u, v, y = moved
                value = expected(u, np.moveaxis(v, -1, 0), np.moveaxis(y, -1, 0))
                difference += sign * (value * weights).sum() / (2 * step)
            assert tensor.grad.numpy()[index] == pytest.approx(difference, abs=1e-8)


@pytest.mark.parametrize("batched", [(0, 0, 0), (0, 0, 1), (1, 1, 0)])
def test_rows_of_cotangents_go_back_at_once(batched: tuple[int, int, int]) -> None:
    rng = np.random.default_rng(0)
    given = [
        Tensor(rng.normal(size=((3,) if flag else ()) + leaf.shape))
        for flag, leaf in zip(batched, (A, W, X), strict=True)
    ]
    table = table_of(*expressions())

    def angles(*leaves: Tensor) -> Tensor:
        pairs = zip(leaves, map(bool, batched), strict=True)
        return evaluate(table, *pairs)

    found = ad.jacobian(angles, *given)
    leaves = [x._variable() for x in given]
    out = angles(*leaves)
    assert transforms._pullback(out, leaves) is not None
    flat = out.reshape((-1,))
    for k in range(flat.numel()):
        index = np.unravel_index(k, out.shape)
        gradients = ad.grad(flat[k], leaves, retain_graph=True)
        for rows, g in zip(found, gradients, strict=True):
            np.testing.assert_allclose(rows.numpy()[index], g.numpy(), rtol=0, atol=1e-14)


IDENTITY = [W[0], W[1], W[2]]


def of_leaves(expressions: list[Tensor], leaves: list[Tensor]) -> AngleTable:
    captured = [capture_angle(x, "rx") for x in expressions]
    return AngleTable.build([angle for angle in captured if isinstance(angle, Angle)], leaves)


@pytest.mark.parametrize("batch", [None, 1, 4])
def test_identity_of_one_vector_is_no_op(batch: int | None) -> None:
    table = of_leaves(IDENTITY, [W])
    x = Tensor(np.ones((3,) if batch is None else (batch, 3)), requires_grad=True)
    assert table.is_identity
    assert table.evaluate((x,), (batch is not None,)) is x


@pytest.mark.parametrize(
    ("expressions", "derivatives"),
    [
        ([W[1], W[0], W[2]], [1.0, 1.0, 1.0]),
        ([W[0], W[1]], [1.0, 1.0, 0.0]),
        ([*IDENTITY, W[0]], [2.0, 1.0, 1.0]),
        ([W[0], W[1], 2 * W[2]], [1.0, 1.0, 2.0]),
        ([W[0], W[1], W[2] + 1], [1.0, 1.0, 1.0]),
    ],
)
def test_other_maps_of_one_vector_are_ops(
    expressions: list[Tensor], derivatives: list[float]
) -> None:
    table = of_leaves(expressions, [W])
    assert not table.is_identity
    w = Tensor(W.numpy(), requires_grad=True)
    found = table.evaluate((w,), (False,))
    assert found.tolist() == [x.item() for x in expressions]
    found.sum().backward()
    assert w.grad is not None
    assert w.grad.tolist() == derivatives


def test_identity_of_several_leaves_keeps_their_shapes() -> None:
    a, w = Parameter(0.3), Parameter([[0.1, 0.2]])
    table = of_leaves([a, w[0, 0], w[0, 1]], [a, w])
    assert table.is_identity
    found = table.evaluate((a, w), (False, False))
    assert found.tolist() == [0.3, 0.1, 0.2]
    (found * np.array([1.0, 2.0, 3.0])).sum().backward()
    assert a.grad is not None
    assert w.grad is not None
    assert (a.grad.item(), w.grad.tolist()) == (1.0, [[2.0, 3.0]])
    assert not np.shares_memory(a.grad.numpy(), w.grad.numpy())


def test_no_angles_and_no_leaves() -> None:
    assert AngleTable.build([], []).evaluate((), ()).shape == (0,)
    found = AngleTable.build([], [A]).evaluate((A,), (False,))
    assert found.shape == (0,)


def test_offsets_only() -> None:
    table = AngleTable.build([Angle(offset=0.5)], [])
    assert table.evaluate((), ()).tolist() == [0.5]


def test_one_expression_is_evaluated_once() -> None:
    angle = capture_angle(ad.sin(A) * A, "rx")
    assert isinstance(angle, Angle)
    table = AngleTable.build([angle, -angle, angle * 2.0 + 1.0], [A])
    assert [group.members for group in table.groups] == [1]
    found = table.evaluate((A,), (False,)).numpy()
    value = np.sin(0.3) * 0.3
    np.testing.assert_allclose(found, [value, -value, 2 * value + 1])


def test_single_precision_is_kept() -> None:
    p = Parameter(np.float32(0.1))
    angle = capture_angle(2 * p, "rx")
    assert isinstance(angle, Angle)
    table = AngleTable.build([angle], [p])
    found = table.evaluate((p,), (False,))
    assert found.dtype == np.float32
    found.sum().backward()
    assert p.grad is not None
    assert p.grad.dtype == np.float32


def test_entries_are_segments_by_place() -> None:
    factors = np.array([1.0, 2, 3, 4])
    entries = Entries.sort(4, np.array([2, 0, 2, 1]), np.array([5, 6, 7, 8]), factors)
    assert entries.places.tolist() == [0, 1, 2]
    assert entries.firsts.tolist() == [0, 1, 2]
    assert entries.origins.tolist() == [6, 8, 5, 7]
    assert entries.factors.tolist() == [2, 4, 1, 3]
    assert entries.apply(np, np.arange(9.0)).tolist() == [12.0, 32.0, 26.0, 0.0]


def test_number_of_ops_does_not_grow_with_the_number_of_expressions() -> None:
    launches = []
    for count in (3, 60):
        x, w = Input("x", count), Parameter(0.5)
        angles = [capture_angle((np.pi - x[k]) * x[k - 1] * w, "rx") for k in range(count)]
        table = AngleTable.build(angles, [w, x])
        rng = np.random.default_rng(0)
        given = Tensor(rng.normal(size=(2, count)), device="emulated")
        factor = Tensor(0.5, device="emulated", requires_grad=True)
        ad.reset_stats()
        found = table.evaluate((factor, given), (False, True))
        found.sum().backward()
        launches.append(ad.stats("emulated").launches)
        values = given.numpy()
        right = (np.pi - values) * np.roll(values, 1, axis=1)
        np.testing.assert_allclose(found.numpy(), right * 0.5, atol=1e-15)
        assert factor.grad is not None
        assert factor.grad.item() == pytest.approx(right.sum())
    assert launches[0] == launches[1]
