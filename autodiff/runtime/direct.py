"""Direct runs: a schedule that only the CPU has a part in is a list of calls.

Nothing is transferred or replayed then, and nothing of the user's has to be asked on the way. An op
runs as in eager code, less the tape; all that can be known beforehand is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from autodiff.backends.interface import Array
from autodiff.device import CPU
from autodiff.dispatch import result_of
from autodiff.dtypes import DType
from autodiff.node import Cell, Meta, Shape
from autodiff.runtime.errors import ExecutionFailed, OutputResidencyMismatch, Renamed
from autodiff.runtime.location import Signature
from autodiff.runtime.results import check_outputs
from autodiff.runtime.schedule import Schedule, ScheduledLaunch, ScheduledOp
from autodiff.storage import Storage
from autodiff.tensors import Tensor

#: Makes a buffer of what a forward gave.
Finish = Callable[[Any], Array]  # Any: whatever that is

_HAS_ITS_NAME = (OutputResidencyMismatch,)


class Call(NamedTuple):
    """An op, ready to be called.

    Attributes:
        op: what the schedule says of it.
        forward: the op's, with namespace and attributes.
        operands: picks the operands out of the values.
        finish: makes a buffer of a result: in memory of its own, unless it is a view.
        shape: of the one result; None where the row says another number of them.
        dtype: of the one result.
        result: its value number.
        drops: the values that nobody needs afterwards.
    """

    op: ScheduledOp
    forward: Callable[..., Any]  # Any: what an op's forward returns
    operands: Callable[[list[Array]], Sequence[Array]]
    finish: Finish
    shape: Shape | None
    dtype: DType | None
    result: int
    drops: tuple[int, ...]


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
        listing = schedule.listing
        (launch,) = schedule.launches
        self._at = launch.at
        self._own = launch.at.executor.backend.own
        self._owns = launch.at.executor.require_contract().owns
        self._inputs = [listing.metas[value] for value in listing.slots]
        later = range(len(listing.slots), len(listing.metas))
        self._later = [placed.get(value) for value in later]
        kept = {*listing.slots, *listing.constants}  # others hold them as well
        self._calls = [self._call(op, kept, listing.metas) for op in launch.ops]
        self._outputs = listing.outputs
        self._borrowed = listing.borrowed
        self._constants = dict(zip(listing.constants, constants, strict=True))

    def _call(self, op: ScheduledOp, kept: set[int], metas: Sequence[Meta]) -> Call:
        line, attrs = op.line, op.line.attrs
        if line.op.prepare is not None:
            attrs = line.op.prepare([metas[value] for value in line.operands], attrs)
        forward = partial(line.op.forward, self._at.executor.backend.xp, **attrs)
        finish = np.asarray if line.op.view else self._own
        one: tuple[Shape | None, DType | None] = op.metas[0] if len(op.metas) == 1 else (None, None)
        drops = tuple([value for value in op.drops if value not in kept])
        return Call(op, forward, _picked(line.operands), finish, *one, line.results.start, drops)

    def buffers_of(self, inputs: Sequence[Tensor]) -> list[Array] | None:
        """Return the inputs' values as they are now; None: one is not what this was prepared for.

        Why it is not, and whether it is refused, is for ``Prepared.check``.
        """
        if len(inputs) != len(self._inputs):
            return None
        buffers, is_own = [], self._at.executor.backend.owns
        for x, (shape, dtype) in zip(inputs, self._inputs, strict=True):
            if not isinstance(x, Tensor):
                return None
            cell = x._cell
            if cell.device != CPU or cell.shape != shape or cell.dtype is not dtype:
                return None
            buffer = cell.read()
            if not is_own(buffer) or buffer.shape != shape or buffer.dtype is not dtype:
                return None
            buffers.append(buffer)
        return buffers

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
            self._perform(values)
            return tuple([self._output(value, values[value]) for value in self._outputs])
        finally:
            values.clear()  # they must not live on with an error, whose traceback holds the run

    def _perform(self, values: list[Array]) -> None:
        with Renamed(ExecutionFailed, self._at, "to run", _HAS_ITS_NAME) as named:
            for op, forward, operands, finish, shape, dtype, result, drops in self._calls:
                named.thing = op
                made = forward(*operands(values))
                if isinstance(made, tuple):
                    self._keep(op, made, finish, values)
                else:
                    buffer = values[result] = finish(made)
                    if buffer.shape != shape or buffer.dtype is not dtype:
                        check_outputs(op, (buffer,), self._owns)
                for value in drops:
                    values[value] = None

    def _keep(
        self, op: ScheduledOp, made: tuple[Any, ...], finish: Finish, values: list[Array]
    ) -> None:
        """Keep what an op gave as a tuple."""
        if len(made) != len(op.metas):
            check_outputs(op, made, self._owns)
        for value, part, (shape, dtype) in zip(op.line.results, made, op.metas, strict=True):
            buffer = values[value] = finish(part)
            if buffer.shape != shape or buffer.dtype is not dtype:
                check_outputs(op, tuple(map(np.asarray, made)), self._owns)

    def _output(self, value: int, buffer: Array) -> Tensor:
        if value in self._constants:
            return self._constants[value].deep_clone()
        if value in self._borrowed:
            thing = f"output {value} at {self._at}"
            with Renamed(ExecutionFailed, thing, "memory of its own"):
                buffer = self._own(buffer)
        return result_of(Cell(buffer.shape, buffer.dtype, CPU, Storage(buffer, CPU)), None, 0)


def _picked(operands: Sequence[int]) -> Callable[[list[Array]], Sequence[Array]]:
    """Return what picks operands out of the values; of a lone index, itemgetter gives no tuple."""
    if len(operands) > 1:
        return itemgetter(*operands)
    first = operands[0] if operands else 0
    return itemgetter(slice(first, first + len(operands)))
