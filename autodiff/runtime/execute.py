"""One run of a schedule. Every transfer and every launch in it goes through here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack

from autodiff.backends.interface import Array
from autodiff.node import Autograd, Cell
from autodiff.runtime.errors import ExecutionFailed, OutputResidencyMismatch, Renamed
from autodiff.runtime.location import ExecutionLocation, Resident, resident_of
from autodiff.runtime.schedule import Schedule, ScheduledLaunch, ScheduledOp, ScheduledTransfer
from autodiff.runtime.transfer import Endpoint, TransferRequest, checked_transfer
from autodiff.storage import Storage
from autodiff.tensors import Tensor

#: The copies of each value: a transfer adds one and keeps the others, the last use drops all.
Copies = dict[int, dict[ExecutionLocation, Resident]]


def place_constants(schedule: Schedule, constants: Sequence[Tensor]) -> Copies:
    """Return the constants wherever a run needs them; numbers travel and need no place."""
    first = schedule.listing.constants.start
    copies: Copies = {
        value: {home.location: resident_of(constants[value - first])}
        for value, home in schedule.homes.items()
        if value in schedule.listing.constants
    }
    for step in schedule.placed:
        _transfer(step, copies)
    return copies


class Run:
    """One run.

    Args:
        schedule: what to do.
        constants: the program's constants; those of shape () travel with the launches.
        placed: what ``place_constants`` gave; it stays.
        inputs: one value a slot, checked.
    """

    def __init__(
        self,
        schedule: Schedule,
        constants: Sequence[Tensor],
        placed: Copies,
        inputs: Sequence[Resident],
    ) -> None:
        self._schedule = schedule
        self._numbers = self._travelling(constants)
        self._live: Copies = dict(placed)
        for value, resident in enumerate(inputs):
            if value in schedule.homes:
                self._live[value] = {schedule.homes[value].location: resident}
        self._constants = constants

    def run(self) -> tuple[Tensor, ...]:
        """Return the program's outputs as tensors without history; nothing else is kept.

        Raises:
            TransferContractError: a provider gave something else than it was asked for.
            TransferFailed: a provider raised.
            OutputResidencyMismatch: an executor gave something else than the op's row says.
            ExecutionFailed: an op raised.
        """
        try:
            for step in self._schedule.steps:
                if isinstance(step, ScheduledTransfer):
                    _transfer(step, self._live)
                else:
                    self._launch(step)
            return self._outputs()
        finally:
            # An error's traceback holds this object; the values must not live on with it.
            self._live.clear()

    def _travelling(self, constants: Sequence[Tensor]) -> Mapping[int, Array]:
        listing = self._schedule.listing
        pairs = zip(listing.constants, constants, strict=True)
        return {value: x.numpy() for value, x in pairs if listing.travels(value)}

    def _launch(self, launch: ScheduledLaunch) -> None:
        where = launch.at
        ops = launch.ops
        what = f"the launch of instructions {ops[0].index} to {ops[-1].index} at {where}"
        with ExitStack() as stack:
            with Renamed(ExecutionFailed, f"{what} needs to start"):
                stack.enter_context(where.executor.launch())
            for op in ops:
                self._op(op, where)

    def _op(self, op: ScheduledOp, where: Endpoint) -> None:
        line = op.line
        operands = [self._operand(v, where.location) for v in line.operands]
        what = f"instruction {line.index} ({line.op.name}) at {where}"
        with Renamed(ExecutionFailed, f"{what} needs to run"):
            made = where.executor.run(line.op, operands, line.attrs, where.location.storage_class)
        checked = checked_outputs(op, where, made)
        for value, resident in zip(line.results, checked, strict=True):
            self._live[value] = {where.location: resident}
        for value in op.drops:
            self._live.pop(value, None)

    def _operand(self, value: int, location: ExecutionLocation) -> Array:
        if value in self._numbers:
            return self._numbers[value]
        return self._live[value][location].buffer

    def _outputs(self) -> tuple[Tensor, ...]:
        listing, found = self._schedule.listing, []
        for value in listing.outputs:
            if value in listing.constants:
                found.append(self._constants[value - listing.constants.start].deep_clone())
                continue
            where = self._schedule.outputs[value]
            with Renamed(ExecutionFailed, f"output {value} at {where} needs memory of its own"):
                buffer = where.executor.finish(self._live[value][where.location].buffer)
            found.append(_tensor(buffer, where.executor.device))
        return tuple(found)


def checked_outputs(
    op: ScheduledOp, where: Endpoint, made: Iterable[Array]
) -> tuple[Resident, ...]:
    """Return an executor's results as values, or refuse them all.

    Raises:
        OutputResidencyMismatch: another number, shape or dtype than the op's row says, or a buffer
            that is not the executor's own.
    """
    buffers = tuple(made)
    line, owns = op.line, where.executor.require_contract().owns
    what = f"instruction {line.index} ({line.op.name}) at {where}"
    advice = "Correct the executor, or the meta of the op."
    if len(buffers) != len(op.metas):
        raise OutputResidencyMismatch(
            f"{what} needs {len(op.metas)} results, got {len(buffers)}. {advice}"
        )
    residents = []
    for buffer, (shape, dtype) in zip(buffers, op.metas, strict=True):
        if not owns(buffer, where.location.storage_class):
            raise OutputResidencyMismatch(
                f"{what} needs results in its own memory, got {buffer!r:.80}. {advice}"
            )
        if (buffer.shape, buffer.dtype) != (shape, dtype):
            raise OutputResidencyMismatch(
                f"{what} needs a result of shape {shape}, dtype {dtype}, got shape {buffer.shape}, "
                f"dtype {buffer.dtype}. {advice}"
            )
        family = where.executor.backend.family
        residents.append(Resident(buffer, shape, dtype, where.placement, family))
    return tuple(residents)


def _transfer(step: ScheduledTransfer, copies: Copies) -> None:
    source = copies[step.value][step.source.location]
    request = TransferRequest(source, step.source, step.destination)
    moved = checked_transfer(step.provider, request)
    copies[step.value] = {**copies[step.value], step.destination.location: moved}


def _tensor(buffer: Array, device: str) -> Tensor:
    cell = Cell(buffer.shape, buffer.dtype, device, Storage(buffer, device))
    return Tensor._wrap(cell, Autograd())
