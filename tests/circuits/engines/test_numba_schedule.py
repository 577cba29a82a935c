"""Where wires are, while blocks are written as instructions."""

from __future__ import annotations

import numpy as np
import programs
import pytest

from circuits.engines import instructions as gates
from circuits.engines.numba_columns import Columns
from circuits.engines.numba_instructions import Place
from circuits.engines.numba_schedule import Scheduler
from circuits.plan.blocks import Constant, Cx, Matrix, Phase, Slot, Turn
from circuits.plan.fusion import fuse
from circuits.plan.steps import Plan

DOUBLE = np.dtype(np.float64)


def scheduler(num_qubits: int = 5, lane_bits: int = 2) -> Scheduler:
    fused = fuse(Plan(num_qubits, (), 2))
    places = [Place(1 << q, 1 << q) for q in range(lane_bits)]
    places += [Place(flip=1 << k, mask=1 << k) for k in range(num_qubits - lane_bits)]
    return Scheduler(fused, Columns.place(fused), places, 4)


def test_cx_between_rows_moves_nothing() -> None:
    made = scheduler()
    made.add(Cx(2, 4))
    assert made.ops == []
    assert (made.places[2].flip, made.places[2].mask) == (0b101, 0b001)
    assert (made.places[4].flip, made.places[4].mask) == (0b100, 0b101)


@pytest.mark.parametrize(("control", "target"), [(0, 3), (3, 1)])
def test_cx_between_lanes_and_rows_is_one_exchange(control: int, target: int) -> None:
    made = scheduler()
    made.add(Cx(control, target))
    (op,) = made.ops
    assert op[gates.KIND] == gates.EXCHANGE


@pytest.mark.parametrize("seed", range(5))
def test_flips_and_masks_stay_dual(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = scheduler(6)
    for _ in range(20):
        control, target = (int(q) for q in rng.permutation(4)[:2] + 2)
        made.add(Cx(control, target))
    rows = made.places[2:]
    for i, a in enumerate(rows):
        assert [(a.flip & b.mask).bit_count() % 2 for b in rows] == [int(i == j) for j in range(4)]


def test_matrices_bring_their_qubits_to_the_rows_and_lanes_go_home() -> None:
    made = scheduler()
    entries = programs.random_unitary(np.random.default_rng(0), 4).ravel().view(np.float64)
    made.add(Matrix((0, 3), Constant(tuple(entries))))
    assert [op[gates.KIND] for op in made.ops] == [gates.EXCHANGE, gates.DENSE]
    assert made.places[0].mask
    made.lanes_home(range(5), 2)
    assert [made.places[q].signs for q in range(5)] == [1, 2, 0, 0, 0]


def test_cx_between_lanes_moves_nothing() -> None:
    made = scheduler(6, 3)
    made.add(Cx(0, 2))
    assert made.ops == []
    assert [made.places[q].lanes for q in range(3)] == [0b101, 0b010, 0b100]
    assert [made.places[q].signs for q in range(3)] == [0b001, 0b010, 0b101]


@pytest.mark.parametrize("seed", range(10))
def test_lanes_go_home_from_any_linear_map_and_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = scheduler(6, 3)
    for _ in range(12):
        control, target = (int(q) for q in rng.permutation(6)[:2])
        made.add(Cx(control, target))
        if rng.random() < 0.3:
            rows = [w for w, place in enumerate(made.places) if place.mask]
            lanes = [w for w, place in enumerate(made.places) if place.signs]
            made.swap_places(int(rng.choice(lanes)), int(rng.choice(rows)))
    wires = [int(q) for q in rng.permutation(6)]
    made.lanes_home(wires, 3)
    homes = [made.places[w] for w in wires]
    assert [(p.lanes, p.signs) for p in homes] == [(1, 1), (2, 2), (4, 4), *[(0, 0)] * 3]
    assert all(op[gates.KIND] == gates.EXCHANGE for op in made.ops)


def test_only_what_is_learned_has_environments() -> None:
    made = scheduler()
    made.add(Turn(3, (Slot(0, 1), Constant((1.0, 0.0, 0.0, 0.0)))))
    made.add(Turn(3, (Constant((0.0, 1.0, 0.0, 0.0)),)))
    made.add(Phase(0b1000, Slot(1)))
    schedule = made.finish(DOUBLE, range(5))
    assert schedule.ops[:, gates.LIVE].tolist() == [0, -1, 3]
    assert schedule.slots == ((0,), (), (1,))


def test_controls_outside_the_tile_select_tiles() -> None:
    made = scheduler()
    made.places[4] = Place(base=8)
    made.add(Turn(3, (Slot(0, 1),), ((4, 1), (2, 0))))
    (op,) = made.ops
    assert (op[gates.BASE_MASK], op[gates.BASE_VALUE], op[gates.COUNT]) == (8, 8, 2)


def test_equal_vectors_are_kept_once() -> None:
    made = scheduler()
    first = made.vector([1.0, 0.0, 1.0, 0.0])
    assert made.vector([1.0, 0.0, 1.0, 0.0]) == first
    assert made.vectors[first + 1] == (0.0, 1.0, 0.0, 1.0)
    assert made.vectors[:2] == [(1.0,) * 4, (-1.0,) * 4]
