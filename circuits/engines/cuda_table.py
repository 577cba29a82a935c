"""The table of a program as ``statevector.cu`` reads it: one array of integers, one of numbers.

The integers begin with a head: counts, then where every part starts. Parts are what the CPU
engine's drivers get as arrays, and lists that say which block or thread adds up what, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.engines import instructions as gates
from circuits.engines.base import Wanted
from circuits.engines.cuda_waves import Made, Waves, turned_phase
from circuits.engines.instructions import PROJECTOR_MASK, WORD_SIGNS
from circuits.engines.numba_columns import Columns, member_results
from circuits.engines.numba_observables import PlacedTerms
from circuits.engines.numba_schedule import Schedule
from circuits.engines.numba_stages import (
    StagedLayout,
    StagedTables,
    forward_passes,
    reverse_passes,
    tile_order,
)
from circuits.plan.blocks import Fused
from circuits.plan.terms import Terms

THREADS = 256
"""Of a block, at most."""

Integers = NDArray[np.int64]
Part = tuple[int, int]
"""A number of a sample's room and its weight: a column from 0 on, or one of Weight."""


Head = IntEnum(
    "Head",
    "QUBITS TILE_BITS SLOTS STOP OP_COUNT COEFFICIENTS ENVIRONMENTS ATOMS WORD_COUNT OBSERVABLES "
    "TERMS OUTPUTS PHASE_COUNT PHASED MADE_COUNT AT_OPS AT_ITEMS AT_FORWARD AT_REVERSE AT_MAPS "
    "AT_BITS AT_GROUPS AT_WORDS AT_PROJECTORS AT_LIMITS AT_PHASES AT_MADE AT_ANGLES AT_BY_ATOM "
    "AT_BY_OBSERVABLE AT_BY_TERM AT_GATHER AT_FIXED AT_SHARES AT_RATES AT_WAVES",
    start=0,
)
"""Positions in the head of a table."""


class Weight(IntEnum):
    """What a number of room is multiplied by on its way to an output."""

    HALF = -1
    ONE = -2
    MINUS_ONE = -3


@dataclass(frozen=True, eq=False)
class HostTable:
    """A table before it is sent to a device.

    Attributes:
        integers: with the head.
        numbers: constants, signs and shares.
        forward: passes of a forward call, ``(P, 10)``.
        reverse: passes of a reverse call.
        sums: numbers that every block adds up: environments, Im <lambda|psi>, atoms.
        atoms: words and projectors.
        room: numbers that every sample needs.
        outputs: gradients of angles and of the entries of given matrices.
        columns: of a call, see ``Made``.
        tile: amplitudes of a tile.
        whole: whether a state is one tile, and a block does all of a sample's call.
        dot: whether Im <lambda|psi> is asked for.
    """

    integers: Integers
    numbers: NDArray[np.floating[Any]]
    forward: Integers
    reverse: Integers
    sums: int
    atoms: int
    room: int
    outputs: int
    columns: int
    tile: int
    whole: bool
    dot: bool

    @property
    def threads(self) -> int:
        """Of a block: two amplitudes each, or more."""
        return min(THREADS, max(32, self.tile // 2))


@dataclass(frozen=True, eq=False)
class Laid:
    """A program laid out, with observables; ``waves`` are those of its functions."""

    fused: Fused
    waves: Sequence[Waves]
    columns: Columns
    layout: StagedLayout
    terms: Terms
    placed: PlacedTerms
    stages: StagedTables


def make_table(laid: Laid, ops: Integers, stop: int, wanted: Wanted) -> HostTable:
    """Return the table of one variant of a program.

    Args:
        laid: the program.
        ops: its instructions, with environments where they are wanted.
        stop: the first instruction that the reverse sweep undoes.
        wanted: gradients.
    """
    schedule = laid.layout.schedule
    forward = forward_passes(laid.layout, laid.placed)
    reverse = reverse_passes(laid.layout, laid.placed, stop, state=wanted.state)
    gathered = _Gather(laid, ops, stop, wanted)
    links, shares = _links(laid.placed)
    made = Made.place(laid.fused, laid.waves, laid.columns, gradients=wanted.slots)
    phases, rates = turned_phase(laid.fused, laid.waves)
    counts = _counts(laid) | {
        Head.STOP: stop,
        Head.OUTPUTS: len(gathered.outputs),
        Head.PHASE_COUNT: len(phases),
        Head.MADE_COUNT: len(made.table),
    }
    parts = _parts(laid, links, counts) | {
        Head.AT_OPS: ops,
        Head.AT_PHASES: phases,
        Head.AT_MADE: made.table,
        Head.AT_ANGLES: made.angles,
        Head.AT_FORWARD: forward,
        Head.AT_REVERSE: reverse,
        Head.AT_GATHER: gathered.table(),
    }
    numbers = (schedule.numbers, schedule.fixed, shares, rates, made.waves)
    starts = np.cumsum([part.size for part in numbers]).tolist()
    counts |= dict(zip(list(Head)[Head.AT_FIXED :], starts[:-1], strict=True))
    atoms, sums = counts[Head.ATOMS], counts[Head.ENVIRONMENTS] + 1 + counts[Head.ATOMS]
    return HostTable(
        _joined(counts, parts),
        np.concatenate(numbers).astype(schedule.numbers.dtype),
        forward,
        reverse,
        sums,
        atoms,
        counts[Head.COEFFICIENTS] + 2 + sums + atoms,
        counts[Head.OUTPUTS],
        made.width,
        1 << laid.layout.rows_log,
        laid.layout.rows_log == laid.fused.num_qubits,
        wanted.slots and laid.fused.learns_phase,
    )


def _parts(laid: Laid, links: Integers, counts: dict[Head, int]) -> dict[Head, Integers]:
    """Return the parts that all variants share."""
    placed = laid.placed
    return {
        Head.AT_ITEMS: laid.layout.schedule.items,
        Head.AT_MAPS: _maps(laid.stages.orders),
        Head.AT_BITS: laid.stages.bits,
        Head.AT_GROUPS: placed.groups,
        Head.AT_WORDS: placed.words,
        Head.AT_PROJECTORS: placed.projectors,
        Head.AT_LIMITS: placed.items,
        Head.AT_BY_ATOM: _sorted_links(links, 0, counts[Head.ATOMS]),
        Head.AT_BY_OBSERVABLE: _sorted_links(links, 2, counts[Head.OBSERVABLES]),
        Head.AT_BY_TERM: _sorted_links(links, 1, counts[Head.TERMS]),
    }


def _joined(counts: dict[Head, int], parts: dict[Head, Integers]) -> Integers:
    """Return the parts behind the head, which says where each of them starts."""
    head, at = np.zeros(len(Head), np.int64), len(Head)
    for key, part in parts.items():
        head[key] = at
        at += part.size
    for key, value in counts.items():
        head[key] = value
    return np.concatenate([head, *[part.ravel() for part in parts.values()]])


def _counts(laid: Laid) -> dict[Head, int]:
    layout, placed, fused = laid.layout, laid.placed, laid.fused
    coefficients, environments, _ = layout.schedule.sizes
    return {
        Head.QUBITS: fused.num_qubits,
        Head.TILE_BITS: layout.rows_log,
        Head.SLOTS: fused.num_slots,
        Head.OP_COUNT: len(layout.schedule.ops),
        Head.COEFFICIENTS: coefficients,
        Head.ENVIRONMENTS: environments,
        Head.ATOMS: len(placed.words) + len(placed.projectors),
        Head.WORD_COUNT: len(placed.words),
        Head.OBSERVABLES: laid.terms.num_rows,
        Head.TERMS: len(laid.terms.terms),
        Head.PHASED: int(fused.is_phased),
    }


def _links(placed: PlacedTerms) -> tuple[Integers, NDArray[np.floating[Any]]]:
    """Return links (atom, term, observable, share's number), and shares with the atoms' signs."""
    signs = np.concatenate(
        [
            placed.signs[placed.words[:, WORD_SIGNS]],
            placed.signs[placed.projectors[:, PROJECTOR_MASK]],
        ]
    )
    term, atom, row = placed.links.T
    return np.column_stack([atom, term, row, np.arange(len(atom))]), placed.shares * signs[atom]


def _sorted_links(links: Integers, column: int, count: int) -> Integers:
    """Return where the links of every atom, term or observable start, and then these."""
    order = np.argsort(links[:, column], kind="stable")
    starts = np.searchsorted(links[order, column], np.arange(count + 1))
    return np.concatenate([starts, links[order].ravel()])


def _maps(orders: Integers) -> Integers:
    """Return two maps for every stage and direction: rows of the state in order, and of the tile.

    Position p stands for row ``image(first, p)`` of the state. Neighbours in memory are neighbours
    in p, so that threads side by side read what lies side by side.
    """
    out = []
    for order in orders.reshape(-1, orders.shape[-1]):
        bits = 6 + (len(order) - 64).bit_length() - 1 if len(order) > 65 else 6
        columns = [int(order[1 << i] if i < 6 else order[64 + (1 << (i - 6))]) for i in range(bits)]
        pairs = _echelon([(column, 1 << i) for i, column in enumerate(columns) if column])
        out += [tile_order([state for state, _ in pairs]), tile_order([row for _, row in pairs])]
    return np.stack(out)


def _echelon(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return a basis of the same space, each vector with a lowest bit of its own, in their order.

    >>> _echelon([(0b110, 1), (0b010, 2)])
    [(2, 2), (4, 3)]
    """
    done: list[tuple[int, int]] = []
    for vector, row in pairs:
        for known, its_row in done:
            if vector & known & -known:
                vector, row = vector ^ known, row ^ its_row
        pivot = vector & -vector
        done = [(v ^ vector, r ^ row) if v & pivot else (v, r) for v, r in done]
        done.append((vector, row))
    return sorted(done, key=lambda pair: pair[0] & -pair[0])


class _Gather:
    """What every output is a sum of.

    Results of functions and of given matrices (``out`` columns, see Columns) are sums of numbers of
    a sample's room; gradients are weighted sums of results.
    """

    def __init__(self, laid: Laid, ops: Integers, stop: int, wanted: Wanted) -> None:
        self.laid, self.wanted = laid, wanted
        coefficients, environments, _ = laid.layout.schedule.sizes
        self.sums = coefficients + 2
        self.dot = self.sums + environments
        self.results: list[list[int]] = [[] for _ in range(laid.columns.out_width)]
        size = sum(2 * rows * rows for rows in laid.fused.matrices.values())
        self.outputs: list[list[Part]] = [[] for _ in range(laid.fused.num_slots + size)]
        for op in ops[stop:].tolist():
            if op[gates.LIVE] >= 0:
                self._add(op, laid.layout.schedule)
        if wanted.slots:
            self._add_functions()
            for slot in laid.fused.phase_slots:
                self._add_slot(slot, self.dot, Weight.HALF)
        if wanted.matrices:
            self._add_matrices()

    def table(self) -> Integers:
        """Return where the parts of every output start, and then these."""
        starts = np.cumsum([0, *[len(parts) for parts in self.outputs]])
        flat = [number for parts in self.outputs for part in parts for number in part]
        return np.concatenate([starts, np.array(flat, np.int64)])

    def _add_slot(self, slot: int, number: int, weight: int) -> None:
        if self.wanted.wants_slot(slot):
            self.outputs[slot].append((number, weight))

    def _add(self, op: list[int], schedule: Schedule) -> None:
        """Say where the environments of an instruction go."""
        kind, live, items = op[gates.KIND], self.sums + op[gates.LIVE], schedule.items
        if kind == gates.TURN:
            for f, at in enumerate(range(op[gates.FIRST], op[gates.LAST], 3)):
                source, column, out = (int(x) for x in items[at : at + 3])
                number = op[gates.ENTRY] + 4 + 4 * f
                if source == gates.COLUMN:
                    for axis in range(3):
                        self.results[out + axis].append(number + axis)
                elif source != gates.CONSTANT:
                    self._add_slot(column, number + source, Weight.HALF)
        elif kind in (gates.TABLE, gates.DENSE):
            size = op[gates.SIZE] ** (2 if kind == gates.DENSE else 1)
            for j in range(2 * size):
                self.results[op[gates.OUT] + j].append(live + j)
        elif items[op[gates.FIRST]] == gates.COLUMN:
            self.results[op[gates.OUT]].append(live)
        else:
            self._add_slot(int(items[op[gates.FIRST] + 1]), live, Weight.HALF)

    def _add_functions(self) -> None:
        """Gradients through functions: results times columns of the call, see ``Made``."""
        column = self.laid.columns.width
        for start, function in zip(self.laid.columns.outs, self.laid.fused.functions, strict=True):
            width = member_results(function.size, function.diagonal)
            for member, slots in enumerate(function.slots):
                found = self.results[start + member * width : start + (member + 1) * width]
                if function.is_turn and not function.controlled[member]:
                    found = [*found[:3], [self.dot]]
                for slot in slots:
                    for j, numbers in enumerate(found):
                        for number in numbers:
                            self._add_slot(slot, number, column + j)
                    column += width

    def _add_matrices(self) -> None:
        """Gradients of given matrices are conj(E)."""
        at = self.laid.fused.num_slots
        for source, size in self.laid.fused.matrices.items():
            start = self.laid.columns.given_outs[source]
            for j in range(2 * size * size):
                weight = Weight.MINUS_ONE if j % 2 else Weight.ONE
                self.outputs[at + j] += [(n, weight) for n in self.results[start + j]]
            at += 2 * size * size
