"""Compiled kernels: runs of phases in one pass, forward and reverse.

A run has one table of phases or two (see numba_phase_tables.py): a row is multiplied by an entry of
each. Its instruction has, besides what all have: COUNT and SIZE: coordinates of the tables; FIRST,
OUT, LAST: where in ``items`` the records of the first and of the second begin, and where they end;
ROWS: rows with the same entry of the second, that follow each other, and by how the row and both
indices change from one to the next.

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
    vsub,
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
def _is_coordinate(items: Array, record: int, mask: int) -> int:
    """Whether all that a record asks for is the coordinate that it is the first to need."""
    tests = items[record + TEST] | items[record + SECOND]
    tests |= items[record + TEST_VALUE] | items[record + SECOND_VALUE]
    return (tests == 0) & (mask == (1 << items[record + RANK]) >> 1) & (mask != 0)


@compiled
def _multiply(T: Array, o: int, re: Array, im: Array, cos: Array, sin: Array) -> None:
    """Write an entry, times a phase."""
    vstore(T, o, fms(sin, im, vmul(cos, re)))
    vstore(T, o + vlen(T), fma(sin, re, vmul(cos, im)))


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
        applies = base & ops[i, BASE_MASK] == ops[i, BASE_VALUE]
        start, entry = popcount(base & ops[i, BASE_SIGN]) & 1, ops[i, ENTRY] * V
        cos, plus = vload(C, entry), vmul(s, vload(C, entry + V))
        minus = vmul(s, vload(C, entry + 2 * V))
        if start:
            plus, minus = minus, plus
        new = applies and rank < items[record + RANK] and _is_coordinate(items, record, mask)
        while rank < items[record + RANK] - new:
            for o in range(0, (2 * V) << rank, V):
                vstore(T, ((2 * V) << rank) + o, vload(T, o))
            rank += 1
        if new:
            for o in range(0, (2 * V) << rank, 2 * V):
                re, im = vload(T, o), vload(T, o + V)
                _multiply(T, o, re, im, cos, plus)
                _multiply(T, ((2 * V) << rank) + o, re, im, cos, minus)
            rank += 1
        elif applies:
            for y in range(1 << rank):
                if _selects(items, record, y):
                    o, sin = 2 * V * y, minus if popcount(y & mask) & 1 else plus
                    _multiply(T, o, vload(T, o), vload(T, o + V), cos, sin)


@compiled
def _halve(W: Array, rank: int) -> int:
    """Add up the entries that differ in the last coordinate; return how many are left."""
    V, half = vlen(W), vlen(W) << (rank - 1)
    for o in range(0, half, V):
        vstore(W, o, vadd(vload(W, o), vload(W, half + o)))
    return rank - 1


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
            rank = _halve(W, rank)
        if ops[i, LIVE] < 0 or base & ops[i, BASE_MASK] != ops[i, BASE_VALUE]:
            continue
        start, total = popcount(base & ops[i, BASE_SIGN]) & 1, vzero(W)
        if _is_coordinate(items, record, mask):
            for o in range(0, V * mask, V):
                total = vadd(total, vsub(vload(W, o), vload(W, V * mask + o)))
            total = vmul(vload(fixed, start * V), total)
        else:
            for y in range(1 << rank):
                if _selects(items, record, y):
                    parity = (popcount(y & mask) & 1) ^ start
                    total = fma(vload(fixed, parity * V), vload(W, y * V), total)
        accumulate(E, ops[i, LIVE] * V, vmul(total, vload(fixed, ops[i, SIGNS] * V)))


@compiled
def _entry(T: Array, i: int, u: Array) -> Array:
    """Phase of a row: the product of an entry of the first table and of one of the second."""
    re, im = vload(T, i), vload(T, i + vlen(T))
    return fms(im, u[1], vmul(re, u[0])), fma(im, u[0], vmul(re, u[1]))


@compiled
def _step(p: int, items: Array, at: int) -> int:
    """Where the steps from row number p to the next stand, by the ones that p ends in."""
    return at + 1 + 3 * popcount(p & ~(p + 1))


@compiled
def run(
    b: Array, k: int, ops: Array, n: int, items: Array, C: Array, T: Array, sign: Array, base: int
) -> None:
    """Multiply by the phases of a run, or with sign = -1 undo them; T is scratch."""
    V, at = vlen(b), ops[n, ROWS]
    U = T[(2 * V) << ops[n, COUNT] :]
    _fill_table(T, ops, items, ops[n, FIRST], ops[n, OUT], C, sign, base)
    _fill_table(U, ops, items, ops[n, OUT], ops[n, LAST], C, sign, base)
    row = i = j = k - k
    for first in range(0, 1 << k, items[at]):
        u = vload(U, 2 * V * j), vload(U, 2 * V * j + V)
        for p in range(first, first + items[at]):
            o = 2 * V * row
            re, im = _entry(T, 2 * V * i, u)
            x, y = vload(b, o), vload(b, o + V)
            vstore(b, o, fms(im, y, vmul(re, x)))
            vstore(b, o + V, fma(im, x, vmul(re, y)))
            step = _step(p, items, at)
            row, i = row ^ items[step], i ^ items[step + 1]
        j ^= items[_step(first + items[at] - 1, items, at) + 2]


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
    row = i = j = k - k
    for first in range(0, 1 << k, items[at]):
        u, total = (vload(U, 2 * V * j), vload(U, 2 * V * j + V)), vzero(b)
        for p in range(first, first + items[at]):
            o = 2 * V * row
            re, im = _entry(T, 2 * V * i, u)
            x, y, r, s = vload(b, o), vload(b, o + V), vload(c, o), vload(c, o + V)
            w = fms(s, x, vmul(r, y))
            accumulate(W, V * i, w)
            total = vadd(total, w)
            vstore(b, o, fms(im, y, vmul(re, x)))
            vstore(b, o + V, fma(im, x, vmul(re, y)))
            vstore(c, o, fms(im, s, vmul(re, r)))
            vstore(c, o + V, fma(im, r, vmul(re, s)))
            step = _step(p, items, at)
            row, i = row ^ items[step], i ^ items[step + 1]
        accumulate(Z, V * j, total)
        j ^= items[_step(first + items[at] - 1, items, at) + 2]
    _add_environments(W, ops[n, COUNT], ops, items, ops[n, FIRST], ops[n, OUT], fixed, E, base)
    _add_environments(Z, two, ops, items, ops[n, OUT], ops[n, LAST], fixed, E, base)
