"""Routes: where inputs are taken in, and from where to where values go, for one placement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from autodiff.runtime.errors import MissingTransferProvider, UnsupportedOp
from autodiff.runtime.listing import Listing
from autodiff.runtime.location import ExecutionLocation
from autodiff.runtime.registry import Registry

Vector = Sequence[ExecutionLocation]


class Move(NamedTuple):
    """A value on its way, before the instruction that needs it first."""

    value: int
    source: ExecutionLocation
    destination: ExecutionLocation
    before: int


class Stretch(NamedTuple):
    """Consecutive instructions at one location, one launch, and what has to come there before."""

    location: ExecutionLocation
    moves: list[Move]
    lines: list[int]


class Route(NamedTuple):
    """How a placement is served.

    Attributes:
        homes: where each input and constant is taken in.
        placed: moves of constants, done once.
        stretches: moves and launches of every run, in order.
    """

    homes: Mapping[int, ExecutionLocation]
    placed: tuple[Move, ...]
    stretches: tuple[Stretch, ...]


class Router:
    """Finds the route of a placement vector (a location an instruction).

    Args:
        listing: the program.
        registry: whose providers may be used; a move takes one of them, never two in a row.
        entries: the locations that would take in each entering value.
    """

    def __init__(
        self,
        listing: Listing,
        registry: Registry,
        entries: Mapping[int, Sequence[ExecutionLocation]],
    ) -> None:
        self._listing = listing
        self._registry = registry
        self._entries = entries

    def route(self, vector: Vector) -> Route:
        """Return the route.

        Raises:
            RouteError: an instruction where it cannot run, or a value that has no direct way.
        """
        for line in self._listing.lines:
            # All others were chosen by what their executor supports.
            if line.compiler_made:
                self._require_support(line.index, vector[line.index])
        homes = {v: self._home(v, vector) for v in self._entries}
        copies: dict[int, list[ExecutionLocation]] = {v: [home] for v, home in homes.items()}
        placed: list[Move] = []
        stretches: list[Stretch] = []
        for line in self._listing.lines:
            location = vector[line.index]
            if not stretches or stretches[-1].location != location:
                stretches.append(Stretch(location, [], []))
            stretch = stretches[-1]
            for v in line.operands:
                if v in self._listing.numbers or location in copies[v]:
                    continue
                move = Move(v, self._source(v, copies[v], location), location, line.index)
                (placed if v in self._listing.constants else stretch.moves).append(move)
                copies[v].append(location)
            stretch.lines.append(line.index)
            for v in line.results:
                copies[v] = [location]
        return Route(homes, tuple(placed), tuple(stretches))

    def _home(self, value: int, vector: Vector) -> ExecutionLocation:
        """Return where to take a value in: the location from which all uses need fewest moves."""
        uses = dict.fromkeys([vector[i] for i in self._listing.users[value]])
        best: tuple[int, ExecutionLocation] | None = None
        reason: MissingTransferProvider | None = None
        for entry in self._entries[value]:
            copies = [entry]
            try:
                for location in uses:
                    if location not in copies:
                        self._source(value, copies, location)
                        copies.append(location)
            except MissingTransferProvider as error:
                reason = error
                continue
            if best is None or len(copies) < best[0]:
                best = (len(copies), entry)
        if best is None:
            assert reason is not None
            raise reason
        return best[1]

    def _source(
        self, value: int, copies: Sequence[ExecutionLocation], to: ExecutionLocation
    ) -> ExecutionLocation:
        """Return the first copy that a provider can bring there directly."""
        for location in copies:
            if self._registry.provider(location, to) is not None:
                return location
        present = ", ".join(map(str, copies))
        raise MissingTransferProvider(
            f"value {value} needs a direct transfer to {to}, got copies at {present} and no "
            "provider between the two storage classes. Register one, or place the instruction "
            "elsewhere."
        )

    def _require_support(self, index: int, location: ExecutionLocation) -> None:
        op = self._listing.lines[index].op
        if not self._registry.executors[location.executor].supports(op):
            raise UnsupportedOp(
                f"instruction {index}, made by the compiler, needs {op.name!r} at the program's "
                f"root, got {location}, which lacks it. Place the root elsewhere."
            )
