"""Tables hold every phase: a row's index finds the parities that its phases ask for."""

from __future__ import annotations

import numpy as np
import pytest

from circuits.engines.numba_phase_tables import (
    MOST_CONDITIONS,
    MOST_COORDINATES,
    Member,
    PhaseTable,
    phase_tables,
    row_steps,
)


def parity(value: int) -> int:
    return value.bit_count() & 1


def random_members(seed: int, rows_log: int) -> list[Member]:
    rng = np.random.default_rng(seed)
    members = []
    for op in range(20):
        masks = [int(m) for m in rng.integers(0, 1 << rows_log, 1 + MOST_CONDITIONS)]
        count = int(rng.integers(0, MOST_CONDITIONS + 1))
        bits = [int(bit) for bit in rng.integers(0, 2, count)]
        members.append(Member(op, masks[0], tuple(zip(masks[1:], bits, strict=False))))
    return members


@pytest.mark.parametrize("rows_log", [1, 4, 9])
@pytest.mark.parametrize("seed", range(4))
def test_records_say_of_every_row_what_the_members_say(seed: int, rows_log: int) -> None:
    members = {member.op: member for member in random_members(seed, rows_log)}
    found = phase_tables(list(members.values()))
    assert sorted(record[1] for t in found for record in t.records) == list(members)
    for table in found:
        assert len(table.coordinates) <= MOST_COORDINATES
        for row in range(1 << rows_log):
            index = sum(parity(row & mask) << c for c, mask in enumerate(table.coordinates))
            for needed, op, sign, *tests in table.records:
                member = members[op]
                assert parity(index & sign) == parity(row & member.sign)
                holds = all(parity(row & mask) == bit for mask, bit in member.conditions)
                tested = zip(tests[0::2], tests[1::2], strict=True)
                assert all(parity(index & mask) == bit for mask, bit in tested) == holds
                assert max(sign, *tests[0::2]) < 1 << needed <= 1 << len(table.coordinates)


@pytest.mark.parametrize("rows_log", [1, 4, 9])
@pytest.mark.parametrize("seed", range(8))
def test_steps_visit_all_rows_and_keep_the_second_index(seed: int, rows_log: int) -> None:
    rng = np.random.default_rng(seed)
    found = [table.coordinates for table in phase_tables(random_members(seed, rows_log))]
    for tables in (found[:1], found[:2], [[int(rng.integers(1, 1 << rows_log))] * 2, []]):
        together, *steps = row_steps(tables, rows_log)
        assert len(steps) == 3 * (rows_log + 1)
        at, visited = [0, 0, 0], []
        for p in range(1 << rows_log):
            visited.append(tuple(at))
            ones = (p & ~(p + 1)).bit_count()
            at = [a ^ step for a, step in zip(at, steps[3 * ones : 3 * ones + 3], strict=True)]
        assert sorted(row for row, _, _ in visited) == list(range(1 << rows_log))
        for row, *indices in visited:
            for index, coordinates in zip(indices, [*tables, []], strict=False):
                assert index == sum(parity(row & mask) << c for c, mask in enumerate(coordinates))
        for first in range(0, 1 << rows_log, together):
            assert len({second for _, _, second in visited[first : first + together]}) == 1


def test_rows_with_the_same_first_index_do_not_follow_each_other() -> None:
    """Each would wait for the sum of the one before."""
    _, row, index, _, *_ = row_steps([[0b1000, 0b0100], [0b0010]], 4)
    assert (row, index) == (0b0100, 0b10)


def test_independent_parities_are_split_evenly() -> None:
    rng = np.random.default_rng(0)
    masks = [(1 << k) | int(rng.integers(1 << k)) for k in range(11)]
    found = phase_tables([Member(k, mask) for k, mask in enumerate(masks)])
    assert [len(table.coordinates) for table in found] == [6, 5]


def test_a_ring_of_edges_takes_two_tables() -> None:
    ring = [Member(k, 1 << k | 1 << (k + 1) % 11) for k in range(11)]
    assert len(phase_tables(ring)) <= 3


def test_tables_grow_by_what_is_independent_only() -> None:
    table = PhaseTable()
    assert table.add(Member(0, 0b011), 2)
    assert table.add(Member(1, 0b110), 2)
    assert table.add(Member(2, 0b101), 2)
    assert not table.add(Member(3, 0b001), 2)
    assert table.coordinates == [0b011, 0b110]
    assert [record[:3] for record in table.records] == [(1, 0, 0b01), (2, 1, 0b10), (2, 2, 0b11)]
