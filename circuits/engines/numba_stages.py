"""Programs in stages: which wires lie in a tile when, and what every pass reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from circuits.engines import instructions as kernels
from circuits.engines.numba_columns import Columns
from circuits.engines.numba_instructions import Integers, Place
from circuits.engines.numba_observables import Part, PlacedTerms, joined, place_terms
from circuits.engines.numba_schedule import Schedule, Scheduler
from circuits.plan.blocks import Fused
from circuits.plan.euler import split_turns
from circuits.plan.linear import reduced
from circuits.plan.stages import narrowed, next_stage, widest
from circuits.plan.words import Words

TILE_ROWS_LOG = 11
"""A tile of psi and one of lambda, 128 KiB each, fit the L2 cache."""

LOW_ROWS = 3
"""The lowest row qubits are always local, so that 512 bytes are read at a time."""

CHUNKS = 16
"""Parts that the tiles of a pass are claimed in, whatever the number of threads."""


@dataclass(eq=False)
class StagedLayout:
    """A program for states of many tiles.

    Attributes:
        schedule: instructions of all stages.
        ends: instructions up to the end of every stage.
        lanes: of a vector.
        rows_log: log2 of the rows of a tile.
        orders: ``(stages, 3, R)``: rows of the state that a tile's rows are before the stage, after
            it, and in the caller's state before the first.
        bits: ``(stages, 2, outer)``: bits of the state's row that a tile's number is spread over,
            between the stages, and in the caller's state.
        local: bits of the state's row that the last stage's tiles span.
        low: how many of the lowest of these are always local.
        chunks: parts that the tiles of a pass are claimed in.
        variants: see Layout.
        shapes: see Layout.
    """

    schedule: Schedule
    ends: tuple[int, ...]
    lanes: int
    rows_log: int
    orders: Integers
    bits: Integers
    local: tuple[int, ...]
    low: int
    variants: dict[object, tuple[Integers, int]] = field(default_factory=dict)
    shapes: WeakKeyDictionary[Any, Any] = field(default_factory=WeakKeyDictionary)

    @property
    def chunks(self) -> int:
        return int(min(CHUNKS, 1 << self.bits.shape[2]))


@dataclass(frozen=True, eq=False)
class StagedTables:
    """Tables of the stages, and behind them of passes for words that the last stage cannot flip."""

    orders: Integers
    bits: Integers


def tile_order(columns: Sequence[int]) -> Integers:
    """Rows of the state that a tile's rows are: the exclusive or of the columns of their bits."""
    high = np.arange(1 << max(len(columns) - 6, 0), dtype=np.int64)
    low = joined(np.arange(64, dtype=np.int64), columns[:6])
    return np.concatenate([low, joined(high, columns[6:])])


class _Stager:
    """Lays out one stage after the other, in tiles of 2**tile rows of which ``low`` are local."""

    def __init__(self, fused: Fused, scheduler: Scheduler, tile: int, low: int) -> None:
        self.fused, self.scheduler = fused, scheduler
        self.lane_bits = scheduler.lanes.bit_length() - 1
        self.rows = fused.num_qubits - self.lane_bits
        self.rows_log = min(tile, self.rows)
        self.low = min(low, self.rows)
        self.homes = self._homes()
        self.ends: list[int] = []
        self.orders: list[list[Integers]] = []
        self.bits: list[list[list[int]]] = []
        self.local: tuple[int, ...] = ()

    def _homes(self) -> dict[int, int]:
        """Bit of the state's row of every wire in the rows, so that the end needs no move."""
        v = self.lane_bits
        homes = {w: q - v for q, w in enumerate(self.fused.wires) if q >= v and w >= v}
        free = sorted(set(range(self.rows)) - set(homes.values()))
        rest = [w for w in range(v, self.fused.num_qubits) if w not in homes]
        return homes | dict(zip(rest, free, strict=True))

    def run(self) -> None:
        """Write all stages."""
        v, wires = self.lane_bits, self.fused.wires
        left = narrowed(self.fused.blocks, max(self.rows_log - self.low, 1))
        ending = {w for w in wires[:v] if w >= v}
        limit = self.rows_log + v
        low = [w for w, bit in self.homes.items() if bit < self.low]
        while True:
            local, done, left = next_stage(left, [*range(v), *low], limit)
            last = not left and len(local | ending) <= limit
            if last:
                local |= ending
            for wire in sorted(self.homes, key=lambda w: self.homes[w]):
                if len(local) < limit:
                    local.add(wire)
            self._stage(sorted(local - set(range(v)), key=lambda w: self.homes[w]), done, last=last)
            if last:
                return

    def _stage(self, rows: list[int], blocks: list[Any], *, last: bool) -> None:
        v, homes, scheduler = self.lane_bits, self.homes, self.scheduler
        # The lanes stay as they are: bringing them home would take passes over the state.
        lanes = scheduler.places[:v] or [Place(1 << w, 1 << w) for w in range(v)]
        others = range(v, self.fused.num_qubits)
        places = [*lanes, *[Place(base=1 << homes[w]) for w in others]]
        for i, wire in enumerate(rows):
            places[wire] = Place(flip=1 << i, mask=1 << i)
        scheduler.places = places
        scheduler.add_all(blocks)
        if last:
            scheduler.lanes_home(self.fused.wires, v)
        else:
            scheduler.into_lanes(range(v))
        self.ends.append(len(scheduler.ops))
        targets = self._targets(rows, last=last)
        after = [0] * len(rows)
        for wire, bit in targets.items():
            for i in range(len(rows)):
                after[i] |= ((scheduler.places[wire].mask >> i) & 1) << bit
        self.orders.append(
            [
                tile_order([1 << homes[w] for w in rows]),
                tile_order(after),
                tile_order([1 << (w - v) for w in rows]),
            ]
        )
        outer = sorted(set(homes) - set(rows), key=lambda w: homes[w])
        self.bits.append([[homes[w] for w in outer], [w - v for w in outer]])
        if last:
            self.local = tuple([homes[w] for w in rows])

    def _targets(self, rows: list[int], *, last: bool) -> dict[int, int]:
        """Bit of the state's row that every wire in the tile's rows goes to."""
        if not last:
            return {w: self.homes[w] for w in rows}
        v, wires = self.lane_bits, self.fused.wires
        inside = [w for w, p in enumerate(self.scheduler.places) if p.mask]
        return {w: wires.index(w) - v for w in inside}


def lay_out_stages(
    fused: Fused, columns: Columns, dtype: np.dtype[Any], lanes: int
) -> StagedLayout:
    """Return a program in stages, for the CPU's tiles."""
    fused = replace(fused, blocks=tuple(split_turns(fused.blocks)))
    scheduler = Scheduler(fused, columns, [], lanes, runs=True)
    # The widest block needs room beside the low rows, and so do the wires that go to the lanes.
    room = TILE_ROWS_LOG - max(widest(fused.blocks), 2, lanes.bit_length() - 1)
    return staged_layout(fused, scheduler, dtype, TILE_ROWS_LOG, max(0, min(LOW_ROWS, room)))


def staged_layout(
    fused: Fused, scheduler: Scheduler, dtype: np.dtype[Any], tile: int, low: int
) -> StagedLayout:
    """Return a program in stages.

    Args:
        fused: what to lay out.
        scheduler: writes the instructions.
        dtype: of numbers.
        tile: log2 of the rows of a tile, at most.
        low: how many of the lowest row qubits are always local.
    """
    stager = _Stager(fused, scheduler, tile, low)
    stager.run()
    schedule = scheduler.finish(dtype, fused.wires)
    return StagedLayout(
        schedule,
        tuple(stager.ends),
        scheduler.lanes,
        stager.rows_log,
        np.array(stager.orders),
        np.array(stager.bits, np.int64).reshape(len(stager.ends), 2, -1),
        stager.local,
        stager.low,
    )


def place_in_stages(
    layout: StagedLayout, found: Words, dtype: np.dtype[Any]
) -> tuple[PlacedTerms, StagedTables]:
    """Return observables for a program in stages.

    Words whose flips the last stage's tiles contain belong to it. The others get passes of their
    own, over tiles that are spanned by the flips themselves.
    """
    v = layout.lanes.bit_length() - 1
    n = len(layout.schedule.places)
    flips = found.x_masks >> v
    inside = sum(1 << bit for bit in layout.local)
    left = np.flatnonzero(flips & ~inside)
    parts, orders, bits = [], list(layout.orders), list(layout.bits)
    while len(left):
        low = min(layout.low, layout.rows_log - 1)
        basis = [(p, m) for p, m, _ in reduced([(1 << b, 0) for b in range(low)])]
        taken = []
        for word in left:
            grown = reduced([*[(m, 0) for _, m in basis], *[(int(flips[word]), 0)]])
            grown = [c for c in grown if c[1]]
            if len(grown) <= layout.rows_log:
                basis = [(p, m) for p, m, _ in grown]
                taken.append(word)
        left = np.setdiff1d(left, taken)
        vectors = _filled(basis, layout.rows_log, n - v)
        order = tile_order([m for _, m in vectors])
        outer = [b for b in range(n - v) if not any(p == 1 << b for p, _ in vectors)]
        orders.append(np.stack([order] * 3))
        bits.append(np.array([outer, outer], np.int64).reshape(2, -1))
        parts.append(Part(np.array(taken, np.int64), basis_places(vectors, v, n)))
    rest = np.flatnonzero(flips & ~inside == 0)
    parts.append(Part(rest, layout.schedule.places))
    placed = place_terms(found, parts, layout.lanes, dtype)
    return placed, StagedTables(np.stack(orders), np.stack(bits))


def _filled(basis: Sequence[tuple[int, int]], count: int, rows: int) -> list[tuple[int, int]]:
    """Add single bits until there are ``count`` vectors (pivot, vector)."""
    vectors = [(m, 0) for _, m in basis]
    for bit in range(rows):
        grown = [c for c in reduced([*vectors, (1 << bit, 0)]) if c[1]]
        if len(grown) <= count:
            vectors = [(m, 0) for _, m, _ in grown]
    return [(p, m) for p, m, _ in reduced(vectors)]


def basis_places(
    vectors: Sequence[tuple[int, int]], lane_bits: int, num_qubits: int
) -> list[Place]:
    """Places of qubits in tiles that are spanned by vectors, each with a pivot of its own.

    A flip is the sum of the vectors whose pivots it contains. A row's value of a qubit is the
    parity of the vectors that contain it.
    """
    places = [Place(1 << q, 1 << q) for q in range(lane_bits)]
    for bit in range(num_qubits - lane_bits):
        flip = sum(1 << i for i, (pivot, _) in enumerate(vectors) if pivot == 1 << bit)
        mask = sum(1 << i for i, (_, vector) in enumerate(vectors) if (vector >> bit) & 1)
        places.append(Place(flip=flip, mask=mask, base=0 if flip else 1 << bit))
    return places


def forward_passes(layout: StagedLayout, placed: PlacedTerms) -> Integers:
    """Passes of a forward call."""
    passes, first = [], 0
    for s, end in enumerate(layout.ends):
        last = s == len(layout.ends) - 1
        groups = placed.ranges[-1] if last else (0, 0)
        source = kernels.OUTER if s == 0 else kernels.INNER
        passes.append([s, first, end, *groups, int(last), source, 0, kernels.OUTER, 0])
        first = end
    for s, groups in enumerate(placed.ranges[:-1], start=len(layout.ends)):
        passes.append([s, 0, 0, *groups, 0, kernels.INNER, 0, 0, 0])
    return np.array(passes, np.int64)


def reverse_passes(
    layout: StagedLayout, placed: PlacedTerms, stop: int, *, state: bool
) -> Integers:
    """Passes of a reverse call: words that need tiles of their own first, then the stages back."""
    number = len(layout.ends)
    starts = (0, *layout.ends[:-1])
    passes = []
    lam = kernels.OUTER
    for s, groups in enumerate(placed.ranges[:-1], start=number):
        passes.append([s, 0, 0, *groups, 0, kernels.OUTER, lam, 0, kernels.INNER])
        lam = kernels.INNER
    for s in range(number - 1, -1, -1):
        last = s == number - 1
        if layout.ends[s] <= stop and not last and not state:
            break
        groups = placed.ranges[-1] if last else (0, 0)
        psi = kernels.OUTER if last else kernels.INNER
        more = s > 0 and (state or starts[s] > stop)
        writes = kernels.INNER if more else kernels.NOTHING
        write = kernels.OUTER if s == 0 and state else writes
        first = min(max(starts[s], stop), layout.ends[s])
        passes.append([s, first, layout.ends[s], *groups, int(last), psi, lam, writes, write])
        lam = kernels.INNER
    return np.array(passes, np.int64)
