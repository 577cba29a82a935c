"""Blocks as the compiled drivers read them: instructions for one layout of the qubits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.engines import instructions as gates
from circuits.engines.base import Wanted
from circuits.engines.numba_columns import Columns
from circuits.engines.numba_instructions import WORD_SIGNS, Integers, Place, Writer
from circuits.engines.numba_phase_tables import (
    MOST_CONDITIONS,
    Member,
    PhaseTable,
    phase_tables,
    row_steps,
)
from circuits.engines.numba_word_pairs import pair_words
from circuits.plan.blocks import (
    Block,
    Constant,
    Controls,
    Cx,
    Exchange,
    Fused,
    Matrix,
    Phase,
    Source,
    Table,
    Turn,
    Word,
)
from circuits.plan.diagonals import gathered


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


def wanted_ops(schedule: Schedule, wanted: Wanted) -> tuple[Integers, int]:
    """Return instructions with the wanted environments only, and the first one that has any."""
    ops = schedule.ops.copy()
    live = [
        any(wanted.matrices if slot < 0 else wanted.wants_slot(slot) for slot in slots)
        for slots in schedule.slots
    ]
    ops[~np.array(live, bool), gates.LIVE] = -1
    return ops, live.index(True) if any(live) else len(ops)


class Scheduler(Writer):
    """Writes instructions for blocks, as places of wires change; with ``runs``, of phases too."""

    def __init__(
        self,
        fused: Fused,
        columns: Columns,
        places: Sequence[Place],
        lanes: int,
        *,
        runs: bool = False,
    ) -> None:
        super().__init__(fused, columns, places, lanes)
        self.runs = runs

    # -- places

    def swap_places(self, lane_wire: int, other: int) -> None:
        """Exchange the contents of a lane and of a row qubit or another lane."""
        self._exchange(Exchange((lane_wire, other), 1, 2))
        places = self.places
        places[lane_wire], places[other] = places[other], places[lane_wire]

    def _bring_to_rows(self, wires: Sequence[int], controls: Controls) -> None:
        """Exchange lanes among the wires with row qubits that are not."""
        kept = {*wires, *[w for w, _ in controls]}
        for wire in wires:
            if self.places[wire].signs:
                rows = [w for w, p in enumerate(self.places) if p.mask]
                free = [w for w in rows if w not in kept] or [w for w in rows if w not in wires]
                self.swap_places(wire, free[-1])

    def into_lanes(self, wires: Sequence[int]) -> None:
        """Bring wires, as many as lanes have qubits, to the lanes, in whatever order."""
        others = [w for w, p in enumerate(self.places) if p.signs and w not in wires]
        for wire in [w for w in wires if not self.places[w].signs]:
            self.swap_places(others.pop(), wire)

    def lanes_home(self, wires: Sequence[int], count: int) -> None:
        """Bring qubits 0, 1, ... to lanes 0, 1, ...; ``wires`` are those of all qubits.

        First to any lanes, then by Gauss-Jordan elimination of what flips them.
        """
        places, wanted = self.places, wires[:count]
        self.into_lanes(wanted)
        for lane, wire in enumerate(wanted):
            has = [w for w in wanted[lane:] if places[w].signs >> lane & 1]
            if has[0] != wire:
                self.swap_places(has[0], wire)
            for other in wanted:
                if other != wire and places[other].signs >> lane & 1:
                    self._moved_cx(Cx(wire, other))
                    self._cx(Cx(wire, other))

    # -- blocks

    def add_all(self, blocks: Iterable[Block]) -> None:
        """Write the instructions of blocks, where there are runs with phases put together."""
        start = len(self.ops)
        blocks = gathered(blocks) if self.runs else blocks
        for is_phase, some in groupby(blocks, lambda block: isinstance(block, Phase)):
            if is_phase and self.runs:
                self._run(list(some))
            else:
                for block in some:
                    self.add(block)
        if self.runs:
            pair_words(self.ops, self.items, start)

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
        if place.mask:
            rows.append((place.mask, 0))
            self._write(gates.TURN, rows, *counts, FLIP=place.flip, **fields)
            return
        signs = [m * s for m, s in zip(mask, self._lane_signs(place.signs), strict=True)]
        fields |= {"LANES": place.lanes, "SIGNS": self.vector(signs)}
        self._write(gates.LANE_TURN, rows, *counts, **fields)

    def _word(self, block: Word) -> None:
        rows, mask, base, value = self._conditions(block.controls)
        x, z = self._joined(block.x_mask), self._joined(block.z_mask)
        number = (block.x_mask & block.z_mask).bit_count() % 4
        odd = ((x.flip & z.mask).bit_count() + block.negative) % 2
        sign = WORD_SIGNS[number] * (1 - 2 * odd)
        signs = self._lane_signs(z.signs, x.lanes)
        signs = [sign * m * s for m, s in zip(mask, signs, strict=True)]
        if x.flip:
            # The rows of sign + where both rows of a pair differ in it.
            differ = (x.flip & z.mask).bit_count() % 2
            rows.append((z.mask if differ else x.flip & -x.flip, 0))
        first = len(self.items)
        self.items += self._source(block.source)
        self._write(
            gates.WORD,
            rows,
            3,
            int(not isinstance(block.source, Constant)),
            (block.source,),
            FLIP=x.flip,
            LANES=x.lanes,
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

    def _run(self, phases: Sequence[Any]) -> None:
        """Write phases as members of tables, two of which are one pass."""
        few = [p for p in phases if self._is_narrow(p)]
        rest = [p for p in phases if not self._is_narrow(p)]
        if len(rest) == 1:
            few, rest = list(phases), []
        for phase in few:
            self._phase(phase)
        start = len(self.ops)
        found = phase_tables([self._phase(phase, member=True) for phase in rest])
        sources = [phase.source for phase in rest]
        live = int(any(not isinstance(source, Constant) for source in sources))
        for first in range(0, len(found), 2):
            self._pass(found[first : first + 2], live, sources)
        assert len(self.ops) - start == len(rest) + (len(found) + 1) // 2

    def _is_narrow(self, phase: Phase) -> bool:
        """Return whether a phase acts on so few rows that it is better off by itself."""
        inner = [wire for wire, _ in phase.controls if not self.places[wire].signs]
        return len(inner) > MOST_CONDITIONS

    def _pass(self, pair: Sequence[PhaseTable], live: int, sources: Sequence[Source]) -> None:
        bounds = [len(self.items)]
        for table in pair:
            self.items += [number for record in table.records for number in record]
            bounds.append(len(self.items))
        ranks = [len(table.coordinates) for table in pair]
        if len(pair) == 1:
            ranks, bounds = [*ranks, 0], [*bounds, bounds[-1]]
        rows_log = len([p for p in self.places if p.mask])
        self.items += row_steps([table.coordinates for table in pair], rows_log)
        self.scratch = max(self.scratch, sum([3 << rank for rank in ranks]))
        self._write(
            gates.RUN,
            (),
            0,
            live,
            sources,
            ROWS=bounds[-1],
            COUNT=ranks[0],
            SIZE=ranks[1],
            FIRST=bounds[0],
            OUT=bounds[1],
            LAST=bounds[2],
        )

    def _phase(self, block: Phase, *, member: bool = False) -> Member:
        """Write a phase, or what a run reads of it."""
        rows, mask, base, value = self._conditions(block.controls)
        z = self._joined(block.z_mask)
        signs = [m * s for m, s in zip(mask, self._lane_signs(z.signs), strict=True)]
        first = len(self.items)
        kind, source, out = self._source(block.source, phase=True)
        self.items += (kind, source, out)
        self._write(
            gates.MEMBER if member else gates.PHASE,
            () if member else rows,
            3,
            int(kind != gates.CONSTANT),
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
        return Member(len(self.ops) - 1, z.mask, tuple(rows))

    def _table(self, block: Table) -> None:
        rows, mask, base, value = self._conditions(block.controls)
        places = [self.places[w] for w in block.wires]
        inner = [(k, p) for k, p in enumerate(places) if not p.signs]
        outer = [(k, p) for k, p in enumerate(places) if p.signs]
        first = len(self.items)
        for _, place in inner:
            self.items += (place.mask, place.base)
        last, size = len(self.items), 1 << len(inner)
        kind, source, out = self._source(block.source)
        self.items += (kind, source)
        for j in range(size):
            self.items.append(sum(((j >> i) & 1) << k for i, (k, _) in enumerate(inner)))
        for lane in range(self.lanes):
            bits = [((lane & p.signs).bit_count() % 2) << k for k, p in outer]
            self.items.append(sum(bits))
        self._write(
            gates.TABLE,
            rows,
            2 * size,
            2 * size * (kind != gates.CONSTANT),
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
        live = kind != gates.CONSTANT
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
        """Change flips and masks, in the rows or in the lanes; between these, move data."""
        control, target = self.places[block.control], self.places[block.target]
        if control.mask and target.mask:
            control = control._replace(flip=control.flip ^ target.flip)
            target = target._replace(mask=target.mask ^ control.mask)
        elif control.signs and target.signs:
            control = control._replace(lanes=control.lanes ^ target.lanes)
            target = target._replace(signs=target.signs ^ control.signs)
        else:
            self._moved_cx(block)
        self.places[block.control], self.places[block.target] = control, target

    def _moved_cx(self, block: Cx) -> None:
        self._exchange(Exchange((block.target,), 0, 1, ((block.control, 1),)))

    def _exchange(self, block: Exchange) -> None:
        rows, mask, base, value = self._conditions(block.controls)
        flip = lanes = 0
        masks = [list(mask), list(mask)]
        for k, wire in enumerate(block.wires):
            place, bits = self.places[wire], (block.first >> k & 1, block.second >> k & 1)
            if not place.signs:
                rows.append((place.mask, bits[0]))
                flip ^= place.flip if bits[0] != bits[1] else 0
                continue
            lanes ^= place.lanes if bits[0] != bits[1] else 0
            masks = [self._selected(m, place, bit) for m, bit in zip(masks, bits, strict=True)]
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
