"""A plan as a program for the compiled drivers: what is made once, and what is made for a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from circuits.engines import instructions
from circuits.engines import numba_kernels_drivers as drivers
from circuits.engines.base import Wanted
from circuits.engines.numba_columns import (
    Columns,
    fill_functions,
    member_results,
    turn_gradients,
)
from circuits.engines.numba_first_turns import commuting_turns, grown_turns
from circuits.engines.numba_instructions import Integers, Place
from circuits.engines.numba_kernels_packing import packed
from circuits.engines.numba_observables import Part, PlacedTerms, place_terms
from circuits.engines.numba_schedule import Schedule, Scheduler, wanted_ops
from circuits.engines.numba_simd import VECTOR_BYTES
from circuits.engines.numba_stages import (
    TILE_ROWS_LOG,
    StagedLayout,
    forward_passes,
    lay_out_stages,
    place_in_stages,
    reverse_passes,
    tile_order,
)
from circuits.plan.blocks import Matrix
from circuits.plan.euler import split_turns
from circuits.plan.fusion import fuse
from circuits.plan.steps import ComplexArray, Plan, RealArray
from circuits.plan.terms import NO_TERMS, SparseTerm, Terms
from circuits.plan.words import Words, words_of

Real = np.dtype[np.floating[Any]]
WIDE_QUBITS = 10
"""Batches of circuits up to this width have samples in the lanes: their tiles fit the L2 cache."""

SPLIT_ROWS_LOG = 7
"""Tiles from which on the tables of a layer's phases take less than what they save."""

_APART = 64
"""Numbers between the parts of a workspace, so that they fall into different cache sets."""


class Kind(Enum):
    """How a program is laid out: samples in the lanes, or qubits, or qubits and many tiles."""

    SAMPLES = "samples"
    QUBITS = "qubits"
    STAGES = "stages"


@dataclass(eq=False)
class Layout:
    """A program in one layout: samples or the lowest qubits in the lanes, in one precision.

    Attributes:
        schedule: its instructions.
        wide: whether lanes are samples.
        rows_log: log2 of the rows of a tile.
        lanes: of a vector.
        orders: rows of the state that a tile's rows are, at the start and at the end; with samples
            in the lanes rows of the tile that the state's are.
        variants: instructions without the environments that a call does not want, and where the
            reverse sweep stops.
        shapes: observables in this layout.
    """

    schedule: Schedule
    wide: bool
    rows_log: int
    lanes: int
    orders: Integers
    variants: dict[object, tuple[Integers, int]] = field(default_factory=dict)
    shapes: WeakKeyDictionary[Terms, Shape] = field(default_factory=WeakKeyDictionary)


@dataclass(frozen=True, eq=False)
class Call:
    """What every call with one batch size and the same wanted gradients gets.

    Attributes:
        shape: the program and the observables.
        batch: samples.
        real: dtype of angles.
        tables: first arguments of the driver; see the heads in ``numba_kernels_drivers``.
        size: numbers in a thread's workspace.
        blocks: what threads can share: blocks of samples, or chunks of tiles.
        passes: over the state of a staged program, else none.
        work: rows times instructions of all blocks.
        columns: the same for every call; None: they have to be made.
    """

    shape: Shape
    batch: int
    real: Real
    tables: tuple[NDArray[Any], ...]
    size: int
    blocks: int
    passes: int
    work: int
    columns: NDArray[np.floating] | None


@dataclass(frozen=True, eq=False)
class Shape:
    """A layout of the program, and observables in it.

    Attributes:
        layout: of the program.
        placed: observables, views of the tables.
        tables: what the drivers read of the program and of the observables, packed.
        sparse: position and matrix of the terms that SciPy multiplies.
    """

    layout: Layout | StagedLayout
    placed: PlacedTerms
    tables: Integers
    sparse: Sequence[tuple[int, SparseTerm]]

    @property
    def atoms(self) -> int:
        """Number of words and projectors."""
        return len(self.placed.words) + len(self.placed.projectors)


class Program:
    """What is made of a plan once."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.fused = fuse(plan)
        self.columns = Columns.place(self.fused)
        self.layouts: dict[tuple[Kind, Real], Layout | StagedLayout] = {}
        self.chosen: dict[tuple[int, Real], Layout | StagedLayout] = {}
        self.calls: WeakKeyDictionary[Terms, dict[object, Call]] = WeakKeyDictionary()
        # Properties would be computed for every call.
        self.learns_phase, self.is_phased = self.fused.learns_phase, self.fused.is_phased
        others = (self.fused.functions, self.fused.matrices, self.fused.phase_slots)
        self.takes_angles_only = not any(others)
        behind = 0 if self.takes_angles_only else 1 + self.columns.out_width
        self.num_results = plan.num_slots + behind  # angles, the phase, what functions made

    def shape(self, batch: int, dtype: Real, terms: Terms | None) -> Shape:
        """Return what a call runs."""
        layout = self.chosen.get((batch, dtype))
        if layout is None:
            kind = self.kind(batch, dtype)
            if (kind, dtype) not in self.layouts:
                self.layouts[kind, dtype] = self._lay_out(kind, dtype)
            layout = self.chosen[batch, dtype] = self.layouts[kind, dtype]
        key = NO_TERMS if terms is None else terms
        shape = layout.shapes.get(key)
        if shape is None:
            shape = layout.shapes[key] = _place(layout, words_of(key), dtype)
        return shape

    def kind(self, batch: int, dtype: Real) -> Kind:
        """Return how a call of that many samples is laid out."""
        n, lanes = self.plan.num_qubits, VECTOR_BYTES // dtype.itemsize
        bits = lanes.bit_length() - 1
        if n < bits + 2 or self.widest_matrix > n - bits:
            return Kind.SAMPLES
        if batch > 1 and n <= WIDE_QUBITS:
            return Kind.SAMPLES
        tiled = n - bits > TILE_ROWS_LOG >= self.widest_matrix
        return Kind.STAGES if tiled else Kind.QUBITS

    def _lay_out(self, kind: Kind, dtype: Real) -> Layout | StagedLayout:
        wide = kind is Kind.SAMPLES
        lanes = VECTOR_BYTES // dtype.itemsize
        if kind is Kind.STAGES:
            return lay_out_stages(self.fused, self.columns, dtype, lanes)
        bits = 0 if wide else lanes.bit_length() - 1
        n = self.plan.num_qubits
        start = [Place(1 << q, 1 << q) for q in range(bits)]
        start += [Place(flip=1 << (q - bits), mask=1 << (q - bits)) for q in range(bits, n)]
        scheduler = Scheduler(self.fused, self.columns, start, lanes, runs=True)
        blocks = self.fused.blocks
        scheduler.add_all(split_turns(blocks) if n - bits >= SPLIT_ROWS_LOG else blocks)
        scheduler.lanes_home(self.fused.wires, bits)
        schedule = scheduler.finish(dtype, self.fused.wires)
        order = tile_rows if wide else row_order
        orders = np.array([order(start[bits:]), order(schedule.places[bits:])])
        return Layout(schedule, wide, n - bits, lanes, orders)

    @cached_property
    def widest_matrix(self) -> int:
        """Return the most wires that a matrix acts on."""
        found = [len(block.wires) for block in self.fused.blocks if isinstance(block, Matrix)]
        return max(found, default=0)

    # -- calls

    def make_columns(
        self, angles: RealArray, matrices: Sequence[ComplexArray], dtype: Real
    ) -> tuple[NDArray[np.floating], list[ComplexArray]]:
        """Return the columns of a call, read-only, and what each function made."""
        fused, place = self.fused, self.columns
        batch = max([len(angles), *[len(m) for m in matrices]])
        out = np.empty((batch, place.width), dtype)
        made, phase = fill_functions(fused, place, angles, out)
        phase = phase + fused.phase - 0.5 * angles[:, list(fused.phase_slots)].sum(axis=1)
        for source, start in place.given.items():
            flat = matrices[source].reshape(len(matrices[source]), -1)
            out[:, start : start + 2 * flat.shape[1] : 2] = flat.real
            out[:, start + 1 : start + 2 * flat.shape[1] : 2] = flat.imag
        out[:, 0], out[:, 1] = np.cos(phase), np.sin(phase)
        out.flags.writeable = False
        return out, made

    def angle_gradients(
        self,
        results: NDArray[np.floating],
        angles: RealArray,
        made: Sequence[ComplexArray],
        wanted: Wanted,
    ) -> NDArray[np.floating]:
        """Return the gradient ``(B, S)`` of the angles, also through functions and the phase.

        It stays where the driver put it: first among ``results``. The driver's are zero where they
        are not wanted.
        """
        gradient = results
        if not self.takes_angles_only:
            gradient = results[:, : self.plan.num_slots]
            self._add_functions(results, angles, made)
            if not isinstance(wanted.angles, bool):
                gradient[:, ~np.array(wanted.angles, bool)] = 0
        return gradient

    def _add_functions(
        self, results: NDArray[np.floating], angles: RealArray, made: Sequence[ComplexArray]
    ) -> None:
        """Add to the gradients of the angles what comes through the phase and functions."""
        end = self.plan.num_slots
        gradient, dot, raw = results[:, :end], results[:, end : end + 1], results[:, end + 1 :]
        for slot in self.fused.phase_slots:
            gradient[:, slot] += 0.5 * dot[:, 0]
        functions = zip(self.columns.outs, self.fused.functions, made, strict=True)
        for start, function, values in functions:
            slots, count = np.array(function.slots, np.int64), len(function.slots)
            width = member_results(function.size, function.diagonal)
            found = raw[:, start : start + count * width].reshape(len(raw), count, width)
            derived = np.asarray(function.derivative(angles[:, slots]))
            derived = derived.reshape(len(angles), count, slots.shape[1], -1)
            if function.is_turn:
                parts = turn_gradients(found, values, derived, np.array(function.controlled), dot)
            else:
                environment = found[..., 0::2] + 1j * found[..., 1::2]
                parts = np.einsum("bge,bgpe->bgp", environment, derived).real
            np.add.at(gradient.T, slots.ravel(), parts.reshape(len(raw), -1).T)

    def matrix_gradients(
        self, results: NDArray[np.floating], matrices: Sequence[ComplexArray], dtype: Any
    ) -> tuple[ComplexArray, ...]:
        """Return the gradient ``(B, d, d)`` of every given matrix."""
        raw = results[:, 1 + self.plan.num_slots :]
        out = [np.zeros((len(raw), *m.shape[1:]), dtype) for m in matrices]
        for source, start in self.columns.given_outs.items():
            block = raw[:, start : start + 2 * out[source][0].size]
            out[source].real[...] = block[:, 0::2].reshape(out[source].shape)
            out[source].imag[...] = -block[:, 1::2].reshape(out[source].shape)
        return tuple(out)

    def variant(self, layout: Layout | StagedLayout, wanted: Wanted) -> tuple[Integers, int]:
        """Return instructions with the wanted environments only, and the first one to undo."""
        key = (wanted.angles, wanted.matrices, wanted.state)
        if key not in layout.variants:
            ops, stop = wanted_ops(layout.schedule, wanted)
            ends = layout.ends if isinstance(layout, StagedLayout) else (len(ops),)
            end = next((e for e in ends if e > stop), stop)
            if not wanted.state:
                count = commuting_turns(layout.schedule, layout.lanes, stop, end)
                ops[stop : stop + count, instructions.SIZE] = 1
            layout.variants[key] = ops, stop
        ops, stop = layout.variants[key]
        return ops, 0 if wanted.state else stop

    def call(self, batch: int, dtype: Real, terms: Terms | None, wanted: Wanted | None) -> Call:
        """Return what a forward call, or a reverse call with wanted gradients, gets."""
        key = NO_TERMS if terms is None else terms
        calls = self.calls.setdefault(key, {})
        call = calls.get((batch, dtype, wanted))
        if call is None:
            shape = self.shape(batch, dtype, terms)
            call = calls[batch, dtype, wanted] = self._new_call(shape, batch, wanted)
        return call

    def _new_call(self, shape: Shape, batch: int, wanted: Wanted | None) -> Call:
        layout, real = shape.layout, shape.layout.schedule.fixed.dtype
        ops, stop = (layout.schedule.ops, 0) if wanted is None else self.variant(layout, wanted)
        dot = wanted is not None and wanted.slots and self.learns_phase
        numbers, size = self._numbers(shape, batch, stop, dot=dot)
        tables, columns = (shape.tables, layout.schedule.numbers), None
        if self.takes_angles_only:
            phase = self.fused.phase
            columns = np.array([[np.cos(phase), np.sin(phase)]], real)
            columns.flags.writeable = False
        if isinstance(layout, StagedLayout):
            passes = (
                forward_passes(layout, shape.placed)
                if wanted is None
                else reverse_passes(layout, shape.placed, stop, state=wanted.state)
            )
            parts, blocks, count, work = [passes], layout.chunks, len(passes), 0
        else:
            parts, blocks, count = [], int(numbers[drivers.BLOCKS]), 0
            work = blocks * (len(ops) + 1) << layout.rows_log
        call, _ = packed(numbers, [ops, _unwanted(wanted), *parts])
        return Call(shape, batch, real, (call, *tables), size, blocks, count, work, columns)

    def _numbers(self, shape: Shape, batch: int, stop: int, *, dot: bool) -> tuple[Integers, int]:
        """Return the numbers of a call and the size of a thread's workspace."""
        layout = shape.layout
        coefficients, environments, scratch = layout.schedule.sizes
        slots, tile = self.plan.num_slots, 2 << layout.rows_log
        results = 1 + slots + self.columns.out_width
        operands = 3 * slots + self.columns.width
        marks = -(-(slots + 1 + len(layout.schedule.ops)) // layout.lanes)
        parts = [tile, tile, operands, coefficients, environments, results, shape.atoms, scratch]
        parts.append(marks)
        call, at = np.zeros(drivers.NUMBERS, np.int64), 0
        for k, vectors in enumerate(parts, start=drivers.AT_LAMBDA - 1):
            call[k] = at
            exact = k in (drivers.AT_ENVIRONMENTS, drivers.AT_RESULTS)
            at += vectors * layout.lanes + (0 if exact else _APART)
        wide = isinstance(layout, Layout) and layout.wide
        call[drivers.ROWS_LOG], call[drivers.WIDE] = layout.rows_log, wide
        call[drivers.BATCH], call[drivers.STOP] = batch, stop
        call[drivers.BLOCKS] = -(-batch // layout.lanes) if wide else batch
        call[drivers.PHASED], call[drivers.DOT] = self.is_phased, dot
        call[drivers.GROWN] = grown_turns(layout.schedule, layout.lanes, layout.rows_log)
        return call, at


def _unwanted(wanted: Wanted | None) -> Integers:
    """Return the slots whose gradient is zero, as others have one and they are not asked for."""
    if wanted is None or isinstance(wanted.angles, bool):
        return np.zeros(0, np.int64)
    return np.flatnonzero(~np.array(wanted.angles, bool))


def _place(layout: Layout | StagedLayout, words: Words, dtype: Real) -> Shape:
    """Place observables in a layout."""
    if isinstance(layout, StagedLayout):
        placed, stages = place_in_stages(layout, words, dtype)
        orders, bits = stages.orders, [stages.bits]
    else:
        part = Part(np.arange(len(words.x_masks)), layout.schedule.places)
        placed = place_terms(words, [part], layout.lanes, dtype)
        orders, bits = layout.orders, []
    schedule, names = layout.schedule, [f.name for f in fields(placed) if f.name != "ranges"]
    observables = [getattr(placed, name) for name in names]
    tables, views = packed(
        np.zeros(0, np.int64), [orders, schedule.items, schedule.fixed, *observables, *bits]
    )
    changes: dict[str, Any] = dict(zip(names, views[3:], strict=False))
    return Shape(layout, replace(placed, **changes), tables, words.sparse)


def sparse_product(term: SparseTerm, states: ComplexArray) -> ComplexArray:
    """Return a sparse term times every state ``(B, 2**n)``."""
    from scipy.sparse import csr_array

    size = states.shape[1]
    matrix = csr_array((term.data, term.indices, term.indptr), shape=(size, size))
    return np.ascontiguousarray((matrix @ states.T).T, states.dtype)


def row_order(places: Sequence[Place]) -> Integers:
    """Return the rows of the state that a tile's rows are, for the qubits in its rows.

    Bit q of the state's row is parity(row & mask_q). The map is linear: of a row, the low six bits
    and the others have a table each.
    """
    columns = [
        sum(((place.mask >> bit) & 1) << q for q, place in enumerate(places))
        for bit in range(len(places))
    ]
    return tile_order(columns)


def tile_rows(places: Sequence[Place]) -> Integers:
    """Return the rows of a tile that the state's rows are: the inverse of ``row_order``."""
    return tile_order([place.flip for place in places])
