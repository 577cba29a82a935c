"""Direct runs: a schedule that only the CPU has a part in is a list of calls.

Nothing is transferred or replayed then, and nothing of the user's has to be asked on the way. An op
runs as in eager code, less the tape; all that can be known beforehand is worked out once, and so is
what the package's own ops make of constants.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import numpy as np

from autodiff.backends.interface import Array
from autodiff.device import CPU
from autodiff.dispatch import result_of
from autodiff.dtypes import DType
from autodiff.errors import AutodiffError
from autodiff.ieee import SILENT, silenced
from autodiff.node import Cell, Op, Shape, read_all
from autodiff.runtime.errors import Caught, ExecutionFailed, OutputResidencyMismatch, Renamed
from autodiff.runtime.location import Signature, bytes_of
from autodiff.runtime.results import check_outputs
from autodiff.runtime.schedule import Schedule, ScheduledLaunch, ScheduledOp
from autodiff.storage import Storage
from autodiff.table import OPS
from autodiff.tensors import Tensor

#: Makes a buffer of what a forward gave.
Finish = Callable[[Any], Array]  # Any: whatever that is

#: Bytes of a program's results of constants that are computed once, and kept.
MOST_FOLDED = 1 << 20

_HAS_ITS_NAME = (OutputResidencyMismatch,)

# What a tensor claims, and what its buffer is. One call each, where a loop would take thirty steps.
_claim = attrgetter("_cell.device", "_cell.shape", "_cell.dtype")
_kind = attrgetter("__class__", "shape", "dtype")


class Call(NamedTuple):
    """An op, ready to be called. Values have places; a result takes that of one that goes.

    Attributes:
        op: what the schedule says of it.
        forward: the op's, with namespace and attributes.
        operands: picks the operands out of the values.
        finish: makes a buffer of a result: read-only, in memory of its own unless it is a view.
        place: the one result's; where the row says another number of them, a tuple with theirs,
            None for one that nobody needs.
        shape: of the one result; None where the row says another number of them.
        dtype: of the one result.
        drops: the places of values that nobody needs afterwards, less those that results take.
    """

    op: ScheduledOp
    forward: Callable[..., Any]  # Any: what an op's forward returns
    operands: Callable[[list[Array]], Sequence[Array]]
    finish: Finish
    place: Any  # Any: see above
    shape: Shape | None
    dtype: DType | None
    drops: tuple[int, ...]


class Output(NamedTuple):
    """A value that is returned.

    Attributes:
        value: its number.
        place: where it is after the calls.
        borrowed: whether it lies in memory of others, or is a constant.
        shape: its shape.
        dtype: its dtype.
    """

    value: int
    place: int
    borrowed: bool
    shape: Shape
    dtype: DType


def runs_directly(schedule: Schedule, signatures: Sequence[Signature]) -> bool:
    """Whether a schedule is one launch on the CPU, by an executor without anything of a user's.

    Args:
        schedule: what to run.
        signatures: of all inputs; one on a device, even where nobody needs it, has to be checked
            there.
    """
    if len(schedule.steps) != 1 or not isinstance(schedule.steps[0], ScheduledLaunch):
        return False
    at = schedule.steps[0].at
    if not at.executor.is_plain:
        return False
    ends = (*schedule.homes.values(), *schedule.outputs.values())
    here = (at.placement, at.executor.backend.family)
    return all(end == at for end in ends) and all(s[1:] == here for s in signatures)


class Direct:
    """A schedule that runs directly. Threads may share it: what a run computes is its own.

    Args:
        schedule: one that ``runs_directly``.
        placed: the constants that are needed, by value number.
        constants: all constants, to be returned where they are outputs.
    """

    def __init__(
        self, schedule: Schedule, placed: Mapping[int, Array], constants: Sequence[Tensor]
    ) -> None:
        listing, (launch,) = schedule.listing, schedule.launches
        self._at = launch.at
        self._metas = listing.metas
        self._own = launch.at.executor.backend.own
        self._owns = launch.at.executor.require_contract().owns
        wanted = [listing.metas[value] for value in listing.slots]
        self._claims = [(CPU, *meta) for meta in wanted]
        self._kinds = [(np.ndarray, *meta) for meta in wanted]
        self._constants = dict(zip(listing.constants, constants, strict=True))
        self._room = MOST_FOLDED
        places = list(range(len(listing.metas)))
        values = [placed.get(value) for value in places]
        ops = [op for op in launch.ops if not self._fold(op, places, values)]
        known = {value for value, buffer in enumerate(values) if buffer is not None}
        kept = {*listing.slots, *listing.constants, *known}  # others hold them, or the next run
        self._quiet = all(_is_quiet(op.line.op) for op in ops)
        self._calls = [self._call(op, places, kept, self._quiet) for op in ops]
        read = {value for op in ops for value in op.line.operands}.union(listing.outputs)
        later = range(len(listing.slots), len(values))
        self._later = [values[value] if value in read else None for value in later]
        borrowed = kept | listing.borrowed
        self._outputs = [
            Output(value, places[value], value in borrowed, *listing.metas[value])
            for value in listing.outputs
        ]

    def _fold(self, op: ScheduledOp, places: list[int], values: list[Array]) -> bool:
        """Add what an op of the table makes of constants; return whether that was done.

        A user's op may give something else in each run. One that fails has to fail in each run.
        """
        row, operands = op.line.op, op.line.operands
        if not _is_ours(row) or row.draws or row.moves or not operands:
            return False
        if any(values[value] is None for value in operands):
            return False
        size = sum(map(bytes_of, op.metas))
        if size > self._room:
            return False
        with Caught(AutodiffError) as caught:
            self._perform([self._call(op, places, range(len(values)), False)], values)
        if caught.error is None:
            self._room -= size
        return caught.error is None

    def _call(self, op: ScheduledOp, places: list[int], kept: Collection[int], quiet: bool) -> Call:
        """Make an op ready, and give its results their places.

        Args:
            op: the op.
            places: by value number.
            kept: the values that are not dropped.
            quiet: whether it runs in a silent context.
        """
        line, attrs = op.line, op.line.attrs
        if line.op.prepare is not None:
            attrs = line.op.prepare([self._metas[value] for value in line.operands], attrs)
        loud = silenced(line.op.forward) if quiet else None
        forward = partial(loud or line.op.forward, self._at.executor.backend.xp, **attrs)
        operands = _picked([places[value] for value in line.operands])
        backend = self._at.executor.backend
        finish = backend.own_copy if line.op.view else backend.own
        gone = [value for value in op.drops if value not in kept]
        drops = [places[value] for value in gone if value not in line.results]
        for value in line.results:
            if drops and value not in gone:
                places[value] = drops.pop()
        if len(line.results) == 1:
            one = (places[line.results.start], *op.metas[0])
            return Call(op, forward, operands, finish, *one, tuple(drops))
        several = tuple([None if value in gone else places[value] for value in line.results])
        return Call(op, forward, operands, finish, several, None, None, tuple(drops))

    def buffers_of(self, inputs: Sequence[Tensor]) -> list[Array] | None:
        """Return the inputs' values as they are now; None: one is not what this was prepared for.

        Why it is not, and whether it is refused, is for ``Prepared.check``.
        """
        try:
            if [*map(_claim, inputs)] != self._claims:
                return None
        except AttributeError:  # one is no Tensor
            return None
        buffers = read_all(inputs)
        return buffers if [*map(_kind, buffers)] == self._kinds else None

    def run(self, buffers: Sequence[Array]) -> tuple[Tensor, ...]:
        """Run, and return the outputs as tensors without history, in memory of their own.

        Args:
            buffers: the inputs' values, checked.

        Raises:
            OutputResidencyMismatch: an op gave something else than its row says.
            ExecutionFailed: an op raised.
        """
        values = [*buffers, *self._later]
        try:
            if self._quiet:
                SILENT.copy().run(self._perform, self._calls, values)
            else:
                self._perform(self._calls, values)
            made = []
            for value, place, borrowed, shape, dtype in self._outputs:
                if borrowed and value in self._constants:
                    made.append(self._constants[value].deep_clone())
                    continue
                buffer = self._owned(value, values[place]) if borrowed else values[place]
                made.append(result_of(Cell(shape, dtype, CPU, Storage(buffer, CPU)), None, 0))
            return tuple(made)
        finally:
            values.clear()  # they must not live on with an error, whose traceback holds the run

    def _perform(self, calls: Sequence[Call], values: list[Array]) -> None:
        with Renamed(ExecutionFailed, self._at, "to run", _HAS_ITS_NAME) as named:
            for named.thing, forward, operands, finish, place, shape, dtype, drops in calls:
                made = forward(*operands(values))
                if drops:
                    for dropped in drops:
                        values[dropped] = None
                if isinstance(made, tuple):
                    if shape is None or len(made) != 1:
                        self._keep(named.thing, made, place, values)
                        made = None  # what nobody needs goes before the next op runs
                        continue
                    (made,) = made
                buffer = finish(made)
                if buffer.shape != shape or buffer.dtype is not dtype:
                    check_outputs(named.thing, (buffer,), self._owns)
                values[place] = buffer

    def _keep(
        self,
        op: ScheduledOp,
        made: tuple[Any, ...],  # Any: what a forward returns
        places: Sequence[int | None],
        values: list[Array],
    ) -> None:
        """Keep what an op gave as a tuple."""
        if len(made) != len(op.metas):
            check_outputs(op, made, self._owns)
        for place, part, (shape, dtype) in zip(places, made, op.metas, strict=True):
            buffer = self._own(part)
            if buffer.shape != shape or buffer.dtype is not dtype:
                check_outputs(op, tuple(map(np.asarray, made)), self._owns)
            if place is not None:
                values[place] = buffer

    def _owned(self, value: int, buffer: Array) -> Array:
        """Return an output in memory of its own."""
        with Renamed(ExecutionFailed, f"output {value} at {self._at}", "memory of its own"):
            return self._own(buffer)


def _is_ours(row: Op) -> bool:
    """Whether a row is in the package's table: it gives the same for the same operands."""
    return OPS.get(row.name) is row


def _is_quiet(row: Op) -> bool:
    """Whether an op may run in a silent context, where nothing that a user set is seen."""
    return silenced(row.forward) is not None or (row.view and _is_ours(row))


def _picked(operands: Sequence[int]) -> Callable[[list[Array]], Sequence[Array]]:
    """Return what picks operands out of the values; of a lone index, itemgetter gives no tuple."""
    if len(operands) > 1:
        return itemgetter(*operands)
    first = operands[0] if operands else 0
    return itemgetter(slice(first, first + len(operands)))
