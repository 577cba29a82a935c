"""Prepared executions: a schedule, what its inputs have to be, and the constants in their places.

What a backend keeps for a repeated run, a captured graph with its buffers, belongs to one of these
objects: everything but the inputs' elements is fixed here.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from autodiff.backends.interface import Array
from autodiff.runtime.direct import Direct, runs_directly
from autodiff.runtime.errors import ResidencyMismatch
from autodiff.runtime.location import ExecutionLocation, Resident, Signature, resident_of
from autodiff.runtime.replay import Replay, parts_of
from autodiff.runtime.schedule import Schedule, ScheduledLaunch, ScheduledTransfer
from autodiff.runtime.transfer import TransferRequest, checked_transfer
from autodiff.tensors import Tensor

#: The copies of values at each location: a transfer adds one and keeps the others.
Copies = defaultdict[ExecutionLocation, dict[int, Array]]


#: Graphs, and launches whose ops run one by one, in order.
Parts = tuple[Replay | ScheduledLaunch, ...]


class Given(NamedTuple):
    """Values that are there before a run, by number.

    Attributes:
        numbers: those that go along with the launches.
        copies: those that were taken in, each at its home.
    """

    numbers: dict[int, Array]
    copies: Copies


def take_in(schedule: Schedule, buffers: Mapping[int, Array]) -> Given:
    """Return values where a run looks for them; what no instruction needs is left out."""
    numbers: dict[int, Array] = {}
    copies: Copies = defaultdict(dict)
    for value, buffer in buffers.items():
        if value in schedule.listing.numbers:
            numbers[value] = buffer
        elif value in schedule.homes:
            copies[schedule.homes[value].location][value] = buffer
    return Given(numbers, copies)


def add_copy(step: ScheduledTransfer, copies: Copies) -> None:
    """Add a copy at the destination; the source stays.

    Raises:
        TransferContractError: the provider gave something else than it was asked for.
        TransferFailed: the provider raised.
    """
    source, destination = step.source, step.destination
    buffer, family = copies[source.location][step.value], source.executor.backend.family
    value = Resident(buffer, *step.meta, source.placement, family)
    moved = checked_transfer(step.provider, TransferRequest(value, source, destination))
    copies[destination.location][step.value] = moved.buffer


class PlacedConstants:
    """The constants of one program at the locations of its schedule, moved there at the first run.

    Args:
        tensors: the constants.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tuple(tensors)
        self._lock = threading.Lock()
        self._placed: Given | None = None

    def at(self, schedule: Schedule) -> Given:
        """Return the constants where the schedule needs them."""
        with self._lock:
            if self._placed is None:
                listing = schedule.listing
                buffers = {
                    value: x.numpy() if value in listing.numbers else resident_of(x).buffer
                    for value, x in zip(listing.constants, self.tensors, strict=True)
                }
                placed = take_in(schedule, buffers)
                for step in schedule.placed:
                    add_copy(step, placed.copies)
                self._placed = placed
            return self._placed


@dataclass(frozen=True, eq=False)
class Prepared:
    """A program ready to run on inputs of a signature. It needs no registry any more.

    Attributes:
        schedule: what a run does.
        signatures: what each input has to be, and where.
        constants: the program's constants.
    """

    schedule: Schedule
    signatures: tuple[Signature, ...]
    constants: PlacedConstants = field(repr=False)
    _parts: dict[int, Parts] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def parts_of(self, launch: ScheduledLaunch) -> Parts:
        """Return what one of the schedule's launches consists of on a device that replays."""
        first = launch.ops[0].index
        with self._lock:
            if first not in self._parts:
                self._parts[first] = parts_of(launch, self.schedule.listing)
            return self._parts[first]

    @cached_property
    def direct(self) -> Direct | None:
        """How to run it with little else than its ops' forwards, if only the CPU has a part in it.

        The constants are put in their places here: ask for it where something is to run.
        """
        if not runs_directly(self.schedule, self.signatures):
            return None
        placed = self.constants.at(self.schedule)
        buffers = dict(placed.numbers)
        for copies in placed.copies.values():
            buffers.update(copies)
        return Direct(self.schedule, buffers, self.constants.tensors)

    def check(self, inputs: Sequence[Resident]) -> None:
        """Refuse inputs that this execution was not prepared for.

        Raises:
            ResidencyMismatch: another number of inputs, shape, dtype, placement or backend family,
                or a buffer that is not what its tensor claims.
        """
        if len(inputs) != len(self.signatures):
            raise ResidencyMismatch(
                f"a prepared execution needs {len(self.signatures)} inputs, got {len(inputs)}. "
                "Give one a slot."
            )
        for number, (wanted, value) in enumerate(zip(self.signatures, inputs, strict=True)):
            if value.signature != wanted:
                raise ResidencyMismatch(
                    f"input {number} needs {wanted}, got {value.signature}. Prepare the program "
                    "for it, or call run."
                )
            home = self.schedule.homes.get(number)
            if home is not None and not home.executor.require_contract().accepts(value):
                raise forged(number, value)


def forged(number: int, value: Resident) -> ResidencyMismatch:
    """The error of an input whose buffer is not what its metadata claim."""
    return ResidencyMismatch(
        f"input {number} needs a buffer that is what its tensor claims, {value.signature}, got "
        f"{value.buffer!r:.80}. Make the tensor with Tensor(..., device=...) or .to(device)."
    )
