"""One run of a prepared execution. Every transfer and every launch in it goes through here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import NamedTuple

from autodiff.backends.interface import Array
from autodiff.node import Autograd, Cell
from autodiff.runtime.errors import Caught, ExecutionFailed, OutputResidencyMismatch, Renamed
from autodiff.runtime.prepared import Copies, Prepared, add_copy, take_in
from autodiff.runtime.replay import Replay
from autodiff.runtime.results import Owns, check_outputs
from autodiff.runtime.schedule import ScheduledLaunch, ScheduledOp, ScheduledTransfer
from autodiff.runtime.transfer import Endpoint
from autodiff.storage import Storage
from autodiff.tensors import Tensor


class Run:
    """One run.

    Args:
        prepared: what to do.
        inputs: a buffer a slot, checked.
    """

    def __init__(self, prepared: Prepared, inputs: Mapping[int, Array]) -> None:
        self._prepared = prepared
        self._schedule = prepared.schedule
        given = (prepared.constants.at(self._schedule), take_in(self._schedule, inputs))
        numbers = {**given[0].numbers, **given[1].numbers}
        self._live: Copies = defaultdict(numbers.copy)
        for copies in (given[0].copies, given[1].copies):
            for location, values in copies.items():
                self._live[location].update(values)

    def run(self) -> dict[int, Array]:
        """Return what was computed or handed on as an output, by value; nothing else is kept.

        Raises:
            TransferContractError: a provider gave something else than it was asked for.
            TransferFailed: a provider raised.
            OutputResidencyMismatch: an executor gave something else than the op's row says.
            ExecutionFailed: an op raised.
        """
        try:
            self._steps()
            return self._results()
        finally:
            self._clear()

    def _steps(self) -> None:
        for step in self._schedule.steps:
            if isinstance(step, ScheduledTransfer):
                add_copy(step, self._live)
            else:
                self._launch(step)

    def _results(self) -> dict[int, Array]:
        return {
            value: self._live[where.location][value]
            for value, where in self._schedule.outputs.items()
            if value in self._live[where.location]
        }

    def _clear(self) -> None:
        """Drop all values: they must not live on with an error, whose traceback holds the run."""
        for copies in self._live.values():
            copies.clear()

    def _launch(self, launch: ScheduledLaunch) -> None:
        executor = launch.at.executor
        owns = executor.require_contract().owns
        with ExitStack() as stack:
            with Renamed(ExecutionFailed, launch, "to start"):
                stack.enter_context(executor.launch())
            replays = executor.backend.replays
            for part in self._prepared.parts_of(launch) if replays else (launch,):
                if isinstance(part, Replay):
                    self._replay(part, owns)
                else:
                    self._perform(iter(part.ops), part.at, owns)

    def _replay(self, replay: Replay, owns: Owns) -> None:
        """Run instructions as one graph."""
        launch = replay.launch
        here = self._live[launch.at.location]
        with Renamed(ExecutionFailed, launch, "to run as a graph"):
            replay.run(here)
        for op in launch.ops:
            self._drop(op)
        for op in launch.ops:
            (result,) = op.line.results
            if result in here:
                check_outputs(op, [here[result]], owns)

    def _perform(self, ops: Iterator[ScheduledOp], where: Endpoint, owns: Owns) -> None:
        """Run instructions until one fails."""
        executor, location = where.executor, where.location
        here = self._live[location]
        with Renamed(ExecutionFailed, where, "to run", but=(OutputResidencyMismatch,)) as named:
            for op in ops:
                named.thing = op
                line = op.line
                operands = [here[value] for value in line.operands]
                made = executor.run(line.op, operands, line.attrs, location.storage_class)
                check_outputs(op, made, owns)
                # As in eager code: the order in memory decides the last bit of a sum.
                finish = executor.backend.own_copy if line.op.view else executor.finish
                for value, buffer in zip(line.results, made, strict=True):
                    here[value] = finish(buffer)
                self._drop(op)

    def _drop(self, op: ScheduledOp) -> None:
        for copies in self._live.values():
            for value in op.drops:
                copies.pop(value, None)


class Failure(NamedTuple):
    """Why there is no value.

    Attributes:
        line: the number of the instruction that failed.
        error: what it raised.
    """

    line: int
    error: Exception


class PartialRun(Run):
    """A run that goes on after an instruction failed: what does not depend on it has its value.

    Args:
        prepared: what to do.
        inputs: buffers by slot.
        missing: why other slots have none: an instruction that needs one fails.

    Attributes:
        results: the outputs that there are, whatever ended the run; whoever takes them clears it.
        failures: why others are missing, by value.
    """

    def __init__(
        self, prepared: Prepared, inputs: Mapping[int, Array], missing: Mapping[int, Exception]
    ) -> None:
        super().__init__(prepared, inputs)
        self._missing = missing
        self.results: dict[int, Array] = {}
        self.failures: dict[int, Failure] = {}

    def run(self) -> dict[int, Array]:
        """Run, and return ``results``.

        Raises:
            ExecutionFailed: the launch did not start.
        """
        try:
            self._steps()
        finally:
            self.results.update(self._results())
            self._clear()
        return self.results

    def _perform(self, ops: Iterator[ScheduledOp], where: Endpoint, owns: Owns) -> None:
        rest, going = self._possible(ops), True
        while going:
            with Caught() as caught:
                super()._perform(rest, where, owns)
            going = caught.error is not None
            if caught.error is not None:
                self._fail(self._now, Failure(self._now.index, caught.error))

    def _replay(self, replay: Replay, owns: Owns) -> None:
        """A graph runs as a whole: not where some of its instructions cannot."""
        if self._missing or self.failures:
            self._perform(iter(replay.launch.ops), replay.launch.at, owns)
        else:
            super()._replay(replay, owns)

    def _possible(self, ops: Iterator[ScheduledOp]) -> Iterator[ScheduledOp]:
        """Give the instructions whose operands there are."""
        for op in ops:
            failure = self._inherited(op) if self._missing or self.failures else None
            if failure is None:
                self._now = op
                yield op
            else:
                self._fail(op, failure)

    def _fail(self, op: ScheduledOp, failure: Failure) -> None:
        self.failures.update(dict.fromkeys(op.line.results, failure))
        self._drop(op)

    def _inherited(self, op: ScheduledOp) -> Failure | None:
        """Return why an instruction cannot run."""
        for value in op.line.operands:
            if value in self.failures:
                return self.failures[value]
            if value in self._missing:
                return Failure(op.index, self._missing[value])
        return None


def tensors_of(prepared: Prepared, results: dict[int, Array]) -> tuple[Tensor, ...]:
    """Return a program's outputs as tensors without history, in memory of their own.

    Args:
        prepared: what was run.
        results: what the run gave; empty afterwards.

    Raises:
        ExecutionFailed: there is no memory for an output.
    """
    listing, found = prepared.schedule.listing, []
    borrowed = listing.borrowed
    try:
        for value in listing.outputs:
            if value in listing.constants:
                constant = prepared.constants.tensors[value - listing.constants.start]
                found.append(constant.deep_clone())
                continue
            where, buffer = prepared.schedule.outputs[value], results[value]
            if value in borrowed:
                with Renamed(ExecutionFailed, f"output {value} at {where}", "memory of its own"):
                    buffer = where.executor.finish(buffer)
            device = where.executor.device
            cell = Cell(buffer.shape, buffer.dtype, device, Storage(buffer, device))
            found.append(Tensor._wrap(cell, Autograd()))
    finally:
        results.clear()
    return tuple(found)
