"""All angles of a circuit at once: one sparse affine map from leaf elements to slots.

angles[s] = offset[s] + sum_e factor[e] vector[origin[e]] over the entries e of slot s, where the
vector holds the elements of all Parameters in registration order, then those of the Inputs, then
the results of the expressions that are not affine. One op, whatever the number of gates; its
adjoint is one op too, and its outputs are slices of one flat buffer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autodiff import Program, Tensor
from autodiff.dispatch import apply, constant
from autodiff.node import Op, Slice
from circuits.angles import Angle
from circuits.first_order import refuse_second_order

# Any in this file: forwards take a backend's arrays.
Ints = NDArray[np.int64]


class Entries(NamedTuple):
    """Entries sorted by where they go, so that those of one place are a segment."""

    places: Ints
    firsts: Ints
    origins: Ints
    factors: NDArray[np.float64]

    @classmethod
    def sort(cls, places: Ints, origins: Ints, factors: NDArray[np.float64]) -> Entries:
        """Sort entries ``target[place] += factor * source[origin]``."""
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        firsts = np.flatnonzero(np.diff(ordered, prepend=-1))
        return cls(ordered[firsts], firsts, origins[order], factors[order])


@dataclass(frozen=True, eq=False)
class AngleTable:
    """The affine map of a circuit, frozen.

    Attributes:
        by_slot: the entries sorted by slot, for the forward map.
        by_column: the same sorted by element, for its adjoint.
        offsets: ``(S,)``.
        leaves: parameters in registration order, then inputs.
        programs: what is evaluated per run and appended to the vector.
    """

    by_slot: Entries
    by_column: Entries
    offsets: NDArray[np.float64]
    leaves: tuple[Tensor, ...]
    programs: tuple[Program, ...]

    @classmethod
    def build(cls, angles: Sequence[Angle], leaves: Sequence[Tensor]) -> AngleTable:
        """Collect one angle a slot."""
        starts = dict(zip(map(_key, leaves), _starts(leaves), strict=True))
        end = sum(x.numel() for x in leaves)
        programs: dict[int, tuple[int, Program]] = {}
        entries: list[tuple[int, int, float]] = []
        for slot, angle in enumerate(angles):
            for (leaf, element), c in zip(angle.atoms, angle.coefficients, strict=True):
                entries.append((slot, starts[_key(leaf)] + element, c))
            if angle.program is not None:
                known = programs.setdefault(id(angle.program), (len(programs), angle.program))
                entries.append((slot, end + known[0], angle.scale))
        slots = np.array([entry[0] for entry in entries], np.int64)
        columns = np.array([entry[1] for entry in entries], np.int64)
        factors = np.array([entry[2] for entry in entries], np.float64)
        return cls(
            Entries.sort(slots, columns, factors),
            Entries.sort(columns, slots, factors),
            np.array([angle.offset for angle in angles], np.float64),
            tuple(leaves),
            tuple([program for _, program in programs.values()]),
        )

    def parts(self, operands: Sequence[Tensor], batched: tuple[bool, ...]) -> tuple[Part, ...]:
        """Return where the elements of the operands stand; those of single samples are kept."""
        key = (len(operands), operands[0].shape)
        single = not any(batched)
        if single and key in self._single_parts:
            return self._single_parts[key]
        found, start = [], 0
        for x, flag in zip(operands, batched, strict=True):
            shape = x.shape
            size = prod(shape[1:]) if flag else prod(shape)
            found.append(Part(start, size, shape, flag))
            start += size
        if single:
            self._single_parts[key] = tuple(found)
        return tuple(found)

    @cached_property
    def _single_parts(self) -> dict[tuple[int, tuple[int, ...]], tuple[Part, ...]]:
        """Parts without a batch: by the operands' number and the first one's shape, all follow."""
        return {}

    @cached_property
    def _fixed(self) -> Tensor:
        """The offsets alone; one tensor, so that a device gets it once."""
        return constant(self.offsets.copy())

    def evaluate(
        self,
        operands: Sequence[tuple[Tensor, bool]],
        value_of: Callable[[Tensor], tuple[Tensor, bool]],
    ) -> Tensor:
        """Return the angles ``(S,)``, or ``(B, S)`` if any value carries a batch axis.

        Args:
            operands: tensors whose elements, one after the other, are those of the leaves, and
                whether each has a batch axis in front.
            value_of: the same by leaf, for the programs.
        """
        parts = list(operands)
        for program in self.programs:
            pairs = [value_of(leaf) for leaf in program.slots]
            flags = [flag for _, flag in pairs]
            with np.errstate(divide="ignore", invalid="ignore"):  # such an angle is NaN
                (result,) = program.run([x for x, _ in pairs], flags)
            parts.append((result, any(flags)))
        if not parts:
            return self._fixed
        batched = tuple([flag for _, flag in parts])
        return apply(_ASSEMBLE, *[x for x, _ in parts], table=self, batched=batched)


def _key(leaf: Tensor) -> int:
    return id(leaf._meta)


def _starts(leaves: Sequence[Tensor]) -> list[int]:
    ends = np.cumsum([0, *[x.numel() for x in leaves]])
    return [int(end) for end in ends[:-1]]


def _assemble(xp: Any, *arrays: Any, table: AngleTable, batched: tuple[bool, ...]) -> Any:
    vector = _flat(xp, arrays, batched)
    angles = xp.zeros((*vector.shape[:-1], len(table.offsets)), vector.dtype)
    angles += table.offsets
    _add_segments(xp, angles, table.by_slot, vector)
    return angles


def _flat(xp: Any, arrays: Sequence[Any], batched: Sequence[bool]) -> Any:
    """Concatenate the elements of all operands, with the batch axis in front if there is one."""
    if not any(batched):
        if all(a.ndim == 0 for a in arrays):
            return xp.array(arrays)  # the usual case, scalars: 9 times faster for 32 of them
        return xp.concatenate([a.reshape(-1) for a in arrays])
    sizes = [a.shape[0] for a, flag in zip(arrays, batched, strict=True) if flag]
    rows = []
    for array, flag in zip(arrays, batched, strict=True):
        flat = array.reshape(sizes[0], -1) if flag else array.reshape(1, -1)
        rows.append(xp.broadcast_to(flat, (sizes[0], flat.shape[1])))
    return xp.concatenate(rows, axis=1)


def _add_segments(xp: Any, target: Any, entries: Entries, source: Any) -> None:
    """Add factor * source[..., origin] to target[..., place], entry by entry."""
    if len(entries.factors) == 0:
        return
    terms = source[..., entries.origins] * entries.factors
    single = len(entries.firsts) == len(entries.factors)
    sums = terms if single else xp.add.reduceat(terms, entries.firsts, axis=-1)
    target[..., entries.places] += sums


def _assemble_vjp(
    xp: Any, g: Any, *, table: AngleTable, parts: tuple[Part, ...]
) -> tuple[Any, ...]:
    """Adjoint of ``_assemble``: the flat gradient of all elements, then the batched operands' own.

    In the flat gradient the batch is summed over: there stand the operands that all samples share.
    """
    vector = xp.zeros((*g.shape[:-1], sum(part.size for part in parts)), g.dtype)
    _add_segments(xp, vector, table.by_column, g)
    own = [
        vector[:, part.start : part.start + part.size].reshape(part.shape)
        for part in parts
        if part.batched
    ]
    return (vector.sum(axis=0) if vector.ndim == 2 else vector, *own)


class Part(NamedTuple):
    """Where an operand's elements stand in the vector."""

    start: int
    size: int
    shape: tuple[int, ...]
    batched: bool


def _rule(
    gs: Sequence[Tensor],
    outs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    table: AngleTable,
    batched: tuple[bool, ...],
) -> Sequence[Tensor | Slice | None]:
    parts = table.parts(inputs, batched)
    flat, *rest = apply(_ASSEMBLE_VJP, gs[0], table=table, parts=parts)
    own = iter(rest)
    made = [next(own) if part.batched else Slice(flat, part.start, part.shape) for part in parts]
    if flat.requires_grad:
        # A recorded pass needs the history, which only ops on ``flat`` keep.
        return [g.tensor() if isinstance(g, Slice) else g for g in made]
    return made


def wanted_slots(angles: Tensor) -> bool | tuple[bool, ...]:
    """Return which angles need a gradient: those that a leaf with ``requires_grad`` enters.

    Args:
        angles: what ``AngleTable.evaluate`` gave, or a Tensor made of it.

    Returns:
        One flag for all slots, or one a slot.
    """
    if not angles.requires_grad:
        return False
    history = angles._meta.history
    node = None if history is None else history.node
    if node is None or node.op is not _ASSEMBLE:
        return True
    needs = [x._meta.requires_grad for x in node.inputs]
    if all(needs):
        return True
    table: AngleTable = node.attrs["table"]
    sizes = [part.size for part in table.parts(node.inputs, node.attrs["batched"])]
    entries = table.by_slot
    asked = np.repeat(needs, sizes)[entries.origins]
    flags = np.zeros(len(table.offsets), bool)
    flags[entries.places] = np.logical_or.reduceat(asked, entries.firsts)
    return tuple(flags.tolist())


def _assemble_meta(*metas: Any, table: AngleTable, batched: tuple[bool, ...]) -> Any:
    sizes = [meta[0][:1] for meta, flag in zip(metas, batched, strict=True) if flag]
    dtype = np.result_type(*[meta[1] for meta in metas])
    return (((*(sizes[0] if sizes else ()), len(table.offsets)), dtype),)


def _vjp_meta(meta: Any, *, table: AngleTable, parts: tuple[Part, ...]) -> Any:
    flat = (sum(part.size for part in parts),)
    return tuple([(shape, meta[1]) for shape in (flat, *[p.shape for p in parts if p.batched])])


_ASSEMBLE = Op("assemble_angles", _assemble, _rule, _assemble_meta)
_ASSEMBLE_VJP = Op(
    "assemble_angles_vjp", _assemble_vjp, refuse_second_order, _vjp_meta, outputs=None
)
