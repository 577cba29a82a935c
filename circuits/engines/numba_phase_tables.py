"""Runs of phases as tables of few entries: which phases share a table, and how rows index it.

Phases depend on parities of the row. A table has one entry for all values of some independent
parities, its coordinates; it holds the product of all phases whose parities are sums of these. Two
tables make a pass over the rows: for n phases of n independent parities 2 x 2**(n / 2) entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from circuits.plan.linear import reduced

MOST_COORDINATES = 6
"""Of a table: 64 entries, with their sums 12 KiB for vectors of 64 bytes."""

MOST_CONDITIONS = 2
"""Of a phase in a run; one with more acts on few rows, by itself."""


@dataclass(frozen=True)
class Member:
    """A phase of a run.

    Attributes:
        op: its instruction.
        sign: row mask whose parity is its sign.
        conditions: row masks and the parities that they must have.
    """

    op: int
    sign: int
    conditions: tuple[tuple[int, int], ...] = ()

    @property
    def masks(self) -> tuple[int, ...]:
        """All row masks that it depends on."""
        return (self.sign, *[mask for mask, _ in self.conditions])


@dataclass(eq=False)
class PhaseTable:
    """A table that grows.

    Attributes:
        coordinates: row masks of the parities that its index spells, least significant first.
        records: of the phases in it: coordinates needed, instruction, sign, and two conditions
            (mask and value), as masks over the coordinates.
    """

    coordinates: list[int] = field(default_factory=list)
    records: list[tuple[int, ...]] = field(default_factory=list)
    _echelon: list[tuple[int, int, int]] = field(default_factory=list)

    def add(self, member: Member, limit: int) -> bool:
        """Add a phase, unless that takes more than ``limit`` coordinates."""
        echelon, coordinates = list(self._echelon), list(self.coordinates)
        spelled = [_spell(mask, echelon, coordinates) for mask in member.masks]
        if len(coordinates) > max(limit, len(self.coordinates)):
            return False
        self._echelon, self.coordinates = echelon, coordinates
        needed = max(mask.bit_length() for mask in spelled)
        tests = [
            n for m, (_, bit) in zip(spelled[1:], member.conditions, strict=True) for n in (m, bit)
        ]
        tests += [0] * (2 * MOST_CONDITIONS - len(tests))
        self.records.append((needed, member.op, spelled[0], *tests))
        return True


def row_steps(tables: Sequence[Sequence[int]], rows_log: int) -> list[int]:
    """Return how to visit all rows, those with the same index of the second table together.

    First how many follow each other. Then by how the row and both indices change from one to the
    next, by the ones that its number ends in.

    Args:
        tables: coordinates of one table or two.
        rows_log: log2 of the rows.
    """
    first, second = (*tables, ())[:2]
    pivots = {pivot: mask for pivot, mask, _ in reduced([(mask, 0) for mask in second])}
    basis = []
    for bit in [1 << k for k in range(rows_log)]:
        if bit not in pivots:
            basis.append(bit | sum([pivot for pivot, mask in pivots.items() if mask & bit]))
    # What is added up by the first index waits for the row before, if that has the same.
    basis.sort(key=lambda row: _index(row, first) == 0)
    steps, row = [1 << len(basis)], 0
    for vector in [*basis, *pivots]:
        row ^= vector
        steps += [row, _index(row, first), _index(row, second)]
    return [*steps, 0, 0, 0]


def _index(row: int, coordinates: Sequence[int]) -> int:
    """Return the parities of a row as an index."""
    return sum([((row & mask).bit_count() & 1) << c for c, mask in enumerate(coordinates)])


def _spell(mask: int, echelon: list[tuple[int, int, int]], coordinates: list[int]) -> int:
    """Return a mask as a sum of coordinates, to which what is missing is added."""
    rest, sum_of = mask, 0
    for pivot, vector, combination in echelon:
        if rest & pivot:
            rest, sum_of = rest ^ vector, sum_of ^ combination
    if rest:
        new = 1 << len(coordinates)
        echelon.append((rest & -rest, rest, sum_of ^ new))
        coordinates.append(mask)
        return new
    return sum_of


def phase_tables(members: Sequence[Member]) -> list[PhaseTable]:
    """Return tables that hold all members, few and of about equal size.

    >>> [len(t.coordinates) for t in phase_tables([Member(k, 1 << k) for k in range(9)])]
    [5, 4]
    """
    rank = _rank(mask for member in members for mask in member.masks)
    limit = rank if rank <= MOST_COORDINATES else min(MOST_COORDINATES, rank // 2 + 1)
    tables: list[PhaseTable] = []
    for member in sorted(members, key=lambda m: max(m.masks)):
        if not any(table.add(member, limit) for table in tables):
            tables.append(PhaseTable())
            tables[-1].add(member, max(limit, len(member.masks)))
    for table in tables:
        table.records.sort(key=lambda record: record[0])
    return tables


def _rank(masks: Iterable[int]) -> int:
    echelon: list[tuple[int, int, int]] = []
    coordinates: list[int] = []
    for mask in masks:
        _spell(mask, echelon, coordinates)
    return len(coordinates)
