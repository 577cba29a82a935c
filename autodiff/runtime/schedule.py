"""A schedule: every transfer and every launch of a run, in order, with who does it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from autodiff.node import Meta
from autodiff.runtime.listing import Line, Listing
from autodiff.runtime.location import ExecutionLocation, bytes_of
from autodiff.runtime.registry import Registry
from autodiff.runtime.routing import Move, Route, Vector
from autodiff.runtime.transfer import Endpoint, TransferProvider


class ScheduledTransfer(NamedTuple):
    """A copy of a value that is made at another location; the source stays.

    Attributes:
        value: the value's number.
        meta: its shape and dtype.
        source: from where.
        destination: to where.
        provider: who moves it.
        before: the number of the instruction that needs it first.
    """

    value: int
    meta: Meta
    source: Endpoint
    destination: Endpoint
    provider: TransferProvider
    before: int

    @property
    def nbytes(self) -> int:
        """How much is moved."""
        return bytes_of(self.meta)


@dataclass(frozen=True, eq=False)
class ScheduledOp:
    """An instruction at its location.

    Attributes:
        line: the instruction, with its number.
        at: where.
        metas: shapes and dtypes of its results.
        drops: the values that nobody needs afterwards.
    """

    line: Line
    at: Endpoint
    metas: tuple[Meta, ...]
    drops: tuple[int, ...]

    @property
    def index(self) -> int:
        """The instruction's number."""
        return self.line.index

    def __str__(self) -> str:
        return f"instruction {self.index} ({self.line.op.name}) at {self.at}"


class ScheduledLaunch(NamedTuple):
    """Instructions that run as one launch.

    Attributes:
        at: where.
        ops: the instructions in order.
    """

    at: Endpoint
    ops: tuple[ScheduledOp, ...]

    def __str__(self) -> str:
        first, last = self.ops[0].index, self.ops[-1].index
        return f"the launch of instructions {first} to {last} at {self.at}"


@dataclass(frozen=True, eq=False)
class Schedule:
    """All that a run does. It holds its executors and providers: no registry is asked again.

    Attributes:
        listing: the program.
        homes: where each input and constant is taken in.
        placed: transfers of constants, done once.
        steps: transfers and launches of every run, in order.
        outputs: the location of each output by value number.
    """

    listing: Listing
    homes: Mapping[int, Endpoint]
    placed: tuple[ScheduledTransfer, ...]
    steps: tuple[ScheduledTransfer | ScheduledLaunch, ...]
    outputs: Mapping[int, Endpoint]

    @property
    def transfers(self) -> tuple[ScheduledTransfer, ...]:
        """The transfers of every run, in order."""
        return tuple([step for step in self.steps if isinstance(step, ScheduledTransfer)])

    @property
    def launches(self) -> tuple[ScheduledLaunch, ...]:
        """The launches of every run, in order."""
        return tuple([step for step in self.steps if isinstance(step, ScheduledLaunch)])


def make_schedule(listing: Listing, registry: Registry, vector: Vector, route: Route) -> Schedule:
    """Write out a route."""
    endpoints: dict[ExecutionLocation, Endpoint] = {}

    def endpoint(location: ExecutionLocation) -> Endpoint:
        return endpoints.setdefault(location, registry.endpoint(location))

    def transfer(move: Move) -> ScheduledTransfer:
        provider = registry.provider(move.source, move.destination)
        assert provider is not None  # the route was found with it
        ends = (endpoint(move.source), endpoint(move.destination))
        return ScheduledTransfer(
            move.value, listing.metas[move.value], *ends, provider, move.before
        )

    steps: list[ScheduledTransfer | ScheduledLaunch] = []
    for stretch in route.stretches:
        steps.extend(map(transfer, stretch.moves))
        at = endpoint(stretch.location)
        ops = tuple([_scheduled(listing, index, at) for index in stretch.lines])
        steps.append(ScheduledLaunch(at, ops))
    homes = {value: endpoint(location) for value, location in route.homes.items()}
    made = {v: vector[line.index] for line in listing.lines for v in line.results}
    outputs = {
        v: homes[v] if v in homes else endpoint(made[v])
        for v in listing.outputs
        if v not in listing.constants
    }
    return Schedule(listing, homes, tuple(map(transfer, route.placed)), tuple(steps), outputs)


def _scheduled(listing: Listing, index: int, at: Endpoint) -> ScheduledOp:
    line = listing.lines[index]
    metas = tuple([listing.metas[v] for v in line.results])
    return ScheduledOp(line, at, metas, listing.drops[index])
