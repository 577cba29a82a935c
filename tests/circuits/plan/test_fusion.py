"""Fusion keeps the unitary, with its global phase."""

from __future__ import annotations

import dense
import numpy as np
import programs
import pytest
from block_steps import blocks_plan, global_phase, rename

from circuits.plan.blocks import Constant, Cx, Exchange, Phase, Slot, Turn, Word
from circuits.plan.fusion import fuse, transpositions
from circuits.plan.steps import Plan, Step, Structure

X = np.array([1, 0])
SWAP = np.array([0, 2, 1, 3])


@pytest.mark.parametrize("num_qubits", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_blocks_are_the_plan(num_qubits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    plan = programs.random_plan(rng, num_qubits, 30)
    angles = rng.normal(size=plan.num_slots)
    matrices = [programs.random_unitary(rng, 2 << k) for k in range(plan.num_matrices)]
    fused = fuse(plan)
    found = dense.plan_matrix(blocks_plan(fused, fused.blocks), angles, matrices)
    renamed = np.empty_like(found)
    renamed[rename(fused.wires)] = found * np.exp(1j * global_phase(fused, angles))
    np.testing.assert_allclose(renamed, dense.plan_matrix(plan, angles, matrices), atol=1e-12)


def rotation(word: str, targets: tuple[int, ...], slot: int) -> Step:
    return Step(Structure.ROTATION, targets, slots=(slot,), word=word)


def test_a_run_on_one_qubit_is_one_block_however_many_angles_it_has() -> None:
    hadamard = np.array([[1, 1], [1, -1]]) / np.sqrt(2)
    steps = (
        rotation("Y", (0,), 0),
        Step(Structure.DENSE, (0,), matrix=hadamard),
        Step(Structure.PERMUTATION, (0,), permutation=X),
        rotation("Z", (0,), 1),
    )
    (block,) = fuse(Plan(1, steps, 2)).blocks
    assert isinstance(block, Turn)
    kinds = [type(factor) for factor in block.factors]
    assert kinds == [Slot, Constant, Slot]


def test_single_gates_get_the_cheapest_block() -> None:
    t_gate = np.array([1, np.exp(0.25j * np.pi)])
    steps = (
        rotation("Y", (0,), 0),
        rotation("Z", (1,), 1),
        Step(Structure.DIAGONAL, (2,), matrix=t_gate),
    )
    blocks = fuse(Plan(3, steps, 2)).blocks
    assert [type(block) for block in blocks] == [Word, Phase, Phase]
    assert blocks[2].controls == ((2, 1),)  # type: ignore[union-attr]


def test_exchanges_of_qubits_cost_nothing() -> None:
    steps = (
        Step(Structure.PERMUTATION, (0, 2), permutation=SWAP),
        Step(Structure.PERMUTATION, (1,), (0,), 1, permutation=X),
    )
    fused = fuse(Plan(3, steps, 0))
    assert fused.blocks == (Cx(2, 1),)
    assert fused.wires == (2, 1, 0)


def test_controlled_permutations_exchange_basis_states() -> None:
    step = Step(Structure.PERMUTATION, (0, 1), (2,), 0, permutation=SWAP)
    assert fuse(Plan(3, (step,), 0)).blocks == (Exchange((0, 1), 1, 2, ((2, 0),)),)


@pytest.mark.parametrize("seed", range(5))
def test_transpositions_compose_to_the_permutation(seed: int) -> None:
    images = np.random.default_rng(seed).permutation(8)
    states = np.arange(8)
    for first, second in transpositions(images):
        states = np.where(states == first, second, np.where(states == second, first, states))
    np.testing.assert_array_equal(states, images)
