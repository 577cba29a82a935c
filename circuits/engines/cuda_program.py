"""A plan on one device: its tables in the device's memory, and what a call's columns are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from autodiff.backends.interface import Array, Backend
from circuits.engines.base import Wanted
from circuits.engines.cuda_schedule import DeviceScheduler
from circuits.engines.cuda_table import Head, HostTable, Laid, make_table
from circuits.engines.cuda_waves import Waves, waves_of
from circuits.engines.numba_columns import Columns
from circuits.engines.numba_schedule import wanted_ops
from circuits.engines.numba_stages import StagedLayout, place_in_stages, staged_layout
from circuits.errors import EngineError
from circuits.plan.blocks import Matrix
from circuits.plan.fusion import fuse
from circuits.plan.stages import widest
from circuits.plan.steps import Plan
from circuits.plan.terms import NO_TERMS, Terms
from circuits.plan.words import words_of

# Any in this file: a device's arrays, which have NumPy's methods.

Real = np.dtype[np.floating[Any]]

PART = 2 * 4 * 16
"""Numbers in shared memory beside the tiles: two sets of four sums of 16 warps."""

LOW_BYTES = 128
"""What is read at a time: the lowest qubits of that many bytes are always in a tile."""

WAVES = 32
"""Blocks of a pass for every multiprocessor, at most: a few are there at once, and in the end some
idle."""

MAX_PARTIAL = 1 << 28
"""Bytes that the sums of all blocks may take before fewer blocks do the work."""


@dataclass(frozen=True, eq=False)
class DeviceTable:
    """A table that was sent to a device.

    Attributes:
        host: what it says.
        integers: on the device.
        numbers: on the device.
    """

    host: HostTable
    integers: Array
    numbers: Array


def blocks_of(host: HostTable, real: Real, batch: int, multiprocessors: int) -> int:
    """Return the blocks that share a sample in a pass over its tiles."""
    tiles = (1 << int(host.integers[Head.QUBITS])) // host.tile
    blocks = min(tiles, -(-WAVES * multiprocessors // batch))
    while blocks > 1 and batch * blocks * host.sums * real.itemsize > MAX_PARTIAL:
        blocks = (blocks + 1) // 2
    return blocks


def tile_bits(num_qubits: int, real: Real, shared_bytes: int) -> int:
    """Return log2 of the amplitudes of a tile.

    A state is one tile where psi and lambda fit the shared memory of a block. Tiles of a larger one
    take half of that, so that one block computes while another one reads.

    >>> [tile_bits(13, np.dtype(np.float32), kib << 10) for kib in (227, 163, 99)]
    [13, 13, 11]
    >>> [tile_bits(12, np.dtype(np.float64), kib << 10) for kib in (227, 163, 99)]
    [12, 12, 10]
    """
    part, amplitudes = PART * real.itemsize, 4 * real.itemsize
    whole = ((shared_bytes - part) // amplitudes).bit_length() - 1
    if num_qubits <= whole:
        return num_qubits
    return int(((shared_bytes // 2 - part) // amplitudes).bit_length() - 1)


def bits_on(backend: Backend, tile: int | None, num_qubits: int, real: Real) -> int:
    """Return log2 of the amplitudes of a tile on a device; ``tile`` is the most, or None."""
    if tile is not None:
        return min(tile, num_qubits)
    return tile_bits(num_qubits, real, backend.limits.shared_bytes_optin)


class DeviceProgram:
    """What is made of a plan once for a device.

    Args:
        plan: what runs.
        backend: where.
        tile: log2 of the amplitudes of a tile, at most; None for what the device has room for.
    """

    def __init__(self, plan: Plan, backend: Backend, tile: int | None = None) -> None:
        self.plan = plan
        self.backend = backend
        self.tile = tile
        self.fused = fuse(plan)
        self.columns = Columns.place(self.fused)
        self._layouts: dict[tuple[Real, int], StagedLayout] = {}
        self._tables: dict[tuple[Real, int], WeakKeyDictionary[Terms, dict[Any, DeviceTable]]] = {}
        matrices = [block for block in self.fused.blocks if isinstance(block, Matrix)]
        self.scratch = any(len(block.wires) > 2 for block in matrices)

    def table(self, real: Real, terms: Terms | None, wanted: Wanted) -> DeviceTable:
        """Return the table of calls that want the same."""
        bits = self.bits(real)
        by_terms = self._tables.setdefault((real, bits), WeakKeyDictionary())
        known = by_terms.setdefault(NO_TERMS if terms is None else terms, {})
        key = (wanted.state, wanted.angles, wanted.matrices)
        if key not in known:
            host, send = self.host_table(real, terms, wanted), self.backend.send
            known[key] = DeviceTable(host, send(host.integers), send(host.numbers))
        return known[key]

    def bits(self, real: Real) -> int:
        """Return log2 of the amplitudes of a tile."""
        return bits_on(self.backend, self.tile, self.plan.num_qubits, real)

    def host_table(self, real: Real, terms: Terms | None, wanted: Wanted) -> HostTable:
        """Make a table; nothing is sent."""
        layout = self.layout(real, self.bits(real))
        ops, stop = wanted_ops(layout.schedule, wanted)
        stop = 0 if wanted.state else stop
        key = NO_TERMS if terms is None else terms
        placed, stages = place_in_stages(layout, words_of(key), real)
        laid = Laid(self.fused, self.waves, self.columns, layout, key, placed, stages)
        return make_table(laid, ops, stop, wanted)

    @cached_property
    def waves(self) -> tuple[Waves, ...]:
        """Return the polynomials of the functions."""
        return tuple([waves_of(function) for function in self.fused.functions])

    def layout(self, real: Real, bits: int) -> StagedLayout:
        """Return the program in tiles of 2**bits amplitudes.

        Raises:
            EngineError: a function of angles makes a matrix on more qubits than a tile has. Other
                matrices, and permutations, are not in the plan then, see ``cuda_wide``.
        """
        if (real, bits) not in self._layouts:
            wires = widest(self.fused.blocks)
            if wires > bits:
                raise EngineError(
                    f"engine 'cuda' needs gates with angles on at most {bits} qubits here, got a "
                    f"matrix of a function on {wires}. Split the gate, give its matrix as a "
                    "unitary, or run it with device='cpu'."
                )
            low = min((LOW_BYTES // (2 * real.itemsize)).bit_length() - 1, bits - max(wires, 2))
            scheduler = DeviceScheduler(self.fused, self.columns)
            made = staged_layout(self.fused, scheduler, real, bits, max(low, 0))
            self._layouts[real, bits] = made
        return self._layouts[real, bits]

    def call_columns(self, matrices: Sequence[Array], host: HostTable, batch: int) -> Array:
        """Return room for the columns of a call, with those of given matrices.

        Args:
            matrices: ``(B or 1, d, d)``.
            host: the table. Blocks write what functions make of angles into their sample's row.
            batch: samples.

        Returns:
            ``(B or 1, W)``.
        """
        fused, xp = self.fused, self.backend.xp
        given = [matrices[source] for source in fused.matrices]
        rows = batch if fused.functions else max([1, *[m.shape[0] for m in given]])
        columns = self.backend.empty((rows, host.columns), host.numbers.dtype)
        for source, start in self.columns.given.items():
            flat = matrices[source].reshape(matrices[source].shape[0], -1)
            flat = xp.ascontiguousarray(flat, np.result_type(host.numbers.dtype, np.complex64))
            flat = flat.view(host.numbers.dtype)
            columns[:, start : start + flat.shape[1]] = flat
        return columns
