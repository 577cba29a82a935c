"""The last tile of two states of 34 qubits, of which the machine holds some pages.

Indices within a state need 64 bits, and so does where the second one starts.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.host_modules import Schedule
from autodiff.backends.raw_modules import Extents, KernelSet, RawModule, Source
from circuits.engines.base import Gradients, Wanted
from circuits.engines.cuda import CudaEngine
from circuits.engines.cuda_program import WAVES
from circuits.engines.reference import ReferenceEngine
from circuits.plan.steps import Plan, Step, Structure

QUBITS, TILE = 34, 10
LOCAL = (*range(TILE - 3), 20, 31, 32)
"""Qubits of the tiles: those that the steps mix, and the lowest ones."""

MAP_NORESERVE = 0x4000


def sparse_zeros(size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Zeros that take no memory until they are written."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    return np.frombuffer(mmap.mmap(-1, size * dtype.itemsize, flags=flags), dtype)


class LastBlock(RawModule):
    """Kernels that run their last block alone, where there are many."""

    def __init__(self, module: Any, backend: EmulatedBackend) -> None:
        super().__init__(module.source, module.instances)
        self.module, self.backend = module, backend

    def launch(
        self,
        instance: str,
        grid: Extents,
        block: Extents,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        last = Schedule(first=grid[0] - 1, count=1) if grid[0] > 1 << 20 else Schedule()
        self.backend.kernels.schedule = last
        self.module.launch(instance, grid, block, arguments, shared_bytes)


class SparseBackend(EmulatedBackend):
    """An emulated device with room for large states, a block for every tile of them."""

    def __init__(self) -> None:
        super().__init__()
        processors = (1 << (QUBITS - TILE)) // WAVES
        total = 1 << 40
        limits = replace(self.device_limits, multiprocessors=processors, total_bytes=total)
        self.device_limits = limits

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> NDArray[Any]:
        size = int(np.prod(shape))
        if size < 1 << 28:
            return super().empty(shape, dtype)
        return sparse_zeros(size, dtype).reshape(shape)

    def raw_module(self, source: Source, instances: tuple[str, ...]) -> RawModule:
        return LastBlock(super().raw_module(source, instances), self)


def steps(place: Sequence[int] | None = None) -> tuple[Step, ...]:
    """Gates on tile qubits; controls and signs on the others, which are all 1 in the last tile.

    With ``place`` the tile's qubits are numbered from 0, and the others are left out.
    """
    outside = place is None

    def at(*qubits: int) -> tuple[int, ...]:
        return tuple(q if place is None else place.index(q) for q in qubits)

    def rotation(word: str, qubits: tuple[int, ...], slot: int, **fields: Any) -> Step:
        return Step(Structure.ROTATION, qubits, slots=(slot,), word=word, **fields)

    signed = (
        rotation("ZX", (33, *at(31)), 2) if outside else rotation("X", at(31), 2, control_state=0)
    )
    held = {"controls": (30,), "control_state": 1} if outside else {}
    return (
        rotation("Y", at(31), 0),
        rotation("X", at(32), 1, **held),
        *(() if not outside else (rotation("X", at(20), 0, controls=(29,), control_state=0),)),
        signed,
        Step(Structure.PERMUTATION, at(20), at(31), 1, permutation=np.array([1, 0])),
        rotation("Z", at(5), 3),
        rotation("XY", at(20, 3), 3),
    )


def check_large(kernels: KernelSet, source: Source) -> None:
    """Final state and gradients of the last tile of two, forward and in the adjoint sweep."""
    engine = CudaEngine(SparseBackend(), TILE, replace(kernels, source=source))
    plan = Plan(QUBITS, steps(), 4)
    where = last_tile()
    rng = np.random.default_rng(3)
    start, cotangent = (rng.normal(size=(2, 2, 1 << TILE)) / 30).astype(np.float32)
    start, cotangent = start[0] + 1j * start[1], cotangent[0] + 1j * cotangent[1]
    angles = rng.normal(size=(1, 4)).astype(np.float32)
    state = sparse_zeros(2 << QUBITS, np.dtype(np.complex64)).reshape(2, -1)
    state[1, where] = start
    final, _ = engine.forward(plan, state, angles)
    small = Plan(TILE, steps(LOCAL), 4)
    signs = np.where(np.arange(4) == 2, -1, 1).astype(np.float32)
    expected, _ = ReferenceEngine().forward(small, start[None], angles * signs)
    np.testing.assert_allclose(final[1, where], expected[0], rtol=0, atol=1e-5)
    state[1, where] = cotangent
    found = engine.reverse(plan, final, angles, (), Wanted(state=True), cotangent=state)
    wanted = _reference(small, expected, angles * signs, cotangent)
    assert found.state is not None
    assert found.angles is not None
    assert wanted.state is not None
    np.testing.assert_allclose(found.state[1, where], wanted.state[0], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found.angles[1:], wanted.angles * signs, rtol=0, atol=1e-4)


def last_tile() -> NDArray[np.int64]:
    """Basis states of the last tile, in the order of its own qubits."""
    tile = np.arange(1 << TILE)
    local = sum(((tile >> k) & 1) << q for k, q in enumerate(LOCAL))
    outer = sum(1 << q for q in range(QUBITS) if q not in LOCAL)
    return np.asarray(local | outer, np.int64)


def _reference(
    plan: Plan, final: NDArray[Any], angles: NDArray[Any], cotangent: NDArray[Any]
) -> Gradients:
    return ReferenceEngine().reverse(
        plan, final, angles, (), Wanted(state=True), cotangent=cotangent[None]
    )
