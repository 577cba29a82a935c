from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autodiff as ad
from autodiff import Parameter, Program, Tensor
from circuits.angles import Angle, Input, capture_angle
from circuits.expression_groups import group_programs

A, B, W, X = Parameter(0.3), Parameter(0.5), Parameter([0.1, 0.2, 0.4]), Input("x", 3)
STARTS = {id(leaf._meta): start for leaf, start in ((A, 0), (B, 1), (W, 2), (X, 0))}


def programs_of(*expressions: Tensor) -> list[Program]:
    captured = [capture_angle(expression, "rx") for expression in expressions]
    found = [angle.program for angle in captured if isinstance(angle, Angle)]
    return [program for program in found if program is not None]


def grouped(*expressions: Tensor) -> tuple[Any, ...]:
    return group_programs(programs_of(*expressions), lambda leaf: STARTS[id(leaf._meta)])


def test_expressions_that_differ_in_their_leaves_are_one_group() -> None:
    groups, places, (parameters, inputs) = grouped(
        A * B, ad.sin(A) * X[0], B * A, A * A, ad.sin(B) * X[0], ad.sin(A) * X[1]
    )
    assert [group.members for group in groups] == [2, 3, 1]
    assert places == [0, 2, 1, 5, 3, 4]
    assert parameters.tolist() == [0, 1, 1, 0, 0, 1, 0, 0]
    assert inputs.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    "other",
    [
        A + A * B,  # other ops
        B * A * 1.0,
        (W * B)[0],  # a leaf of another shape
        X[0] * A,  # an Input
        Parameter(np.float32(0.1)) * B,  # another dtype
        (A * B) ** 2,
    ],
)
def test_expressions_that_differ_otherwise_are_groups_of_their_own(other: Tensor) -> None:
    first, second = programs_of(A * B, other)
    assert len(group_programs([first, second], lambda leaf: 0)[0]) == 2


def test_picked_elements_are_leaves_like_others() -> None:
    groups, _, (parameters, _) = grouped(A * B, W[0] * W[2], W[1] * A)
    assert [group.members for group in groups] == [3]
    assert parameters.tolist() == [0, 2, 3, 1, 4, 0]
    groups, _, (_, inputs) = grouped((np.pi - X[0]) * X[1], (np.pi - X[2]) * X[0])
    assert [group.members for group in groups] == [2]
    assert inputs.tolist() == [0, 2, 1, 0]
    groups, _, (parameters, _) = grouped((W[0:1] * W[2])[0], W[0:1][0] * W[2])
    assert sum(group.members for group in groups) == 2


def test_constants_and_indices_tell_expressions_apart() -> None:
    assert len(grouped(A * (B + 1.5), B * (A + 1.5))[0]) == 1
    assert len(grouped(A * (B + 1.5), B * (A + 2.5))[0]) == 2
    assert len(grouped((W * W)[0], (W * W)[1])[0]) == 2
    assert len(grouped((W * W)[[0]], (W * W)[[1]])[0]) == 2
    first, second = np.arange(3000.0), np.arange(3000.0)
    second[1500] = -1.0
    assert len(grouped((A * first).sum(), (A * second).sum())[0]) == 2
    rows, others = np.zeros(3000, int), np.zeros(3000, int)
    others[1500] = 1
    assert len(grouped((W * W)[rows].sum(), (W * W)[others].sum())[0]) == 2
    assert len(grouped((W * W)[rows].sum(), (W * W)[rows.copy()].sum())[0]) == 1
    assert len(grouped((W * W)[0:2].sum(), (W * W)[1:3].sum())[0]) == 2


@pytest.mark.parametrize("batched", [(False, False), (False, True), (True, False), (True, True)])
def test_results_are_those_of_the_programs_one_by_one(batched: tuple[bool, bool]) -> None:
    programs = programs_of(
        A * B,
        ad.sin(A) * X[0] + (W * X).sum(),
        ad.exp(B * B) / 2,
        B * A,
        ad.sin(B) * X[0] + (W * X).sum(),
        (W[::-1] * X)[1],
    )
    groups, places, taken = group_programs(programs, lambda leaf: STARTS[id(leaf._meta)])
    rng = np.random.default_rng(0)
    vectors = [
        Tensor(rng.normal(size=(4, size) if flag else (size,)), requires_grad=True)
        for flag, size in zip(batched, (5, 3), strict=True)
    ]
    gathered = [
        (vector[..., indices], flag)
        for vector, indices, flag in zip(vectors, taken, batched, strict=True)
    ]
    results = [group.evaluate(*gathered) for group in groups]
    columns: list[Tensor] = []
    for group, (result, flag) in zip(groups, results, strict=True):
        assert flag is any(batched[operand.is_input] for operand in group.operands)
        columns += [result[..., k] for k in range(group.members)]
    total, wanted = Tensor(0.0), Tensor(0.0)
    for program, place in zip(programs, places, strict=True):
        values = []
        for leaf in program.slots:
            is_input = leaf is X
            start, vector = STARTS[id(leaf._meta)], vectors[is_input]
            part = vector[..., start : start + leaf.numel()]
            lead = (4,) if batched[is_input] else ()
            values.append(part.reshape((*lead, *leaf.shape)))
        flags = [batched[leaf is X] for leaf in program.slots]
        (right,) = program.run(values, flags)
        np.testing.assert_allclose(columns[place].numpy(), right.numpy(), rtol=0, atol=1e-15)
        total = total + (place + 1) * columns[place].sum()
        wanted = wanted + (place + 1) * right.sum()
    pairs = zip(ad.grad(total, vectors), ad.grad(wanted, vectors), strict=True)
    for mine, theirs in pairs:
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=0, atol=1e-13)


def test_division_by_zero_is_nan_without_a_warning() -> None:
    groups, _, _ = grouped(A / B)
    (group,) = groups
    result, _ = group.evaluate((Tensor([0.0, 0.0]), False), (Tensor([]), False))
    assert np.isnan(result.numpy()).all()


def test_nothing_is_no_group() -> None:
    groups, places, (parameters, inputs) = grouped()
    assert (groups, places, parameters.size, inputs.size) == ([], [], 0, 0)
