"""The halves of an affine map: what all samples share, and what they have of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff as ad
from autodiff import Parameter, Tensor
from circuits.angle_layout import Entries, Layout
from circuits.angle_table import AngleTable, wanted_slots
from circuits.angles import Angle, Input, capture_angle

A, W, X = Parameter(0.3), Parameter([0.1, 0.2, 0.4]), Input("x", 2)


def table_of(expressions: list[Any]) -> AngleTable:
    captured = [capture_angle(expression, "rx") for expression in expressions]
    return AngleTable.build([angle for angle in captured if isinstance(angle, Angle)], [A, W, X])


SHARED_AND_OWN = [A, W[1] + X[0], X[1], W[0], X[0] * 2 + 1]


@pytest.mark.parametrize(
    ("expressions", "apart"),
    [
        ([X[0], X[1], W[0], A], True),
        ([X[1], A, X[0], W[2]], True),
        (SHARED_AND_OWN, False),
        ([X[0] + 1, A], False),
        ([X[0], A + 1], False),
    ],
)
def test_own_angles_are_written_or_added(expressions: list[Any], apart: bool) -> None:
    table, rows = table_of(expressions), Tensor([[0.7, -0.2], [0.5, 0.25]])
    operands, batched = (A, W, rows), (False, False, True)
    assert table.layout(operands, batched).is_apart is apart
    found = table.evaluate(operands, batched).numpy()
    for k, row in enumerate(rows.numpy()):
        single = table.evaluate((A, W, Tensor(row)), (False,) * 3).numpy()
        np.testing.assert_array_equal(found[k], single)


def test_shared_elements_are_mapped_once_whatever_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[int, ...]] = []
    plain = Entries.sums

    def sums(self: Entries, xp: Any, source: Any) -> Any:
        seen.append(source.shape)
        return plain(self, xp, source)

    monkeypatch.setattr(Entries, "sums", sums)
    a, w = (Tensor(leaf.numpy(), requires_grad=True) for leaf in (A, W))
    rows = Tensor(np.zeros((5, 2)))
    table_of(SHARED_AND_OWN).evaluate((a, w, rows), (False, False, True)).sum().backward()
    assert seen == [(4,), (5, 2), (5,)]  # forward: A and W, X; back: the sum over the samples


@pytest.mark.parametrize("batched", [(False, False, False), (False, False, True), (True,) * 3])
@pytest.mark.parametrize("needs", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1)])
def test_slots_of_operands_are_those_with_a_derivative(
    batched: tuple[bool, ...], needs: tuple[int, ...]
) -> None:
    leaves = [
        Tensor(
            np.zeros((3, *leaf.shape) if flag else leaf.shape),
            requires_grad=bool(need),
        )
        for leaf, flag, need in zip((A, W, X), batched, needs, strict=True)
    ]
    angles = table_of(SHARED_AND_OWN).evaluate(tuple(leaves), batched)
    reads = np.array([(1, 0, 0), (0, 1, 1), (0, 0, 1), (0, 1, 0), (0, 0, 1)])
    assert wanted_slots(angles) == tuple((reads @ needs > 0).tolist())


def test_a_layout_is_kept_for_every_batch_size() -> None:
    table = table_of(SHARED_AND_OWN)
    found = [
        table.layout((A, W, Tensor(np.zeros((batch, 2)))), (False, False, True)) for batch in (3, 5)
    ]
    assert isinstance(found[0], Layout)
    assert found[0] is found[1]
    assert table.layout((A, W, Tensor(np.zeros(2))), (False, False, False)) is not found[0]


def test_batched_values_get_rows_of_gradients() -> None:
    table, rng = table_of(SHARED_AND_OWN), np.random.default_rng(0)
    w = Tensor(rng.normal(size=(4, 3)), requires_grad=True)
    x = Tensor(rng.normal(size=(4, 2)), requires_grad=True)
    weights = rng.normal(size=(4, 5))
    angles = table.evaluate((A, w, x), (False, True, True))
    found = ad.grad((angles * weights).sum(), [w, x])
    np.testing.assert_allclose(found[0].numpy()[:, [0, 1]], weights[:, [3, 1]])
    np.testing.assert_array_equal(found[0].numpy()[:, 2], 0)
    right = np.stack([weights[:, 1] + 2 * weights[:, 4], weights[:, 2]], axis=1)
    np.testing.assert_allclose(found[1].numpy(), right)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("origins", [[2, 3, 4, 5], [0, 3, 3, 1]])
@pytest.mark.parametrize("size", [4, 6])
def test_map_of_a_sum_adds_up_what_is_read(axis: int, origins: list[int], size: int) -> None:
    places, factors = np.array([0, 1, 1, 3]), np.array([1.0, 2.0, -1.0, 0.5])
    entries = Entries.sort(size, places, np.array(origins), factors)
    source = np.random.default_rng(0).normal(size=(3, 4, 6)).astype(np.float32)
    found = entries.apply_to_sum(np, source, axis)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, entries.apply(np, source.sum(axis=axis)), rtol=2e-6)
