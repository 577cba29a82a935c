"""Blocks as the compiled drivers read them: instructions for one layout of the qubits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.engines import numba_kernels_gates as gates
from circuits.engines import numba_kernels_tables as tables
from circuits.engines.numba_columns import Columns, member_columns, member_results
from circuits.plan.blocks import (
    Block,
    Constant,
    Controls,
    Cx,
    Exchange,
    Fused,
    Given,
    Made,
    Matrix,
    Phase,
    Slot,
    Source,
    Table,
    Turn,
    Word,
)
from circuits.plan.linear import reduced

Integers = NDArray[np.int64]
Conditions = tuple[list[tuple[int, int]], list[float], int, int]
WORD_SIGNS = (1.0, 1.0, -1.0, -1.0)
"""Of a word by its number of letters Y mod 4: what stands beside 1 or i in i**number."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where a wire is: a lane, a row qubit with flip and mask, or a bit of the tile's base."""

    lane: int = -1
    flip: int = 0
    mask: int = 0
    base: int = 0


@dataclass(frozen=True, eq=False)
class Schedule:
    """A program for the drivers.

    Attributes:
        ops: ``(I, COLUMNS)``, the instructions.
        items: what they point into.
        fixed: vectors, ``(F * V,)``.
        numbers: constants.
        places: of every qubit after the last instruction.
        sizes: vectors of coefficients, of environments, and of scratch.
        slots: slots and sources (as -1 - source) that each instruction has environments for.
    """

    ops: Integers
    items: Integers
    fixed: NDArray[np.floating]
    numbers: NDArray[np.floating]
    places: tuple[Place, ...]
    sizes: tuple[int, int, int]
    slots: tuple[tuple[int, ...], ...]


class Scheduler:
    """Writes instructions for blocks, as places of wires change."""

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
            if place.lane >= 0:
                mask = [m * ((i >> place.lane & 1) == bit) for i, m in enumerate(mask)]
            elif place.base:
                base, value = base | place.base, value | place.base * bit
            else:
                rows.append((place.mask, bit))
        return rows, mask, base, value

    def _joined(self, mask: int) -> Place:
        """Flips, masks and lanes of all wires in a bit mask together (``lane`` is a bit mask)."""
        lane = flip = rows = base = 0
        while mask:
            place = self.places[(mask & -mask).bit_length() - 1]
            mask &= mask - 1
            lane |= 1 << place.lane if place.lane >= 0 else 0
            flip, rows, base = flip ^ place.flip, rows ^ place.mask, base | place.base
        return Place(lane, flip, rows, base)

    def _lane_signs(self, lanes: int, shift: int = 0) -> list[float]:
        """Sign of every lane: parity of the bits that it has in ``lanes``, once flipped."""
        return [1.0 - 2.0 * (((i ^ shift) & lanes).bit_count() % 2) for i in range(self.lanes)]

    def swap_places(self, lane_wire: int, other: int) -> None:
        """Exchange the contents of a lane and of a row qubit or another lane."""
        self._exchange(Exchange((lane_wire, other), 1, 2))
        places = self.places
        places[lane_wire], places[other] = places[other], places[lane_wire]

    def _bring_to_rows(self, wires: Sequence[int], controls: Controls) -> None:
        """Exchange lanes among the wires with row qubits that are not."""
        kept = {*wires, *[w for w, _ in controls]}
        for wire in wires:
            if self.places[wire].lane >= 0:
                rows = [w for w, p in enumerate(self.places) if p.mask]
                free = [w for w in rows if w not in kept] or [w for w in rows if w not in wires]
                self.swap_places(wire, free[-1])

    def lanes_home(self, wires: Sequence[int], count: int) -> None:
        """Bring qubits 0, 1, ... to lanes 0, 1, ...; ``wires`` are those of all qubits."""
        for lane in range(count):
            if self.places[wires[lane]].lane != lane:
                there = next(w for w, p in enumerate(self.places) if p.lane == lane)
                self.swap_places(there, wires[lane])

    # -- sources

    def _source(self, source: Source, *, phase: bool = False) -> tuple[int, int, int]:
        """Kind, position and first result of what a source names."""
        if isinstance(source, Slot):
            return source.axis, source.column, 0
        if isinstance(source, Constant):
            self.numbers += source.values
            return tables.CONSTANT, len(self.numbers) - len(source.values), 0
        if isinstance(source, Given):
            at = self.columns.given[source.source]
            return tables.COLUMN, at, self.columns.given_outs[source.source]
        function = self.fused.functions[source.group]
        size, diagonal = function.size, function.diagonal
        at = self.columns.starts[source.group] + source.member * member_columns(size, diagonal)
        out = self.columns.outs[source.group] + source.member * member_results(size, diagonal)
        if phase:
            return tables.COLUMN, at + (4 if size == 2 else 0), out + 3
        return tables.COLUMN, at, out

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

    def add(self, block: Block) -> None:
        """Write the instructions of a block."""
        if isinstance(block, Turn):
            self._turn(block)
        elif isinstance(block, Cx):
            self._cx(block)
        elif isinstance(block, Word):
            self._word(block)
        elif isinstance(block, Phase):
            self._phase(block)
        elif isinstance(block, Table):
            self._table(block)
        elif isinstance(block, Matrix):
            self._matrix(block)
        else:
            self._exchange(block)

    def _turn(self, block: Turn) -> None:
        rows, mask, base, value = self._conditions(block.controls)
        place, first = self.places[block.wire], len(self.items)
        self.items += [number for factor in block.factors for number in self._source(factor)]
        live = any(not isinstance(f, Constant) for f in block.factors)
        fields: dict[str, Any] = {
            "FIRST": first,
            "LAST": len(self.items),
            "MASK": self.vector(mask),
        }
        fields |= {"BASE_MASK": base, "BASE_VALUE": value}
        counts = (4 + 4 * len(block.factors), 3 * live, block.factors)
        if place.lane < 0:
            rows.append((place.mask, 0))
            self._write(gates.TURN, rows, *counts, FLIP=place.flip, **fields)
            return
        signs = [m * s for m, s in zip(mask, self._lane_signs(1 << place.lane), strict=True)]
        fields |= {"LANES": 1 << place.lane, "SIGNS": self.vector(signs)}
        self._write(gates.LANE_TURN, rows, *counts, **fields)

    def _word(self, block: Word) -> None:
        rows, mask, base, value = self._conditions(block.controls)
        x, z = self._joined(block.x_mask), self._joined(block.z_mask)
        number = (block.x_mask & block.z_mask).bit_count() % 4
        odd = ((x.flip & z.mask).bit_count() + block.negative) % 2
        sign = WORD_SIGNS[number] * (1 - 2 * odd)
        signs = self._lane_signs(z.lane, x.lane)
        signs = [sign * m * s for m, s in zip(mask, signs, strict=True)]
        if x.flip:
            rows.append((x.flip & -x.flip, 0))
        first = len(self.items)
        self.items += self._source(block.source)
        self._write(
            gates.WORD,
            rows,
            3,
            int(not isinstance(block.source, Constant)),
            (block.source,),
            FLIP=x.flip,
            LANES=x.lane,
            SIGN=z.mask,
            ODD=number & 1,
            BASE_MASK=base,
            BASE_VALUE=value,
            BASE_SIGN=z.base,
            FIRST=first,
            LAST=len(self.items),
            MASK=self.vector(mask),
            SIGNS=self.vector(signs),
        )

    def _phase(self, block: Phase) -> None:
        rows, mask, base, value = self._conditions(block.controls)
        z = self._joined(block.z_mask)
        signs = [m * s for m, s in zip(mask, self._lane_signs(z.lane), strict=True)]
        first = len(self.items)
        kind, source, out = self._source(block.source, phase=True)
        self.items += (kind, source, out)
        self._write(
            gates.PHASE,
            rows,
            3,
            int(kind != tables.CONSTANT),
            (block.source,),
            SIGN=z.mask,
            BASE_MASK=base,
            BASE_VALUE=value,
            BASE_SIGN=z.base,
            FIRST=first,
            LAST=len(self.items),
            MASK=self.vector(mask),
            SIGNS=self.vector(signs),
            OUT=out,
        )

    def _table(self, block: Table) -> None:
        rows, mask, base, value = self._conditions(block.controls)
        places = [self.places[w] for w in block.wires]
        inner = [(k, p) for k, p in enumerate(places) if p.lane < 0]
        outer = [(k, p) for k, p in enumerate(places) if p.lane >= 0]
        first = len(self.items)
        for _, place in inner:
            self.items += (place.mask, place.base)
        last, size = len(self.items), 1 << len(inner)
        kind, source, out = self._source(block.source)
        self.items += (kind, source)
        for j in range(size):
            self.items.append(sum(((j >> i) & 1) << k for i, (k, _) in enumerate(inner)))
        for lane in range(self.lanes):
            self.items.append(sum(((lane >> p.lane) & 1) << k for k, p in outer))
        self._write(
            gates.TABLE,
            rows,
            2 * size,
            2 * size * (kind != tables.CONSTANT),
            (block.source,),
            BASE_MASK=base,
            BASE_VALUE=value,
            FIRST=first,
            LAST=last,
            MASK=self.vector(mask),
            SIZE=size,
            OUT=out,
        )

    def _matrix(self, block: Matrix) -> None:
        self._bring_to_rows(block.wires, block.controls)
        rows, mask, base, value = self._conditions(block.controls)
        first, size = len(self.items), 1 << len(block.wires)
        members = [0]
        for wire in block.wires:
            rows.append((self.places[wire].mask, 0))
            members += [m ^ self.places[wire].flip for m in members]
        self.items += members
        last = len(self.items)
        kind, source, out = self._source(block.source)
        self.items += (kind, source)
        self.scratch = max(self.scratch, 2 * size)
        live = kind != tables.CONSTANT
        self._write(
            gates.DENSE,
            rows,
            2 * size * size,
            2 * size * size * live,
            (block.source,),
            BASE_MASK=base,
            BASE_VALUE=value,
            FIRST=first,
            LAST=last,
            MASK=self.vector(mask),
            SIZE=size,
            OUT=out,
        )

    def _cx(self, block: Cx) -> None:
        control, target = self.places[block.control], self.places[block.target]
        if control.mask and target.mask:
            self.places[block.control] = Place(-1, control.flip ^ target.flip, control.mask)
            self.places[block.target] = Place(-1, target.flip, target.mask ^ control.mask)
        else:
            self._exchange(Exchange((block.target,), 0, 1, ((block.control, 1),)))

    def _exchange(self, block: Exchange) -> None:
        rows, mask, base, value = self._conditions(block.controls)
        flip = lanes = 0
        masks = [list(mask), list(mask)]
        for k, wire in enumerate(block.wires):
            place, bits = self.places[wire], (block.first >> k & 1, block.second >> k & 1)
            if place.lane < 0:
                rows.append((place.mask, bits[0]))
                flip ^= place.flip if bits[0] != bits[1] else 0
                continue
            lanes |= (bits[0] ^ bits[1]) << place.lane
            for kept, bit in zip(masks, bits, strict=True):
                kept[:] = [m * ((i >> place.lane & 1) == bit) for i, m in enumerate(kept)]
        if not flip:
            masks[0] = masks[1] = [max(m, n) for m, n in zip(*masks, strict=True)]
        self._write(
            gates.EXCHANGE,
            rows,
            FLIP=flip,
            LANES=lanes,
            BASE_MASK=base,
            BASE_VALUE=value,
            MASK=self.vector(masks[0]),
            SIGNS=self.vector(masks[1]),
            SIZE=int(all(masks[0]) and all(masks[1])),
        )

    def finish(self, dtype: np.dtype[np.floating], wires: Sequence[int]) -> Schedule:
        """Return the schedule, with the places of all qubits."""
        return Schedule(
            np.array(self.ops, np.int64).reshape(-1, gates.COLUMNS),
            np.array([*self.items, 0], np.int64),
            np.array(self.vectors, dtype).ravel(),
            np.array([*self.numbers, 0.0], dtype),
            tuple([self.places[w] for w in wires]),
            (self.coefficients, self.environments, self.scratch),
            tuple(self.slots),
        )


_FIELDS = {name: value for name, value in vars(gates).items() if name.isupper()}
