"""Sparse linear maps of angle tables, and their halves for one pattern of batched operands.

The map of a table is linear, so it is the sum of two: of what all samples share, evaluated once
whatever the batch, and of the samples' own values. So are the adjoints: what is shared receives the
sum over the batch first, and is then one vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, compress
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff.backends.constants import Constants
from autodiff.node import Shape
from autodiff.ops.join import flat_elements
from circuits.plan.ranges import as_slice

# Any in this file: a backend's arrays.
Ints = NDArray[np.int64]
Flags = tuple[bool, ...]


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
        source: a slice that is ``origins``, if there is one: a view takes a fifth of the time.
        target: ``places`` as an index, a slice if there is one.
    """

    size: int
    places: Ints
    firsts: Ints
    origins: Ints
    factors: NDArray[np.float64]
    scaled: bool = field(init=False)
    source: slice | None = field(init=False)
    target: slice | Ints = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaled", bool((self.factors != 1).any()))
        object.__setattr__(self, "source", as_slice(self.origins))
        target = as_slice(self.places)
        object.__setattr__(self, "target", self.places if target is None else target)

    @property
    def arrays_read(self) -> Sequence[str]:
        """What ``apply`` needs."""
        count = self.factors.size
        gathers, scatters = self.source is None, not isinstance(self.target, slice)
        needed = (gathers, self.scaled, self.firsts.size < count, scatters)
        return list(compress(("origins", "factors", "firsts", "target"), needed))

    @classmethod
    def sort(cls, size: int, places: Ints, origins: Ints, factors: NDArray[np.float64]) -> Entries:
        """Sort entries ``target[place] += factor * source[origin]``."""
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        firsts = np.flatnonzero(np.diff(ordered, prepend=-1))
        return cls(size, ordered[firsts], firsts, origins[order], factors[order])

    def sums(self, xp: Any, source: Any) -> Any:
        """Return the elements at ``places`` ``(..., P)`` of the result, maybe a view of the source.

        They are float64 if scaled.
        """
        return self._added(xp, self._read(source))

    def apply(self, xp: Any, source: Any) -> Any:
        """Return the result ``(..., size)`` of a source ``(..., N)``, in its dtype."""
        return self._placed(xp, self.sums(xp, source), source.dtype)

    def apply_to_sum(self, xp: Any, source: Any, axis: int) -> Any:
        """Return the result of a source's sum over an axis; what nothing reads is not added up."""
        if self.source is None:
            return self.apply(xp, source.sum(axis=axis))
        terms = source[..., self.source].sum(axis=axis)
        return self._placed(xp, self._added(xp, terms), source.dtype)

    def _read(self, source: Any) -> Any:
        """Return what every entry reads ``(..., E)``."""
        if self.source is None:
            return source.take(self.origins, axis=-1)
        return source[..., self.source]

    def _added(self, xp: Any, terms: Any) -> Any:
        """Return the elements at ``places`` ``(..., P)``, of what every entry reads."""
        if self.scaled:
            terms = terms * self.factors
        if self.firsts.size < self.factors.size:
            terms = xp.add.reduceat(terms, self.firsts, axis=-1)
        return terms

    def _placed(self, xp: Any, sums: Any, dtype: Any) -> Any:
        """Return the result of the elements at ``places``; others are zero."""
        if self.places.size == self.size:
            return sums.astype(dtype, copy=False)
        result = xp.zeros((*sums.shape[:-1], self.size), dtype)
        if self.places.size:
            result[..., self.target] = sums
        return result

    def part(self, size: int, chosen: NDArray[np.bool_], renamed: Ints) -> tuple[Entries, Entries]:
        """Return the map that reads some elements only, and its adjoint.

        Args:
            size: how many they are.
            chosen: whether an element of the source is one of them.
            renamed: its place among them.
        """
        counts = np.diff(np.append(self.firsts, self.factors.size))
        mine = chosen[self.origins]
        places, origins = np.repeat(self.places, counts)[mine], renamed[self.origins[mine]]
        factors = self.factors[mine]
        return (
            Entries.sort(self.size, places, origins, factors),
            Entries.sort(size, origins, places, factors),
        )


@dataclass(frozen=True, eq=False)
class Half(Constants):
    """What of a map reads the operands that all samples share, or the samples' own.

    Attributes:
        operands: their positions among all.
        starts: where each of them begins in the vector of their elements.
        shapes: of each, for one sample.
        by_slot: from the vector to the slots.
        by_column: its adjoint.
    """

    operands: tuple[int, ...]
    starts: tuple[int, ...]
    shapes: tuple[Shape, ...]
    by_slot: Entries
    by_column: Entries

    arrays_read = ("by_slot", "by_column")

    @cached_property
    def scalars(self) -> bool:
        """Whether all operands are single numbers."""
        return all(shape == () for shape in self.shapes)

    def vector(self, xp: Any, arrays: Sequence[Any], dtype: Any) -> Any:
        """Return the elements ``(N,)`` of shared operands, one after the other."""
        if not self.operands:
            return xp.zeros((0,), dtype)
        mine = [arrays[k] for k in self.operands]
        if len(mine) == 1:
            return mine[0].reshape(-1)
        return flat_elements(xp, mine, self.scalars)

    def rows(self, xp: Any, arrays: Sequence[Any]) -> Any:
        """Return the elements ``(B, N)`` of batched operands."""
        mine = [arrays[k] for k in self.operands]
        mine = [x if x.ndim == 2 else x.reshape((len(x), -1)) for x in mine]
        return mine[0] if len(mine) == 1 else xp.concatenate(mine, axis=1)


@dataclass(frozen=True, eq=False)
class Layout(Constants):
    """The map of a table for operands of which some are batched.

    Attributes:
        shared: the half of what all samples share.
        own: that of the samples' own; None without a batch.
        offsets: ``(S,)``.
        is_shifted: whether any offset is not 0.
        is_identity: whether the angles are the operands' elements, one after the other.
        is_apart: whether each slot is of one half alone, and none has an offset.
    """

    shared: Half
    own: Half | None
    offsets: NDArray[np.float64]
    is_shifted: bool
    is_identity: bool
    is_apart: bool

    @property
    def arrays_read(self) -> Sequence[str]:
        """What the two ops need."""
        needed = (not self.is_identity, self.own is not None, self.is_shifted)
        return list(compress(("shared", "own", "offsets"), needed))

    @classmethod
    def of(
        cls,
        shapes: Sequence[Shape],
        batched: Flags,
        maps: tuple[Entries, Entries],
        offsets: NDArray[np.float64],
        *,
        is_identity: bool,
    ) -> Layout:
        """Put the operands one after the other.

        Args:
            shapes: of all operands, without batch axes.
            batched: whether each has one.
            maps: from the elements of all operands to the slots, and the adjoint.
            offsets: ``(S,)``.
            is_identity: see the class.
        """
        sizes = [prod(shape) for shape in shapes]
        shifted = bool(offsets.any())
        everything = tuple(range(len(shapes)))
        if not any(batched):
            *starts, _ = accumulate(sizes, initial=0)
            half = Half(everything, tuple(starts), tuple(shapes), *maps)
            return cls(half, None, offsets, shifted, is_identity, is_apart=True)
        halves = []
        for flag in (False, True):
            mine = [k for k in everything if batched[k] is flag]
            chosen = np.repeat(np.array(batched) == flag, sizes)
            *starts, size = accumulate([sizes[k] for k in mine], initial=0)
            parts = maps[0].part(size, chosen, np.cumsum(chosen) - 1)
            halves.append(
                Half(tuple(mine), tuple(starts), tuple([shapes[k] for k in mine]), *parts)
            )
        shared, own = halves
        places = [shared.by_slot.places, own.by_slot.places]
        counts = np.bincount(np.concatenate(places), minlength=len(offsets))
        apart = not shifted and bool((counts == 1).all())
        return cls(shared, own, offsets, shifted, is_identity=False, is_apart=apart)

    @cached_property
    def _asked(self) -> dict[Flags, Flags]:
        return {}

    def slots_of(self, needs: Flags) -> Flags:
        """Return which slots read an operand whose flag is True."""
        known = self._asked
        if needs not in known:
            found = np.zeros(len(self.offsets), bool)
            for half in (self.shared, *[self.own] * (self.own is not None)):
                assert half is not None
                sizes = [prod(shape) for shape in half.shapes]
                flags = np.repeat([needs[k] for k in half.operands], sizes)
                entries = half.by_slot
                counts = np.diff(np.append(entries.firsts, entries.factors.size))
                asked = flags[entries.origins].astype(bool)
                found[np.repeat(entries.places, counts)[asked]] = True
            known[needs] = tuple(found.tolist())
        return known[needs]
