"""Preparing: a schedule for inputs of a signature, planned once, and what it is kept by."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Generic, TypeVar

from autodiff.errors import ShapeError
from autodiff.keys import Key, frozen
from autodiff.node import Shape
from autodiff.program import Program
from autodiff.runtime.errors import NoIngress
from autodiff.runtime.executor import Executor
from autodiff.runtime.listing import Listing, list_values
from autodiff.runtime.location import ExecutionLocation, Resident, Signature, described
from autodiff.runtime.placement import Search, Wishes
from autodiff.runtime.prepared import PlacedConstants, Prepared, forged
from autodiff.runtime.registry import Registry
from autodiff.runtime.routing import Router
from autodiff.runtime.schedule import Schedule, make_schedule
from autodiff.tensors import Tensor

T = TypeVar("T")


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


def prepare_at(executor: Executor, program: Program, numbers: Iterable[int]) -> Prepared:
    """Prepare a program for one executor, where all its slots lie: it runs without a transfer.

    Args:
        executor: who runs it.
        program: its slots have the shapes, dtypes and devices of the inputs.
        numbers: the slots that go along with the launch, wherever they lie.
    """
    signatures = tuple(map(described, program.slots))
    listing = list_values(program, [s.meta for s in signatures], numbers)
    registry = Registry().with_executor(executor)
    schedule = plan(listing, signatures, program.constants, registry, {}, None)
    return Prepared(schedule, signatures, PlacedConstants(program.constants))


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
