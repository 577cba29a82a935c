"""Expressions of one shape, such as x[0]*x[1] and x[0]*x[2], evaluated by one run of one program.

Programs that differ in their leaves, or in the elements that they pick of these, are a group. What
its members read stands one after the other in gathered vectors, one of Parameters and one of
Inputs; a run takes them as a batch of members. So the number of ops does not grow with the number
of gates.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autodiff import Program, Tensor, broadcast_to
from autodiff.node import Kind, Shape
from autodiff.program import Instruction, Place, Ref, placeholder
from circuits.angles import picked_element

# Any in this file: attrs are whatever an op has.
Ints = NDArray[np.int64]

Gathered = tuple[Tensor, bool]
"""Values ``(M,)``, or ``(B, M)`` and True."""


class Operand(NamedTuple):
    """Where the values of one of a program's slots stand, those of all members.

    Attributes:
        is_input: in the vector of Inputs, not in that of Parameters.
        start: of the first member's elements.
        stop: behind the last member's.
        shape: of one member's value.
    """

    is_input: bool
    start: int
    stop: int
    shape: Shape


@dataclass(frozen=True, eq=False)
class ExpressionGroup:
    """Programs that one of them stands for.

    Attributes:
        program: the first member.
        members: how many there are.
        operands: one for each slot.
    """

    program: Program
    members: int
    operands: tuple[Operand, ...]

    def evaluate(self, parameters: Gathered, inputs: Gathered) -> Gathered:
        """Return the members' results, ``(G,)`` or ``(B, G)``.

        Args:
            parameters: the gathered elements of Parameters, of all groups.
            inputs: those of Inputs.
        """
        given = [inputs if operand.is_input else parameters for operand in self.operands]
        sizes = [values.shape[0] for values, batched in given if batched]
        pieces = []
        for operand, (values, batched) in zip(self.operands, given, strict=True):
            piece = values[..., operand.start : operand.stop]
            if sizes and not batched:
                piece = broadcast_to(piece, (sizes[0], *piece.shape))
            pieces.append(_shaped(piece, (prod(sizes[:1]) * self.members, *operand.shape)))
        with np.errstate(divide="ignore", invalid="ignore"):  # such an angle is NaN
            (result,) = self.program.run(pieces, [True] * len(pieces))
        return _shaped(result, (*sizes[:1], self.members)), bool(sizes)


def _shaped(x: Tensor, shape: Shape) -> Tensor:
    return x if x.shape == shape else x.reshape(shape)


def group_programs(
    programs: Sequence[Program], start_of: Callable[[Tensor], int]
) -> tuple[list[ExpressionGroup], list[int], tuple[Ints, Ints]]:
    """Sort programs into groups.

    Args:
        programs: with one output of one element each.
        start_of: where the elements of a leaf begin, among those of all Parameters or all Inputs.

    Returns:
        The groups; for each program its place among the results of all groups; and which elements
        the gathered vectors take of the Parameters and of the Inputs.
    """
    listings = list(map(_listing, programs))
    members: dict[Hashable, list[int]] = {}
    for k, listing in enumerate(listings):
        members.setdefault(_shape_of(listing), []).append(k)
    taken: tuple[list[Ints], list[Ints]] = ([], [])
    ends = [0, 0]
    groups, places, done = [], [0] * len(programs), 0
    for chosen in members.values():
        operands = []
        first = listings[chosen[0]]
        for slot, value in enumerate(first.program.slots):
            is_input, size = _is_input(first.sources[slot][0]), value.numel()
            sources = [listings[k].sources[slot] for k in chosen]
            starts = np.array([start_of(leaf) + element for leaf, element in sources], np.int64)
            taken[is_input].append((starts[:, None] + np.arange(size)).reshape(-1))
            start, ends[is_input] = ends[is_input], ends[is_input] + size * len(chosen)
            operands.append(Operand(is_input, start, ends[is_input], value.shape))
        groups.append(ExpressionGroup(first.program, len(chosen), tuple(operands)))
        for place, k in enumerate(chosen, done):
            places[k] = place
        done += len(chosen)
    parameters, inputs = (np.concatenate([np.zeros(0, np.int64), *parts]) for parts in taken)
    return groups, places, (parameters, inputs)


class _Listing(NamedTuple):
    """A program that reads values, and where each of them stands: a leaf and its first element."""

    program: Program
    sources: tuple[tuple[Tensor, int], ...]


def _listing(program: Program) -> _Listing:
    """Return a program whose slots are the elements that it picks of leaves, or whole leaves."""
    slots: dict[Hashable, tuple[Ref, Tensor, tuple[Tensor, int]]] = {}
    results: list[Ref] = []
    kept: list[Instruction] = []

    def read(leaf: Tensor, element: int, shape: Shape) -> Ref:
        key = id(leaf._meta), element, shape
        if key not in slots:
            value = placeholder(shape, leaf.dtype)
            slots[key] = Ref(Place.SLOT, len(slots)), value, (leaf, element)
        return slots[key][0]

    def moved(ref: Ref) -> Ref:
        if ref.place is Place.CONSTANT:
            return ref
        if ref.place is Place.SLOT:
            leaf = program.slots[ref.index]
            return read(leaf, 0, leaf.shape)
        found = results[ref.index]
        return found if found.place is Place.SLOT else found._replace(output=ref.output)

    for instruction in program.instructions:
        picked = picked_element(program, instruction)
        if picked is None:
            results.append(Ref(Place.RESULT, len(kept)))
            kept.append(replace(instruction, operands=tuple(map(moved, instruction.operands))))
        else:
            leaf = program.slots[picked[0]]
            shape = np.broadcast_to(0, leaf.shape)[instruction.attrs["index"]].shape
            results.append(read(leaf, picked[1], shape))
    outputs = tuple(map(moved, program.outputs))
    _, values, sources = zip(*slots.values(), strict=True)
    return _Listing(Program(values, program.constants, tuple(kept), outputs), sources)


def _is_input(leaf: Tensor) -> bool:
    return leaf._meta.kind is Kind.INPUT


def _shape_of(listing: _Listing) -> Hashable:
    """Return what listings have in common that differ in their sources only."""
    program = listing.program
    return (
        program.outputs,
        tuple([(id(i.op), i.operands, i.ranks, _frozen(i.attrs)) for i in program.instructions]),
        tuple([(x.shape, x.dtype) for x in program.slots]),
        tuple([_is_input(leaf) for leaf, _ in listing.sources]),
        tuple([_frozen(x.numpy()) for x in program.constants]),
    )


def _frozen(value: Any) -> Hashable:
    """Return attrs or a part of them as something that compares by value."""
    match value:
        case np.ndarray():
            return value.shape, value.dtype, value.tobytes()
        case dict():
            return tuple([(key, _frozen(part)) for key, part in value.items()])
        case list() | tuple():
            return type(value), tuple(map(_frozen, value))
        case slice():
            return slice, value.start, value.stop, value.step
    return type(value), value
