"""The placement search: one anchor executor after the other, then a bounded product search."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from autodiff.runtime.errors import (
    DispatchSearchBudgetExceeded,
    PlacementError,
    RouteError,
    UnsupportedOp,
)
from autodiff.runtime.listing import Line, Listing
from autodiff.runtime.location import ExecutionLocation
from autodiff.runtime.registry import Registry
from autodiff.runtime.routing import Route, Router, Vector

#: How many vectors the product search may try.
BUDGET = 4096

#: Where a user wants instructions: by number or by op name, an executor's name or a location.
Wishes = Mapping[int | str, str | ExecutionLocation]


class Search:
    """The choice of a location for every instruction.

    A user's explicit placement is never changed. Each executor in turn, in order of registration
    and its default storage class first, is the anchor: every op that it has runs there, any other
    op at the first location that has it. What the compiler made runs where the program's root does.

    Args:
        listing: the program.
        registry: the executors.
        wishes: the explicit placement.

    Raises:
        PlacementError: a wish for an instruction or a location that is not there.
        UnsupportedOp: an op that no executor has.
    """

    def __init__(self, listing: Listing, registry: Registry, wishes: Wishes) -> None:
        self._listing = listing
        self._registry = registry
        self._root = listing.root
        self._own = [line for line in listing.lines if not line.compiler_made]
        fixed = self._fixed(wishes)
        self._candidates = [self._locations(line, fixed) for line in self._own]

    def find(self, router: Router) -> tuple[Vector, Route]:
        """Return the first placement that has a route, and the route.

        Raises:
            RouteError: no placement has one.
            DispatchSearchBudgetExceeded: none of those tried has one.
        """
        reason: RouteError | None = None
        tried: set[tuple[ExecutionLocation, ...]] = set()
        builds = 0
        for vector, anchored in self._vectors():
            if vector in tried:
                continue
            if not anchored and builds == BUDGET:
                raise DispatchSearchBudgetExceeded(
                    f"a program of {len(self._own)} instructions needs a placement with a route, "
                    f"got none in {BUDGET} tries. Place instructions explicitly, or register the "
                    "transfer provider that the cause names."
                ) from reason
            tried.add(vector)
            builds += not anchored
            try:
                complete = self._complete(vector)
                return complete, router.route(complete)
            except RouteError as error:
                reason = error
        assert reason is not None
        raise reason

    def _vectors(self) -> Iterator[tuple[tuple[ExecutionLocation, ...], bool]]:
        """Every vector of the user's instructions, the anchored ones first."""
        for executor in self._registry.executors.values():
            for anchor in executor.locations:
                chosen = [anchor if anchor in some else some[0] for some in self._candidates]
                yield tuple(chosen), True
        for vector in itertools.product(*self._candidates):
            yield vector, False

    def _complete(self, vector: Sequence[ExecutionLocation]) -> Vector:
        """Add the instructions that the compiler made."""
        if len(vector) == len(self._listing.lines):
            return vector
        chosen = {line.index: at for line, at in zip(self._own, vector, strict=True)}
        root = chosen[self._root.index] if self._root else self._registry.first_location()
        return [chosen.get(line.index, root) for line in self._listing.lines]

    def _locations(
        self, line: Line, fixed: Mapping[int, ExecutionLocation]
    ) -> tuple[ExecutionLocation, ...]:
        found = self._registry.locations(line.op)
        wanted = fixed.get(line.index)
        if wanted is not None:
            if wanted not in found:
                raise PlacementError(
                    f"instruction {line.index} needs an executor that has {line.op.name!r}, got "
                    f"{wanted}. It runs at {', '.join(map(str, found)) or 'none'}."
                )
            return (wanted,)
        if not found:
            raise UnsupportedOp(
                f"instruction {line.index} needs an executor that has {line.op.name!r}, got "
                f"{list(self._registry.executors)}. Register one that has it."
            )
        return found

    def _fixed(self, wishes: Wishes) -> dict[int, ExecutionLocation]:
        """The wanted location by line; a number goes before a name."""
        names = {line.op.name for line in self._own}
        for key in wishes:
            if not (key in names if isinstance(key, str) else 0 <= key < len(self._own)):
                raise PlacementError(
                    f"a placement needs instructions 0 to {len(self._own) - 1} or op names of the "
                    f"program, {sorted(names)}, got {key!r}. Correct it."
                )
        fixed = {}
        for number, line in enumerate(self._own):
            wish = wishes.get(number, wishes.get(line.op.name))
            if wish is not None:
                fixed[line.index] = self._registry.location(wish)
        return fixed
