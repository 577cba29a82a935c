"""Tables of programs: maps of the stages, and what every output is a sum of."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Case, random_program

from autodiff.backends.emulated_backend import EmulatedBackend
from circuits.engines.base import Wanted
from circuits.engines.cuda_program import DeviceProgram
from circuits.engines.cuda_table import Head, HostTable
from circuits.plan.steps import Plan, Step, Structure

DOUBLE = np.dtype(np.float64)


def part(host: HostTable, start: Head, size: int) -> np.ndarray:
    """A part of a table."""
    at = int(host.integers[start])
    return host.integers[at : at + size]


def image(table: np.ndarray, position: int) -> int:
    """What a map gives, as the kernels read it."""
    return int(table[position & 63] ^ table[64 + (position >> 6)])


@pytest.mark.parametrize("tile", [3, 5, 7])
def test_maps_cover_every_amplitude_once_and_keep_neighbours_together(tile: int) -> None:
    program = random_program(Case(7, 1, np.complex128, seed=4, num_steps=14))
    host = DeviceProgram(program.plan, EmulatedBackend(), tile).host_table(DOUBLE, None, Wanted())
    outer, size = 7 - tile, 64 + (1 << max(tile - 6, 0))
    stages = int(host.forward[:, 0].max()) + 1
    maps = part(host, Head.AT_MAPS, stages * 6 * size).reshape(stages, 3, 2, size)
    bits = part(host, Head.AT_BITS, stages * 2 * outer).reshape(stages, 2, outer)
    for stage in range(stages):
        for direction in range(3):
            states, rows = maps[stage, direction]
            found = [image(states, p) for p in range(1 << tile)]
            assert found == sorted(found)
            assert sorted(image(rows, p) for p in range(1 << tile)) == list(range(1 << tile))
            bases = [
                sum(
                    ((t >> i) & 1) << int(b) for i, b in enumerate(bits[stage, int(direction == 2)])
                )
                for t in range(1 << outer)
            ]
            whole = sorted(base ^ state for base in bases for state in found)
            assert whole == list(range(1 << 7))


def outputs(plan: Plan, wanted: Wanted) -> list[int]:
    """How many numbers every output is a sum of."""
    host = DeviceProgram(plan, EmulatedBackend()).host_table(DOUBLE, None, wanted)
    starts = part(host, Head.AT_GATHER, host.outputs + 1)
    return np.diff(starts).tolist()


def test_every_output_is_a_sum_over_the_instructions_that_have_it() -> None:
    steps = (
        Step(Structure.ROTATION, (0,), slots=(0,), word="X"),
        Step(Structure.ROTATION, (0,), slots=(1,), word="Z"),
        Step(Structure.ROTATION, (0, 1), slots=(0,), word="ZY"),
        Step(Structure.DENSE, (1,), source=0),
        Step(Structure.ROTATION, (), slots=(2,), word=""),
    )
    plan = Plan(2, steps, 4, num_matrices=1)
    assert outputs(plan, Wanted(matrices=True)) == [2, 1, 1, 0] + [1] * 8
    assert outputs(plan, Wanted(angles=(False, True, False, True))) == [0, 1, 0, 0] + [0] * 8
    assert outputs(plan, Wanted(angles=False)) == [0] * 12
