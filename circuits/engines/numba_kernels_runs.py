"""Compiled kernels: runs of phases in one pass, forward and reverse.

A run has one table of phases or two (see numba_phase_tables.py): a row is multiplied by an entry of
each. Its instruction has, besides what all have: COUNT and SIZE: coordinates of the tables; FIRST,
OUT, LAST: where in ``items`` the records of the first and of the second begin, and where they end;
ROWS: by how both indices change from row to row.

Phases commute, and w = Im(conj(lambda) psi) is the same before and after them. So the reverse pass
sums w by entry, and every phase's environment is a sum of these sums with signs.
"""

from __future__ import annotations

from circuits.engines.instructions import (
    BASE_MASK,
    BASE_SIGN,
    BASE_VALUE,
    COUNT,
    ENTRY,
    FIRST,
    LAST,
    LIVE,
    OUT,
    ROWS,
    SIGNS,
    SIZE,
)
from circuits.engines.numba_kernels_gates import Array, accumulate
from circuits.engines.numba_simd import (
    compiled,
    fma,
    fms,
    popcount,
    vadd,
    vfill,
    vlen,
    vload,
    vmul,
    vsplat,
    vstore,
    vzero,
)

RANK, MEMBER_OP, MEMBER_SIGN, TEST, TEST_VALUE, SECOND, SECOND_VALUE, RECORD = range(8)
"""Numbers of a record: coordinates that exist when it is multiplied in, its instruction, and over
the coordinates the mask of its sign, and two masks and the parities that they must have."""


@compiled
def _selects(items: Array, record: int, entry: int) -> int:
    """Whether an entry satisfies both conditions of a record."""
    first = popcount(entry & items[record + TEST]) & 1
    second = popcount(entry & items[record + SECOND]) & 1
    return (first ^ items[record + TEST_VALUE]) | (second ^ items[record + SECOND_VALUE]) == 0


@compiled
def _fill_table(
    T: Array, ops: Array, items: Array, first: int, last: int, C: Array, sign: Array, base: int
) -> None:
    """Make the entries: at each new coordinate they double, then get the factors of its phases."""
    V, rank, s = vlen(T), first - first, vsplat(sign)
    vstore(T, rank, vfill(T, 1.0))
    vstore(T, V, vzero(T))
    for record in range(first, last, RECORD):
        i, mask = items[record + MEMBER_OP], items[record + MEMBER_SIGN]
        while rank < items[record + RANK]:
            for o in range(0, (2 * V) << rank, V):
                vstore(T, ((2 * V) << rank) + o, vload(T, o))
            rank += 1
        if base & ops[i, BASE_MASK] != ops[i, BASE_VALUE]:
            continue
        start, entry = popcount(base & ops[i, BASE_SIGN]) & 1, ops[i, ENTRY] * V
        cos, plus = vload(C, entry), vmul(s, vload(C, entry + V))
        minus = vmul(s, vload(C, entry + 2 * V))
        for y in range(1 << rank):
            if _selects(items, record, y):
                sin = minus if (popcount(y & mask) & 1) ^ start else plus
                o = 2 * V * y
                re, im = vload(T, o), vload(T, o + V)
                vstore(T, o, fms(sin, im, vmul(cos, re)))
                vstore(T, o + V, fma(sin, re, vmul(cos, im)))


@compiled
def _add_environments(
    W: Array,
    rank: int,
    ops: Array,
    items: Array,
    first: int,
    last: int,
    fixed: Array,
    E: Array,
    base: int,
) -> None:
    """Give every phase its sum; entries are halved again where a coordinate has no more phases."""
    V = vlen(W)
    for record in range(last - RECORD, first - RECORD, -RECORD):
        i, mask = items[record + MEMBER_OP], items[record + MEMBER_SIGN]
        while rank > items[record + RANK]:
            rank -= 1
            for o in range(0, V << rank, V):
                vstore(W, o, vadd(vload(W, o), vload(W, (V << rank) + o)))
        if ops[i, LIVE] < 0 or base & ops[i, BASE_MASK] != ops[i, BASE_VALUE]:
            continue
        start, total = popcount(base & ops[i, BASE_SIGN]) & 1, vzero(W)
        for y in range(1 << rank):
            if _selects(items, record, y):
                parity = (popcount(y & mask) & 1) ^ start
                total = fma(vload(fixed, parity * V), vload(W, y * V), total)
        accumulate(E, ops[i, LIVE] * V, vmul(total, vload(fixed, ops[i, SIGNS] * V)))


@compiled
def _entry(T: Array, U: Array, two: int, i: int, j: int) -> Array:
    """Phase of a row: an entry of one table, or of two."""
    V = vlen(T)
    re, im = vload(T, i), vload(T, i + V)
    if two:
        x, y = vload(U, j), vload(U, j + V)
        return fms(im, y, vmul(re, x)), fma(im, x, vmul(re, y))
    return re, im


@compiled
def _step(row: int, items: Array, at: int) -> int:
    """Where both steps from a row to the next one stand, by the ones that its number ends in."""
    return at + 2 * popcount(row & ~(row + 1))


@compiled
def run(
    b: Array, k: int, ops: Array, n: int, items: Array, C: Array, T: Array, sign: Array, base: int
) -> None:
    """Multiply by the phases of a run, or with sign = -1 undo them; T is scratch."""
    V, at, two = vlen(b), ops[n, ROWS], ops[n, SIZE]
    U = T[(2 * V) << ops[n, COUNT] :]
    _fill_table(T, ops, items, ops[n, FIRST], ops[n, OUT], C, sign, base)
    _fill_table(U, ops, items, ops[n, OUT], ops[n, LAST], C, sign, base)
    i = j = k - k
    for row in range(1 << k):
        o = 2 * V * row
        re, im = _entry(T, U, two, 2 * V * i, 2 * V * j)
        x, y = vload(b, o), vload(b, o + V)
        vstore(b, o, fms(im, y, vmul(re, x)))
        vstore(b, o + V, fma(im, x, vmul(re, y)))
        step = _step(row, items, at)
        i, j = i ^ items[step], j ^ items[step + 1]


@compiled
def run_undone(
    b: Array,
    c: Array,
    k: int,
    ops: Array,
    n: int,
    items: Array,
    fixed: Array,
    C: Array,
    E: Array,
    T: Array,
    base: int,
) -> None:
    """Undo a run on psi and lambda, with the environments of its phases."""
    V, at, two = vlen(b), ops[n, ROWS], ops[n, SIZE]
    sizes = 1 << ops[n, COUNT], 1 << two
    U = T[2 * V * sizes[0] :]
    W = U[2 * V * sizes[1] :]
    Z = W[V * sizes[0] :]
    sign = b.dtype.type(-1)
    _fill_table(T, ops, items, ops[n, FIRST], ops[n, OUT], C, sign, base)
    _fill_table(U, ops, items, ops[n, OUT], ops[n, LAST], C, sign, base)
    for o in range(0, V * (sizes[0] + sizes[1]), V):
        vstore(W, o, vzero(b))
    i = j = k - k
    for row in range(1 << k):
        o = 2 * V * row
        re, im = _entry(T, U, two, 2 * V * i, 2 * V * j)
        x, y, r, s = vload(b, o), vload(b, o + V), vload(c, o), vload(c, o + V)
        w = fms(s, x, vmul(r, y))
        accumulate(W, V * i, w)
        if two:
            accumulate(Z, V * j, w)
        vstore(b, o, fms(im, y, vmul(re, x)))
        vstore(b, o + V, fma(im, x, vmul(re, y)))
        vstore(c, o, fms(im, s, vmul(re, r)))
        vstore(c, o + V, fma(im, r, vmul(re, s)))
        step = _step(row, items, at)
        i, j = i ^ items[step], j ^ items[step + 1]
    _add_environments(W, ops[n, COUNT], ops, items, ops[n, FIRST], ops[n, OUT], fixed, E, base)
    _add_environments(Z, two, ops, items, ops[n, OUT], ops[n, LAST], fixed, E, base)
