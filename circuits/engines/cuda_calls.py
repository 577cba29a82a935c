"""One call of the GPU engine: its operands, its room on the device, and its launches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff.backends.interface import Array
from autodiff.backends.raw_modules import RawModule
from autodiff.dtypes import real_dtype
from circuits.engines import instructions as stages
from circuits.engines.base import Wanted
from circuits.engines.cuda_program import PART, WAVES, DeviceProgram, blocks_of
from circuits.engines.cuda_table import THREADS
from circuits.plan.terms import Terms

WHOLE, BY_TERM, DOT, REVERSE = 1, 2, 4, 8
"""Flags of a launch, see ``statevector.cu``."""

Operands = tuple[Array, Sequence[Array], Array | None, Array | None]
"""Angles, matrices, coefficients and weights, the last two None where there are no terms, or a
cotangent in their place."""

# Any in this file: arrays are a device's, with NumPy's methods.


class Call:
    """What the launches of one call share.

    Args:
        module: the kernels.
        program: of the plan.
        dtype: of the states.
        batch: samples.
        terms: what is measured, or starts lambda.
        wanted: gradients; None for a forward call.
        operands: see ``Operands``.
    """

    def __init__(
        self,
        module: RawModule,
        program: DeviceProgram,
        dtype: np.dtype[Any],
        batch: int,
        terms: Terms | None,
        wanted: Wanted | None,
        operands: Operands,
    ) -> None:
        self.backend, self.batch = program.backend, batch
        self.dtype, self.real = dtype, real_dtype(dtype)
        self.table = program.table(self.real, terms, wanted or Wanted(angles=False))
        self.suffix = suffix_of(dtype)
        self.module = module
        self.flags = WHOLE * self.table.host.whole + REVERSE * (wanted is not None)
        if wanted is not None:
            self.flags += BY_TERM * wanted.coefficients + DOT * self.table.host.dot
        self.nothing = self.backend.empty((1, 1), self.real)
        angles, matrices, coefficients, weights = operands
        columns = program.call_columns(matrices, self.table.host, batch)
        self.columns = (columns, *_counts(columns, columns.shape[1]))
        angles = self.contiguous(angles, self.real)
        given = self.nothing if coefficients is None else self.contiguous(coefficients, self.real)
        self.angles = (angles, *_counts(angles))
        self.coefficients = (given, *_counts(given))
        # A row for every sample, also where the rows are the same.
        full = self.nothing if weights is None else weights
        self.weights = self.backend.xp.ascontiguousarray(full, self.real)
        self._take_room(scratch=program.scratch)

    def _take_room(self, *, scratch: bool) -> None:
        host, real, xp = self.table.host, self.real, self.backend.xp
        processors = self.backend.limits.multiprocessors
        if host.whole:
            self.blocks, self.grid = 1, min(self.batch, WAVES * processors)
            self.room, self.partial = self.empty(self.grid, host.room), self.nothing
        else:
            self.blocks = blocks_of(host, real, self.batch, processors)
            self.grid = self.batch * self.blocks
            self.room = self.empty(self.batch, host.room)
            self.partial = xp.zeros((self.grid, host.sums), real)
        tiles = (self.grid, host.tile) if scratch else (1, 1)
        self.scratch = self.empty(*tiles, dtype=self.dtype)

    def contiguous(self, array: Array, dtype: np.dtype[Any]) -> Array:
        """Return an array as kernels read it, see ``contiguous``."""
        return contiguous(self.backend.xp, array, dtype)

    def states(self, states: Array | None) -> tuple[Array, np.uint64]:
        """Return states and how many there are as kernels take them; None is none."""
        if states is None:
            return self.scratch, np.uint64(0)
        states = self.contiguous(states, self.dtype)
        return states, np.uint64(states.shape[0])

    def forward_passes(self, state: Array, final: Array) -> list[tuple[Array | np.uint64, ...]]:
        """Return what every pass of a forward call reads and writes."""
        passes: list[tuple[Array | np.uint64, ...]] = []
        given = self.states(state)
        for row in self.table.host.forward:
            passes.append((*given, final if row[stages.WRITE_PSI] else self.scratch))
            given = (final, np.uint64(self.batch))
        return passes

    def reverse_passes(
        self, psi: tuple[Array, np.uint64], lam: tuple[Array, np.uint64], by_state: Array
    ) -> list[tuple[Array | np.uint64, ...]]:
        """Return what every pass of a reverse call takes: psi and lambda, old and new."""
        size = 0 if self.table.host.whole else self.batch * psi[0].shape[1]
        between = [self.empty(size, dtype=self.dtype) for _ in range(2)]
        passes: list[tuple[Array | np.uint64, ...]] = []
        rows = np.uint64(self.batch)
        for row in self.table.host.reverse:
            write_psi, write_lambda = row[stages.WRITE_PSI], row[stages.WRITE_LAMBDA]
            new_psi = between[0] if write_psi else self.scratch
            new_lambda = {stages.INNER: between[1], stages.OUTER: by_state}
            passes.append((*psi, *lam, new_psi, new_lambda.get(write_lambda, self.scratch)))
            if write_psi:
                psi = (between[0], rows)
            if write_lambda:
                lam = (between[1], rows)
        return passes

    def matrices(
        self, program: DeviceProgram, outputs: Array, given: Sequence[Array]
    ) -> tuple[Array, ...]:
        """Return the gradients ``(B, d, d)`` of given matrices among the outputs."""
        xp, at = self.backend.xp, program.plan.num_slots
        found: dict[int, Array] = {}
        for source, size in program.fused.matrices.items():
            part = xp.ascontiguousarray(outputs[:, at : at + 2 * size * size])
            found[source] = part.view(self.dtype).reshape(self.batch, size, size)
            at += 2 * size * size
        return tuple(
            [
                found[k] if k in found else xp.zeros((self.batch, *m.shape[1:]), self.dtype)
                for k, m in enumerate(given)
            ]
        )

    def empty(self, *shape: int, dtype: np.dtype[Any] | None = None) -> Array:
        """Return room for results, real by default."""
        return self.backend.empty(shape, self.real if dtype is None else dtype)

    def launch(
        self,
        kernel: str,
        grid: tuple[int, int],
        threads: int,
        arguments: Sequence[Any],
        shared: int,
    ) -> None:
        """Launch a kernel in the call's precision; ``shared`` counts real numbers."""
        if grid[0] * grid[1]:
            shape, extents = (*grid, 1), (threads, 1, 1)
            size = shared * self.real.itemsize
            self.module.launch(kernel + self.suffix, shape, extents, arguments, size)

    def run(self, kernel: str, states: Sequence[Sequence[Any]]) -> None:
        """Launch every pass over the states, after what prepares them.

        Args:
            kernel: ``"forward"`` or ``"reverse"``.
            states: for every pass what it reads and writes beside what all passes do.
        """
        table, host, tiles = self.table, self.table.host, 1 + (kernel == "reverse")
        tables = (table.integers, table.numbers, np.uint32(self.flags))
        operands = (*self.angles, *self.columns, *self.coefficients)
        shared = PART + 2 * tiles * host.tile
        if not host.whole:
            prepared = (*tables, *operands, self.weights, self.room)
            self.launch("prepare_samples", (self.batch, 1), THREADS, prepared, PART)
        counts = (np.uint64(self.batch), np.uint64(self.blocks))
        room = (self.room, self.partial, self.scratch)
        for number, own in enumerate(states):
            arguments = (*tables, np.uint64(number), *counts, *operands, *own, *room)
            self.launch(kernel, (self.grid, 1), host.threads, arguments, shared)

    def collect(
        self, partial: Array, blocks: int, totals: Array, offset: int, first: int = 0
    ) -> None:
        """Add up the sums of a sample's blocks, in order, from column ``first`` on."""
        threads = min(THREADS, 1 << (blocks - 1).bit_length())
        counts = [np.uint64(count) for count in (blocks, partial.shape[1], first)]
        places = [np.uint64(count) for count in (totals.shape[1], offset)]
        grid = (self.batch * (partial.shape[1] - first), 1)
        self.launch("collect", grid, threads, (partial, *counts, totals, *places), threads)

    def finish(self, results: Array, by_term: Array) -> None:
        """Make values or gradients of what the blocks of all samples have left."""
        table, host = self.table, self.table.host
        if host.whole:
            return
        # A forward call has no environments.
        first = 0 if self.flags & REVERSE else host.sums - host.atoms
        start = host.room - host.sums - host.atoms + first
        self.collect(self.partial, self.blocks, self.room, start, first)
        arguments = (
            *(table.integers, table.numbers, np.uint32(self.flags)),
            *(*self.columns, *self.coefficients, self.weights),
            *(self.room, results, by_term),
        )
        self.launch("finish_samples", (self.batch, 1), THREADS, arguments, PART)


def _counts(rows: Array, *widths: int) -> tuple[np.uint64, ...]:
    return tuple([np.uint64(count) for count in (rows.shape[0], *widths)])


def contiguous(xp: Any, array: Array, dtype: np.dtype[Any]) -> Array:
    """Return an array as kernels read it; rows that are shown to all samples, once."""
    if array.ndim > 1 and array.shape[0] > 1 and array.strides[0] == 0:
        array = array[:1]
    return xp.ascontiguousarray(array, dtype)


def suffix_of(dtype: np.dtype[Any]) -> str:
    """Return what follows a kernel's name in the precision of states.

    >>> suffix_of(np.dtype(np.complex64))
    '<float>'
    """
    return "<float>" if real_dtype(dtype) == np.float32 else "<double>"
