"""What the launches of one call share."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from programs import Case, random_program

from autodiff.backends.emulated_backend import EmulatedBackend
from circuits.engines.base import Wanted
from circuits.engines.cuda_calls import Call
from circuits.engines.cuda_program import DeviceProgram
from circuits.engines.statevector_kernels import KERNELS

PROGRAM = random_program(Case(5, 3, np.complex128, seed=3))


def call_of(tile: int | None, wanted: Wanted | None = None) -> Call:
    """A call without terms."""
    backend = EmulatedBackend()
    program = DeviceProgram(PROGRAM.plan, backend, tile)
    module = backend.raw_module(KERNELS.source, KERNELS.instances)
    operands = (PROGRAM.angles, PROGRAM.matrices, None, None)
    return Call(module, program, np.dtype(np.complex128), 3, None, wanted, operands)


def test_states_that_all_samples_share_are_read_once() -> None:
    call = call_of(None)
    shared = np.broadcast_to(PROGRAM.state[:1], PROGRAM.state.shape)
    states, count = call.states(shared)
    assert (states.shape[0], count) == (1, 1)
    assert call.states(PROGRAM.state)[1] == 3
    assert call.states(None)[1] == 0


@pytest.mark.parametrize(("tile", "grid", "rooms"), [(None, 3, 3), (3, 12, 3)])
def test_room_is_per_block_or_per_sample(tile: int | None, grid: int, rooms: int) -> None:
    call = call_of(tile)
    assert (call.grid, len(call.room)) == (grid, rooms)
    assert call.scratch.shape == (grid, call.table.host.tile)


def test_later_passes_read_what_earlier_ones_wrote() -> None:
    call = call_of(3, Wanted(state=True))
    by_state = np.empty_like(PROGRAM.state)
    psi, lam = call.states(PROGRAM.state), call.states(PROGRAM.cotangent)
    passes = call.reverse_passes(psi, lam, by_state)
    assert len(passes) > 2
    for before, after in pairwise(passes):
        assert after[0] is before[4]
        assert after[2] is before[5]
    assert passes[0][0] is psi[0]
    assert passes[-1][5] is by_state
