"""All angles at once: the affine map, its adjoint, batches and programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import autodiff as ad
from autodiff import Parameter, Tensor
from circuits.angle_table import AngleTable, Entries
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
    by_leaf = dict(zip([id(leaf._meta) for leaf in (A, W, X)], given, strict=True))
    return table.evaluate(given, lambda leaf: by_leaf[id(leaf._meta)])


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


def test_no_angles_and_no_leaves() -> None:
    assert AngleTable.build([], []).evaluate([], lambda leaf: (leaf, False)).shape == (0,)
    assert AngleTable.build([], [A]).evaluate([(A, False)], lambda leaf: (leaf, False)).shape == (
        0,
    )


def test_offsets_only() -> None:
    table = AngleTable.build([Angle(offset=0.5)], [])
    assert table.evaluate([], lambda leaf: (leaf, False)).tolist() == [0.5]


def test_one_expression_is_evaluated_once() -> None:
    angle = capture_angle(ad.sin(A) * A, "rx")
    assert isinstance(angle, Angle)
    table = AngleTable.build([angle, -angle, angle * 2.0 + 1.0], [A])
    assert len(table.programs) == 1
    (found,) = [table.evaluate([(A, False)], lambda leaf: (A, False)).numpy()]
    value = np.sin(0.3) * 0.3
    np.testing.assert_allclose(found, [value, -value, 2 * value + 1])


def test_single_precision_is_kept() -> None:
    p = Parameter(np.float32(0.1))
    angle = capture_angle(2 * p, "rx")
    assert isinstance(angle, Angle)
    table = AngleTable.build([angle], [p])
    found = table.evaluate([(p, False)], lambda leaf: (p, False))
    assert found.dtype == np.float32
    found.sum().backward()
    assert p.grad is not None
    assert p.grad.dtype == np.float32


def test_entries_are_segments_by_place() -> None:
    entries = Entries.sort(np.array([2, 0, 2, 1]), np.array([5, 6, 7, 8]), np.array([1.0, 2, 3, 4]))
    assert entries.places.tolist() == [0, 1, 2]
    assert entries.firsts.tolist() == [0, 1, 2]
    assert entries.origins.tolist() == [6, 8, 5, 7]
    assert entries.factors.tolist() == [2, 4, 1, 3]
