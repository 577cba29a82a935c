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
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor
from autodiff.dispatch import apply, constant
from autodiff.ieee import silent
from autodiff.node import Kind, Op, Shape
from autodiff.ops.shape import behind_batch
from autodiff.slices import Slice
from circuits.angle_layout import Entries, Flags, Ints, Layout
from circuits.angles import Angle
from circuits.expression_groups import ExpressionGroup, group_programs
from circuits.first_order import refuse_second_order

# Any in this file: forwards take a backend's arrays.


@dataclass(frozen=True, eq=False)
class AngleTable:
    """The affine map of a circuit, frozen.

    Attributes:
        by_slot: the entries sorted by slot, for the forward map.
        by_column: the same sorted by element, for its adjoint.
        offsets: ``(S,)``.
        leaves: parameters in registration order, then inputs.
        groups: the expressions that are not affine; their results are appended to the vector.
        gathers: which elements of Parameters, and which of Inputs, the groups take.
        is_identity: whether the angles are the elements of the leaves, one after the other.
    """

    by_slot: Entries
    by_column: Entries
    offsets: NDArray[np.float64]
    leaves: tuple[Tensor, ...]
    groups: tuple[ExpressionGroup, ...] = ()
    gathers: tuple[AngleTable, ...] = ()
    is_identity: bool = field(init=False)

    def __post_init__(self) -> None:
        by_slot = self.by_slot
        identity = (
            not (self.offsets.any() or by_slot.scaled)
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

    def layout(self, operands: Sequence[Tensor], batched: Flags) -> Layout:
        """Return the map for operands of these shapes: it is kept.

        Args:
            operands: only their shapes are read.
            batched: whether each has a batch axis in front.
        """
        first = operands[0]._cell.shape
        key = (len(operands), first[1:] if batched[0] else first, batched)
        found = self._layouts.get(key)
        if found is None:
            shapes = [x.shape[flag:] for x, flag in zip(operands, batched, strict=True)]
            maps, same = (self.by_slot, self.by_column), self.is_identity
            found = Layout.of(shapes, batched, maps, self.offsets, is_identity=same)
            self._layouts[key] = found
        return found

    @cached_property
    def _layouts(self) -> dict[tuple[int, Shape, Flags], Layout]:
        """By the operands' number and the first one's shape, all follow, and what is batched."""
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
        return apply(_ASSEMBLE, *operands, layout=self.layout(operands, batched))

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


def _assemble(xp: Any, *arrays: Any, layout: Layout) -> Any:
    shared, own = layout.shared, layout.own
    kinds = {a.dtype for a in arrays}
    dtype = kinds.pop() if len(kinds) == 1 else np.result_type(*kinds)
    vector = shared.vector(xp, arrays, dtype)
    if own is None:
        return _shifted(shared.by_slot.apply(xp, vector), layout)
    rows = own.rows(xp, arrays)
    out = xp.empty((len(rows), len(layout.offsets)), dtype)
    if layout.is_apart:
        out[:, shared.by_slot.target] = shared.by_slot.sums(xp, vector)
        out[:, own.by_slot.target] = own.by_slot.sums(xp, rows)
    else:
        out[...] = _shifted(shared.by_slot.apply(xp, vector), layout)
        out[:, own.by_slot.target] += own.by_slot.sums(xp, rows)
    return out


def _shifted(angles: Any, layout: Layout) -> Any:
    if not layout.is_shifted:
        return angles
    return (angles + layout.offsets).astype(angles.dtype, copy=False)


def _assemble_vjp(
    xp: Any, g: Any, *, layout: Layout, wanted: tuple[bool, bool], lead: int = 0
) -> tuple[Any, ...]:
    """Adjoint of ``_assemble``: the flat gradient of what is shared, then batched operands' own.

    What is shared receives the sum over the batch. In front of that, ``lead`` axes of a cotangent
    with rows are left alone.
    """
    parts, own = [], layout.own
    if wanted[0]:
        columns = layout.shared.by_column
        flat = columns.apply(xp, g) if own is None else columns.apply_to_sum(xp, g, lead)
        parts.append(flat)
    if wanted[1]:
        assert own is not None
        rows, axes = own.by_column.apply(xp, g), g.shape[:-1]
        for start, shape in zip(own.starts, own.shapes, strict=True):
            parts.append(rows[..., start : start + prod(shape)].reshape((*axes, *shape)))
    return tuple(parts)


def _rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], layout: Layout
) -> Sequence[Tensor | Slice | None]:
    shared, own = layout.shared, layout.own
    found: list[Tensor | Slice | None] = [None] * len(inputs)
    wanted = (
        own is None or any(inputs[k]._meta.requires_grad for k in shared.operands),
        own is not None and any(inputs[k]._meta.requires_grad for k in own.operands),
    )
    if layout.is_identity and gs[0].ndim == 1:
        parts: Sequence[Tensor] = gs
    else:
        parts = apply(_ASSEMBLE_VJP, gs[0], layout=layout, wanted=wanted)
    if wanted[0]:
        flat, *parts = parts
        for k, start, shape in zip(shared.operands, shared.starts, shared.shapes, strict=True):
            found[k] = flat if shape == flat._cell.shape else Slice(flat, start, shape)
        if flat.requires_grad:
            # A recorded pass needs the history, which only ops on ``flat`` keep.
            found = [g.tensor() if isinstance(g, Slice) else g for g in found]
    if own is not None and wanted[1]:
        for k, g in zip(own.operands, parts, strict=True):
            found[k] = g
    return found


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
    needs = tuple([x._meta.requires_grad for x in node.inputs])
    if all(needs):
        return True
    layout: Layout = node.attrs["layout"]
    return layout.slots_of(needs)


def _assemble_meta(*metas: Any, layout: Layout) -> Any:
    axes = () if layout.own is None else metas[layout.own.operands[0]][0][:1]
    dtype = np.result_type(*[meta[1] for meta in metas])
    return (((*axes, len(layout.offsets)), dtype),)


def _vjp_meta(meta: Any, *, layout: Layout, wanted: tuple[bool, bool], lead: int = 0) -> Any:
    shape, dtype = meta
    shapes = [(*shape[:lead], layout.shared.by_column.size)] * wanted[0]
    if wanted[1]:
        assert layout.own is not None
        shapes += [(*shape[:-1], *own) for own in layout.own.shapes]
    return tuple([(found, dtype) for found in shapes])


_ASSEMBLE = Op("assemble_angles", silent(_assemble), _rule, _assemble_meta)
_ASSEMBLE_VJP = Op(
    "assemble_angles_vjp",
    silent(_assemble_vjp),
    refuse_second_order,
    _vjp_meta,
    outputs=None,
    per_sample=behind_batch,
)
