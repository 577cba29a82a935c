"""Blocks as the CUDA kernels read them: the CPU's instructions, for rows of one amplitude."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from circuits.engines import instructions as gates
from circuits.engines.numba_columns import Columns
from circuits.engines.numba_schedule import Scheduler
from circuits.plan.blocks import Fused, Source, Table
from circuits.plan.linear import reduced


class DeviceScheduler(Scheduler):
    """Writes instructions without lanes.

    Tables and matrices are read where they stand among the numbers of the plan or the columns of
    the call. A table's instruction also says, from item FLIP on, which rows have all its targets at
    0, and for every state of the targets in the tile its flip and its part of the table's index.
    """

    def __init__(self, fused: Fused, columns: Columns) -> None:
        super().__init__(fused, columns, [], lanes=1)

    def _write(
        self,
        kind: int,
        rows: Iterable[tuple[int, int]],
        coefficients: int = 0,
        environments: int = 0,
        sources: Sequence[Source] = (),
        **fields: int,
    ) -> None:
        kept = 0 if kind in (gates.TABLE, gates.DENSE) else coefficients
        super()._write(kind, rows, kept, environments, sources, **fields)

    def _table(self, block: Table) -> None:
        super()._table(block)
        conditions = self._conditions(block.controls)[0]
        inner = [(k, self.places[w]) for k, w in enumerate(block.wires) if self.places[w].mask]
        constraints = reduced([*conditions, *[(place.mask, 0) for _, place in inner]])
        members = [(0, 0)]
        for k, place in inner:
            members += [(flip ^ place.flip, index | 1 << k) for flip, index in members]
        self.ops[-1][gates.FLIP] = len(self.items)
        self.items += [len(constraints), len(members)]
        self.items += [number for part in (*constraints, *members) for number in part]
