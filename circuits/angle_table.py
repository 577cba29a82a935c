"""All angles of a circuit at once: one sparse affine map from leaf elements to slots.

angles[s] = offset[s] + sum_e factor[e] vector[origin[e]] over the entries e of slot s, where the
vector holds the elements of all Parameters in registration order, then those of the Inputs, then
the results of the expressions that are not affine. One op, whatever the number of gates; its
adjoint is one op too, and its outputs are slices of one flat buffer. Where the map is the identity
(each element is one angle, in order) there is no adjoint to compute, and where the elements are
those of one vector no op at all: it is the angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress, groupby
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor
from autodiff.backends.constants import Constants
from autodiff.dispatch import apply, constant
from autodiff.node import Kind, Op, Shape
from autodiff.ops.join import flat_elements
from autodiff.ops.shape import behind_batch
from autodiff.slices import Slice
from circuits.angles import Angle
from circuits.expression_groups import ExpressionGroup, group_programs
from circuits.first_order import refuse_second_order

# Any in this file: forwards take a backend's arrays.
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Entries(Constants):
    """A sparse linear map; its entries are sorted by where they go, those of a place a segment.

    Attributes:
        size: of the result.
        places: elements of the result that have entries, ascending.
        firsts: the first entry of each of them.
        origins: what each entry reads.
        factors: by which it is multiplied.
        scaled: whether any factor is not 1.
    """

    size: int
    places: Ints
    firsts: Ints
    origins: Ints
    factors: NDArray[np.float64]
    scaled: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaled", bool((self.factors != 1).any()))

    @property
    def arrays_read(self) -> Sequence[str]:
        """What ``apply`` needs."""
        count = self.factors.size
        needed = (count, self.scaled, self.firsts.size < count, 0 < self.places.size < self.size)
        return list(compress(("origins", "factors", "firsts", "places"), needed))

    @classmethod
    def sort(cls, size: int, places: Ints, origins: Ints, factors: NDArray[np.float64]) -> Entries:
        """Sort entries ``target[place] += factor * source[origin]``."""
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        firsts = np.flatnonzero(np.diff(ordered, prepend=-1))
        return cls(size, ordered[firsts], firsts, origins[order], factors[order])

    def apply(self, xp: Any, source: Any) -> Any:
        """Return the result ``(..., size)`` of a source ``(..., N)``; float64 if scaled."""
        if not self.factors.size:
            return xp.zeros((*source.shape[:-1], self.size), source.dtype)
        terms = source.take(self.origins, axis=-1)
        if self.scaled:
            terms = terms * self.factors
        if self.firsts.size < self.factors.size:
            terms = xp.add.reduceat(terms, self.firsts, axis=-1)
        if self.places.size == self.size:
            return terms
        result = xp.zeros((*source.shape[:-1], self.size), terms.dtype)
        result[..., self.places] = terms
        return result


@dataclass(frozen=True, eq=False)
class AngleTable(Constants):
    """The affine map of a circuit, frozen.

    Attributes:
        by_slot: the entries sorted by slot, for the forward map.
        by_column: the same sorted by element, for its adjoint.
        offsets: ``(S,)``.
        leaves: parameters in registration order, then inputs.
        groups: the expressions that are not affine; their results are appended to the vector.
        gathers: which elements of Parameters, and which of Inputs, the groups take.
        is_shifted: whether any offset is not 0.
        is_identity: whether the angles are the elements of the leaves, one after the other.
    """

    by_slot: Entries
    by_column: Entries
    offsets: NDArray[np.float64]
    leaves: tuple[Tensor, ...]
    groups: tuple[ExpressionGroup, ...] = ()
    gathers: tuple[AngleTable, ...] = ()
    is_shifted: bool = field(init=False)
    is_identity: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_shifted", bool(self.offsets.any()))
        by_slot = self.by_slot
        identity = (
            not (self.is_shifted or by_slot.scaled)
            and by_slot.size == self.by_column.size == by_slot.factors.size
            and bool((by_slot.origins == by_slot.firsts).all())
        )
        object.__setattr__(self, "is_identity", identity)

    @classmethod
    def build(cls, angles: Sequence[Angle], leaves: Sequence[Tensor]) -> AngleTable:
        """Collect one angle a slot."""
        starts = dict(zip(map(_key, leaves), _starts(leaves), strict=True))
        end = sum(x.numel() for x in leaves)
        features = sum(x.numel() for x in leaves if _is_input(x))
        programs = {id(a.program): a.program for a in angles if a.program is not None}
        groups, places, taken = group_programs(
            list(programs.values()),
            lambda leaf: starts[_key(leaf)] - (end - features) * _is_input(leaf),
        )
        place_of = dict(zip(programs, places, strict=True))
        entries: list[tuple[int, int, float]] = []
        for slot, angle in enumerate(angles):
            for (leaf, element), c in zip(angle.atoms, angle.coefficients, strict=True):
                entries.append((slot, starts[_key(leaf)] + element, c))
            if angle.program is not None:
                entries.append((slot, end + place_of[id(angle.program)], angle.scale))
        slots = np.array([entry[0] for entry in entries], np.int64)
        columns = np.array([entry[1] for entry in entries], np.int64)
        factors = np.array([entry[2] for entry in entries], np.float64)
        return cls(
            Entries.sort(len(angles), slots, columns, factors),
            Entries.sort(end + len(programs), columns, slots, factors),
            np.array([angle.offset for angle in angles], np.float64),
            tuple(leaves),
            tuple(groups),
            tuple(
                [
                    cls.gathering(*pair)
                    for pair in zip(taken, (end - features, features), strict=True)
                ]
            ),
        )

    @classmethod
    def gathering(cls, origins: Ints, size: int) -> AngleTable:
        """Return the map that takes some of ``size`` elements, as often as they are listed."""
        places, ones = np.arange(len(origins)), np.ones(len(origins))
        return cls(
            Entries.sort(len(origins), places, origins, ones),
            Entries.sort(size, origins, places, ones),
            np.zeros(len(origins)),
            (),
        )

    @property
    def arrays_read(self) -> Sequence[str]:
        """What the two ops need."""
        if self.is_identity:
            return ()
        return ("by_slot", "by_column", *["offsets"] * self.is_shifted)

    def layout(self, operands: Sequence[Any], batched: tuple[bool, ...]) -> Layout:
        """Return where the elements of the operands stand; those of single samples are kept.

        Args:
            operands: Tensors or arrays; only their shapes are read.
            batched: whether each has a batch axis in front.
        """
        if any(batched):
            return Layout.of([x.shape for x in operands], batched)
        key = (len(operands), operands[0].shape)
        if key not in self._single_layouts:
            self._single_layouts[key] = Layout.of([x.shape for x in operands], batched)
        return self._single_layouts[key]

    @cached_property
    def _single_layouts(self) -> dict[tuple[int, tuple[int, ...]], Layout]:
        """Without a batch: by the operands' number and the first one's shape, all follow."""
        return {}

    @cached_property
    def fixed(self) -> Tensor:
        """The offsets alone; one tensor, so that a device gets it once."""
        return constant(self.offsets.copy())

    def evaluate(
        self,
        operands: tuple[Tensor, ...],
        batched: tuple[bool, ...],
    ) -> Tensor:
        """Return the angles ``(S,)``, or ``(B, S)`` if any value carries a batch axis.

        Args:
            operands: tensors whose elements, one after the other, are those of the leaves.
            batched: whether each has a batch axis in front.
        """
        if self.groups:
            end = len(operands) - sum(map(_is_input, self.leaves))
            gathered = [
                (gather.evaluate(operands[part], batched[part]), any(batched[part]))
                for gather, part in zip(self.gathers, (slice(end), slice(end, None)), strict=True)
            ]
            results = [group.evaluate(*gathered) for group in self.groups]
            operands = (*operands, *[result for result, _ in results])
            batched = (*batched, *[flag for _, flag in results])
        if not operands:
            return self.fixed
        same = self.identical(operands, batched)
        if same is not None:
            return same
        return apply(_ASSEMBLE, *operands, table=self, batched=batched)

    def identical(self, operands: tuple[Tensor, ...], batched: tuple[bool, ...]) -> Tensor | None:
        """Return the operand that is what ``evaluate`` gives, if one is."""
        if self.groups or len(operands) != 1 or not self.is_identity:
            return None
        return operands[0] if operands[0].ndim == 1 + batched[0] else None


def _key(leaf: Tensor) -> int:
    return id(leaf._meta)


def _is_input(leaf: Tensor) -> bool:
    return leaf._meta.kind is Kind.INPUT


def _starts(leaves: Sequence[Tensor]) -> list[int]:
    ends = np.cumsum([0, *[x.numel() for x in leaves]])
    return [int(end) for end in ends[:-1]]


class Layout(NamedTuple):
    """Where the elements of operands stand in the vector.

    Attributes:
        size: of the vector.
        starts: where each operand begins.
        shapes: the operands' shapes.
        batched: whether each has a batch axis in front.
        scalars: all operands are single numbers.
    """

    size: int
    starts: tuple[int, ...]
    shapes: tuple[Shape, ...]
    batched: tuple[bool, ...]
    scalars: bool

    @classmethod
    def of(cls, shapes: Sequence[Shape], batched: tuple[bool, ...]) -> Layout:
        """Put the operands one after the other; a batch axis does not count."""
        sizes = [prod(shape[flag:]) for shape, flag in zip(shapes, batched, strict=True)]
        *starts, size = accumulate(sizes, initial=0)
        return cls(size, tuple(starts), tuple(shapes), batched, all(s == () for s in shapes))


def _assemble(xp: Any, *arrays: Any, table: AngleTable, batched: tuple[bool, ...]) -> Any:
    vector = _flat(xp, arrays, table.layout(arrays, batched))
    if table.is_identity:
        return vector
    angles = table.by_slot.apply(xp, vector)
    if table.is_shifted:
        angles = angles + table.offsets
    return angles.astype(vector.dtype, copy=False)


def _flat(xp: Any, arrays: Sequence[Any], layout: Layout) -> Any:
    """Concatenate the elements of all operands, with the batch axis in front if there is one."""
    batched = layout.batched
    if not any(batched):
        return flat_elements(xp, arrays, layout.scalars)
    rows = next(a.shape[0] for a, flag in zip(arrays, batched, strict=True) if flag)
    vector = xp.empty((rows, layout.size), np.result_type(*[a.dtype for a in arrays]))
    start = 0
    for flag, run in groupby(zip(batched, arrays, strict=True), key=itemgetter(0)):
        parts = [array for _, array in run]
        if flag:
            pieces = [array.reshape(rows, -1) for array in parts]
        else:  # what all samples share, together: there may be hundreds of numbers
            pieces = [flat_elements(xp, parts, all(array.ndim == 0 for array in parts))]
        for piece in pieces:
            end = start + piece.shape[-1]
            vector[:, start:end] = piece
            start = end
    return vector


def _assemble_vjp(
    xp: Any, g: Any, *, table: AngleTable, layout: Layout, lead: int = 0
) -> tuple[Any, ...]:
    """Adjoint of ``_assemble``: the flat gradient of all elements, then the batched operands' own.

    In the flat gradient the batch is summed over: there stand the operands that all samples share.
    In front of the batch, ``lead`` axes of a cotangent with rows are left alone.
    """
    vector = g
    if not table.is_identity:
        vector = table.by_column.apply(xp, g).astype(g.dtype, copy=False)
    if vector.ndim == 1 + lead:
        return (vector,)
    shares = zip(layout.starts, layout.shapes, layout.batched, strict=True)
    own = [
        vector[..., start : start + prod(shape[1:])].reshape((*g.shape[:lead], *shape))
        for start, shape, flag in shares
        if flag
    ]
    return (vector.sum(axis=lead), *own)


def _rule(
    gs: Sequence[Tensor],
    outs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    table: AngleTable,
    batched: tuple[bool, ...],
) -> Sequence[Tensor | Slice | None]:
    layout = table.layout(inputs, batched)
    if table.is_identity and gs[0].ndim == 1:
        flat, *rest = gs
    else:
        flat, *rest = apply(_ASSEMBLE_VJP, gs[0], table=table, layout=layout)
    places = zip(layout.starts, layout.shapes, strict=True)
    made: list[Tensor | Slice | None] = [Slice(flat, start, shape) for start, shape in places]
    if rest:
        for k, g in zip(compress(range(len(made)), batched), rest, strict=True):
            made[k] = g
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
    meta = angles._meta
    history = meta.history
    if history is None or not meta.requires_grad:
        return meta.requires_grad
    node = history.node
    if node is None or node.op is not _ASSEMBLE:
        return True
    needs = [x._meta.requires_grad for x in node.inputs]
    if all(needs):
        return True
    table: AngleTable = node.attrs["table"]
    layout = table.layout(node.inputs, node.attrs["batched"])
    entries = table.by_slot
    asked = np.repeat(needs, np.diff([*layout.starts, layout.size]))[entries.origins]
    flags = np.zeros(len(table.offsets), bool)
    flags[entries.places] = np.logical_or.reduceat(asked, entries.firsts)
    return tuple(flags.tolist())


def _assemble_meta(*metas: Any, table: AngleTable, batched: tuple[bool, ...]) -> Any:
    sizes = [meta[0][:1] for meta, flag in zip(metas, batched, strict=True) if flag]
    dtype = np.result_type(*[meta[1] for meta in metas])
    return (((*(sizes[0] if sizes else ()), len(table.offsets)), dtype),)


def _vjp_meta(meta: Any, *, table: AngleTable, layout: Layout, lead: int = 0) -> Any:
    shapes = ((layout.size,), *compress(layout.shapes, layout.batched))
    return tuple([((*meta[0][:lead], *shape), meta[1]) for shape in shapes])


_ASSEMBLE = Op("assemble_angles", _assemble, _rule, _assemble_meta)
_ASSEMBLE_VJP = Op(
    "assemble_angles_vjp",
    _assemble_vjp,
    refuse_second_order,
    _vjp_meta,
    outputs=None,
    per_sample=behind_batch,
)
