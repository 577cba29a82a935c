"""Prepared executions: a schedule for inputs of a signature, planned once and kept."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from autodiff.errors import ShapeError
from autodiff.keys import Key, frozen
from autodiff.node import Shape
from autodiff.program import Program
from autodiff.runtime.errors import NoIngress, ResidencyMismatch
from autodiff.runtime.execute import Copies, place_constants
from autodiff.runtime.listing import Listing
from autodiff.runtime.location import ExecutionLocation, Resident, Signature, described
from autodiff.runtime.placement import Search, Wishes
from autodiff.runtime.registry import Registry
from autodiff.runtime.routing import Router
from autodiff.runtime.schedule import Schedule, make_schedule
from autodiff.tensors import Tensor

T = TypeVar("T")


class PlacedConstants:
    """The constants of one program at the locations of its schedule, moved there at the first run.

    Args:
        tensors: the constants.
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self.tensors = tuple(tensors)
        self._lock = threading.Lock()
        self._placed: Copies | None = None

    def at(self, schedule: Schedule) -> Copies:
        """Return the constants where the schedule needs them."""
        with self._lock:
            if self._placed is None:
                self._placed = place_constants(schedule, self.tensors)
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


def plan(
    listing: Listing,
    signatures: Sequence[Signature],
    constants: Sequence[Tensor],
    registry: Registry,
    wishes: Wishes,
    inputs: Sequence[Resident] | None,
) -> Schedule:
    """Find a placement and write out its schedule; nothing is moved and nothing runs.

    Args:
        listing: the program.
        signatures: one an input.
        constants: the program's constants.
        registry: executors and providers.
        wishes: the user's explicit placement.
        inputs: the actual inputs; None plans by what is claimed.

    Raises:
        RouteError: no placement can be served.
        DispatchSearchBudgetExceeded: none of those tried can.
        ResidencyMismatch: an input that is not what it claims.
        MissingIngressContract: an executor without a complete contract.
    """
    claims = [*signatures, *map(described, constants)]
    entries: dict[int, tuple[ExecutionLocation, ...]] = {}
    for value in listing.entering:
        actual = inputs[value] if inputs is not None and value in listing.slots else None
        entries[value] = _entries(value, claims[value], actual, registry)
    vector, route = Search(listing, registry, wishes).find(Router(listing, registry, entries))
    return make_schedule(listing, registry, vector, route)


def _entries(
    value: int, claim: Signature, actual: Resident | None, registry: Registry
) -> tuple[ExecutionLocation, ...]:
    """Return the locations that take a value in where it lies."""
    found, doubted = [], False
    for executor in registry.executors.values():
        contract = executor.require_contract()
        if not contract.eligible(claim.placement):
            continue
        if actual is not None and not contract.accepts(actual):
            doubted = True
            continue
        found += [x for x in executor.locations if x.storage_class == claim.placement.storage_class]
    if not found and doubted:
        assert actual is not None
        raise forged(value, actual)
    if not found:
        raise NoIngress(
            f"value {value} needs an executor that takes it in at {claim.placement}, got "
            f"{list(registry.executors)}. Register one, or move the value with .to(device)."
        )
    return tuple(found)


def check_shapes(program: Program, signatures: Sequence[Signature], flags: Sequence[bool]) -> None:
    """Refuse inputs that do not fit the program's slots.

    Raises:
        ShapeError: not one value a slot, or another shape than the slot's.
    """
    wanted = [slot.shape for slot in program.slots]
    found: list[Shape] = [s.meta[0] for s in signatures]
    if len(flags) == len(found):
        found = [shape[1:] if flag else shape for shape, flag in zip(found, flags, strict=True)]
    if found != wanted or len(flags) != len(wanted):
        raise ShapeError(
            f"a program needs one value a slot, of shapes {wanted} a sample, got {found} with "
            f"{len(flags)} batch flags. Name the values that have a batch axis in front."
        )


# -- caches ----------------------------------------------------------------------------------------


class ByProgram(Generic[T]):
    """What belongs to a program object, and goes with it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Program], dict[Key, T]]] = {}

    def of(self, program: Program) -> dict[Key, T]:
        """Return the entries of a program."""
        key = id(program)
        if key not in self._known:
            known = self._known
            gone = weakref.ref(program, lambda _: known.pop(key, None))
            self._known[key] = (gone, {})
        return self._known[key][1]

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()


def structure_of(program: Program) -> Key:
    """Return what two programs share that may share a schedule: all but the constants' values.

    The schedule keeps the attrs, so that the identities in the key stay theirs.
    """
    lines = [(i.op, i.operands, frozen(i.attrs), i.compiler_made) for i in program.instructions]
    constants = [described(x) for x in program.constants]
    return (*lines, *constants, len(program.slots), program.outputs)
