"""Instructions as they are written: places of wires, sources of numbers, rows of the program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from circuits.engines import instructions as gates
from circuits.engines.numba_columns import Columns, member_columns, member_results
from circuits.plan.blocks import Constant, Controls, Fused, Given, Made, Slot, Source
from circuits.plan.linear import reduced

Integers = NDArray[np.int64]
Conditions = tuple[list[tuple[int, int]], list[float], int, int]
WORD_SIGNS = (1.0, 1.0, -1.0, -1.0)
"""Of a word by its number of letters Y mod 4: what stands beside 1 or i in i**number."""


class Place(NamedTuple):
    """Where a wire is: in the rows or lanes, and what flips it there; or a bit of the tile's base.

    Its value is the parity of the bits of the row in ``mask``, or of the lane in ``signs``.
    """

    lanes: int = 0
    signs: int = 0
    flip: int = 0
    mask: int = 0
    base: int = 0


class Writer:
    """Instructions so far, and what they point into."""

    def __init__(self, fused: Fused, columns: Columns, places: Sequence[Place], lanes: int) -> None:
        self.fused, self.columns, self.lanes = fused, columns, lanes
        self.places = list(places)
        self.ops: list[list[int]] = []
        self.slots: list[tuple[int, ...]] = []
        self.items: list[int] = []
        self.numbers: list[float] = []
        self.known: dict[tuple[float, ...], int] = {}
        # The kernels take the sign of a parity from vectors 0 and 1.
        self.vectors: list[tuple[float, ...]] = [(1.0,) * lanes, (-1.0,) * lanes]
        self.coefficients = self.environments = 0
        self.scratch = 64

    def vector(self, values: Iterable[float]) -> int:
        """Return the position of a vector; one minus it follows."""
        key = tuple(values)
        if key not in self.known:
            self.known[key] = len(self.vectors)
            self.vectors += [key, tuple([1.0 - x for x in key])]
        return self.known[key]

    # -- places

    def _conditions(self, controls: Controls) -> Conditions:
        """Constraints of the rows, lanes, and mask and value of the base that controls ask for."""
        rows, mask, base, value = [], [1.0] * self.lanes, 0, 0
        for wire, bit in controls:
            place = self.places[wire]
            if place.signs:
                mask = self._selected(mask, place, bit)
            elif place.base:
                base, value = base | place.base, value | place.base * bit
            else:
                rows.append((place.mask, bit))
        return rows, mask, base, value

    def _selected(self, mask: Sequence[float], place: Place, bit: int) -> list[float]:
        """Return a mask by lane, without the lanes in which a wire does not hold a bit."""
        return [m * ((i & place.signs).bit_count() % 2 == bit) for i, m in enumerate(mask)]

    def _joined(self, mask: int) -> Place:
        """Flips and masks of all wires in a bit mask together."""
        lanes = signs = flip = rows = base = 0
        while mask:
            place = self.places[(mask & -mask).bit_length() - 1]
            mask &= mask - 1
            lanes, signs = lanes ^ place.lanes, signs ^ place.signs
            flip, rows, base = flip ^ place.flip, rows ^ place.mask, base | place.base
        return Place(lanes, signs, flip, rows, base)

    def _lane_signs(self, signs: int, shift: int = 0) -> list[float]:
        """Sign of every lane: parity of the bits that it has in ``signs``, once flipped."""
        return [1.0 - 2.0 * (((i ^ shift) & signs).bit_count() % 2) for i in range(self.lanes)]

    # -- sources

    def _source(self, source: Source, *, phase: bool = False) -> tuple[int, int, int]:
        """Kind, position and first result of what a source names."""
        if isinstance(source, Slot):
            return source.axis, source.column, 0
        if isinstance(source, Constant):
            self.numbers += source.values
            return gates.CONSTANT, len(self.numbers) - len(source.values), 0
        if isinstance(source, Given):
            at = self.columns.given[source.source]
            return gates.COLUMN, at, self.columns.given_outs[source.source]
        function = self.fused.functions[source.group]
        size, diagonal = function.size, function.diagonal
        at = self.columns.starts[source.group] + source.member * member_columns(size, diagonal)
        out = self.columns.outs[source.group] + source.member * member_results(size, diagonal)
        if phase:
            return gates.COLUMN, at + (4 if size == 2 else 0), out + 3
        return gates.COLUMN, at, out

    def _slots(self, source: Source) -> tuple[int, ...]:
        if isinstance(source, Slot):
            return (source.column,)
        if isinstance(source, Made):
            return self.fused.functions[source.group].slots[source.member]
        return (-1 - source.source,) if isinstance(source, Given) else ()

    # -- instructions

    def _write(
        self,
        kind: int,
        rows: Iterable[tuple[int, int]],
        coefficients: int = 0,
        environments: int = 0,
        sources: Sequence[Source] = (),
        **fields: int,
    ) -> None:
        op = [0] * gates.COLUMNS
        op[gates.KIND] = kind
        constraints = reduced(rows)
        op[gates.ROWS], op[gates.COUNT] = len(self.items), len(constraints)
        for constraint in constraints:
            self.items += constraint
        op[gates.ENTRY] = self.coefficients
        op[gates.LIVE] = self.environments if environments else -1
        self.coefficients += coefficients
        self.environments += environments
        for name, value in fields.items():
            op[_FIELDS[name]] = value
        self.ops.append(op)
        self.slots.append(tuple([s for source in sources for s in self._slots(source)]))


_FIELDS = {name: value for name, value in vars(gates).items() if name.isupper()}
