"""What the launches of one call share."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from agreement import assert_agree, results
from programs import Case, random_program, wide_program
from wide_steps import wide_case

from autodiff.backends.emulated_backend import LIMITS, EmulatedBackend
from circuits.engines.base import Wanted
from circuits.engines.cuda import CudaEngine
from circuits.engines.cuda_calls import Call
from circuits.engines.cuda_program import WAVES, DeviceProgram
from circuits.engines.cuda_table import Head
from circuits.engines.numba_cpu import NumbaEngine
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


@pytest.mark.parametrize("blocks", [1, 11, 600])
def test_sums_of_all_blocks_are_collected(blocks: int) -> None:
    """Also of more blocks than one has threads."""
    call, rng = call_of(3), np.random.default_rng(blocks)
    partial, totals = rng.normal(size=(3 * blocks, 4)), np.zeros((3, 9))
    call.collect(partial, blocks, totals, 5, first=1)
    expected = np.zeros((3, 9))
    expected[:, 5:8] = partial.reshape(3, blocks, 4).sum(axis=1)[:, 1:]
    np.testing.assert_allclose(totals, expected, rtol=0, atol=1e-12)


def one_processor(tile: int | None = None) -> CudaEngine:
    """An engine whose device runs ``WAVES`` blocks, of which each has more than one thing to do."""
    backend = EmulatedBackend()
    backend.device_limits = replace(LIMITS, multiprocessors=1)
    return CudaEngine(backend, tile)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize(
    ("case", "tile", "blocks"),
    [((3, 2 * WAVES + 3), None, WAVES), ((8, 3), 3, 33)],
    ids=["samples", "tiles"],
)
def test_a_block_does_several(
    case: tuple[int, int], tile: int | None, blocks: int, dtype: type[np.complexfloating]
) -> None:
    """Samples, where a state is one tile, or tiles: 32 of them are shared by 11 blocks a sample."""
    engine, program = one_processor(tile), random_program(Case(*case, dtype, seed=9, num_steps=14))
    assert_agree(program, engine)
    with engine.backend.kernels.record() as launches:
        results(engine, program)
    passes = [x for x in launches if x.instance.startswith(("forward", "reverse"))]
    assert {x.grid for x in passes} == {(blocks, 1, 1)}


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize(("num_qubits", "tile"), [(12, None), (13, 12)], ids=["whole", "staged"])
def test_a_block_of_many_warps(
    num_qubits: int, tile: int | None, dtype: type[np.complexfloating]
) -> None:
    """Of tiles as large as a device has room for, with more instructions than threads."""
    program = wide_program(num_qubits, dtype)
    engine = CudaEngine(EmulatedBackend(), tile)
    made = engine._program(program.plan)
    host = made.host_table(program.angles.dtype, program.terms, Wanted())
    assert host.threads == 256
    assert min(host.integers[Head.OP_COUNT], host.outputs) > 256
    assert_agree(program, engine, NumbaEngine())


@pytest.mark.parametrize("tile", [None, 3], ids=["whole", "staged"])
def test_states_may_start_at_any_amplitude(tile: int | None) -> None:
    """Eight bytes behind a multiple of sixteen, as in a slice of a larger array."""
    program = random_program(Case(4, 2, np.complex64, seed=1))
    states = [np.empty(program.state.size + 1, np.complex64)[1:] for _ in range(2)]
    for place, values in zip(states, (program.state, program.cotangent), strict=True):
        place[...] = values.ravel()
    state, cotangent = [place.reshape(program.state.shape) for place in states]
    assert state.ctypes.data % 16 == 8
    moved = replace(program, state=state, cotangent=cotangent)
    assert_agree(moved, CudaEngine(EmulatedBackend(), tile))


def test_only_the_first_extent_of_a_grid_grows() -> None:
    """It alone may be larger than 65535."""
    engine = CudaEngine(EmulatedBackend(), 3)
    with engine.backend.kernels.record() as launches:
        results(engine, random_program(Case(4, 3, np.complex128)))
        results(engine, wide_case(Case(5, 1, np.complex128), 4))
    assert {launch.instance.split("<")[0] for launch in launches} == {
        name.split("<")[0] for name in KERNELS.instances
    }
    assert {launch.grid[1:] for launch in launches} == {(1, 1)}
