"""Compiled kernels: one structure each, on one tile of a state, forward and reverse.

A tile is a flat array of 2**k rows; a row is one vector of real parts, then one of imaginary parts.
Its lanes are the amplitudes that differ in the lowest qubits, or the samples of a batch.

A qubit in the rows has a flip f and a mask g over GF(2): row ^ f flips it, parity(row & g) is its
value. So a CX between two of them changes f and g, and moves nothing; nor does one between two
qubits in the lanes, which have flips and masks of the lane's number. A kernel visits the rows that
satisfy constraints parity(row & mask) == value, one bit each, of which ``pivot`` is in no other
constraint: it counts p through the other bits and sets the pivots.

``ops[i]`` is an instruction, with the columns below. All coefficients are vectors: equal in all
lanes, different by lane qubit, or different by sample. In the reverse sweep psi and lambda stand
after the gate; the kernels add up the gate's environment and undo it on both in one pass.

Reference: T. Jones and J. Gacon (2020), arXiv:2009.02823, for the reverse sweep.
"""

from __future__ import annotations

from typing import Any

from circuits.engines.instructions import (
    BASE_SIGN,
    COUNT,
    ENTRY,
    FIRST,
    FLIP,
    LANES,
    LAST,
    LIVE,
    MASK,
    ODD,
    ROWS,
    SIGN,
    SIGNS,
    SIZE,
)
from circuits.engines.numba_simd import (
    compiled,
    fma,
    fms,
    inlined,
    popcount,
    vadd,
    vflip,
    vlen,
    vload,
    vmul,
    vsplat,
    vstore,
    vsub,
    vzero,
)

Array = Any  # NumPy's arrays, and in compiled code vectors and integers


@compiled
def row_at(p: int, items: Array, rows: int, count: int) -> int:
    """Row number p of those that satisfy the constraints, sorted by pivot."""
    row = p
    for at in range(rows, rows + 3 * count, 3):
        row += row & -items[at]
    for at in range(rows, rows + 3 * count, 3):
        row |= items[at] & -((popcount(row & items[at + 1]) & 1) ^ items[at + 2])
    return row


@compiled
def near_row(p: int, pivot: int, mask: int, value: int) -> int:
    """Row number p under one constraint; with no pivot, row p."""
    row = p + (p & -pivot)
    return row | (pivot & -((popcount(row & mask) & 1) ^ value))


@compiled
def first_constraint(items: Array, rows: int, count: int) -> Array:
    """Pivot, mask and value of the only constraint, or zeros for none."""
    if count != 1:
        return rows - rows, rows - rows, rows - rows
    return items[rows], items[rows + 1], items[rows + 2]


# -- blocks in SU(2): [[a, b], [-b*, a*]], a = Ar + i Ai, b = Br + i Bi ----------------------------


@compiled
def _turned(
    Ar: Array, Ai: Array, Br: Array, Bi: Array, x: Array, y: Array, u: Array, v: Array
) -> Array:
    """Both rows of a pair (x + i y, u + i v) after a block."""
    return (
        fms(Bi, v, fma(Br, u, fms(Ai, y, vmul(Ar, x)))),
        fma(Bi, u, fma(Br, v, fma(Ai, x, vmul(Ar, y)))),
        fms(Br, x, fms(Bi, y, fma(Ai, v, vmul(Ar, u)))),
        fms(Br, y, fma(Bi, x, fms(Ai, u, vmul(Ar, v)))),
    )


@compiled
def _turn_pair(
    b: Array, first: int, second: int, Ar: Array, Ai: Array, Br: Array, Bi: Array
) -> None:
    V = vlen(b)
    o, q = 2 * V * first, 2 * V * second
    x, y, u, v = vload(b, o), vload(b, o + V), vload(b, q), vload(b, q + V)
    x, y, u, v = _turned(Ar, Ai, Br, Bi, x, y, u, v)
    vstore(b, o, x)
    vstore(b, o + V, y)
    vstore(b, q, u)
    vstore(b, q + V, v)


@inlined
def turn(b: Array, k: int, ops: Array, i: int, items: Array, C: Array, sign: Array) -> None:
    """Apply a block, or with sign = -1 undo it."""
    V = vlen(b)
    entry, rows, count, flip = ops[i, ENTRY] * V, ops[i, ROWS], ops[i, COUNT], ops[i, FLIP]
    s = vsplat(sign)
    Ar, Ai = vload(C, entry), vmul(s, vload(C, entry + V))
    Br, Bi = vmul(s, vload(C, entry + 2 * V)), vmul(s, vload(C, entry + 3 * V))
    pivot, mask, value = first_constraint(items, rows, count)
    if count < 2:
        for p in range(1 << (k - count)):
            row = near_row(p, pivot, mask, value)
            _turn_pair(b, row, row ^ flip, Ar, Ai, Br, Bi)
    else:
        for p in range(1 << (k - count)):
            row = row_at(p, items, rows, count)
            _turn_pair(b, row, row ^ flip, Ar, Ai, Br, Bi)


@compiled
def _pair_environments(psi: Array, lam: Array, E: Array) -> Array:
    """Add a pair of rows to the environments Im <lambda|sigma|psi>, of which E has two halves.

    Products added one after the other wait for each other: in halves, for two and not for four.
    """
    x, y, u, v = psi
    r, s, t, w = lam
    return (
        fms(s, u, fma(r, v, E[0])),
        fms(s, v, fms(r, u, E[1])),
        fms(s, x, fma(r, y, E[2])),
        fms(w, x, fma(t, y, E[3])),
        fma(w, y, fma(t, x, E[4])),
        fma(w, u, fms(t, v, E[5])),
    )


@compiled
def _see_pair(b: Array, c: Array, first: int, second: int, E: Array) -> Array:
    """Return the environments with a pair of rows that stays as it is."""
    V = vlen(b)
    o, q = 2 * V * first, 2 * V * second
    psi = (vload(b, o), vload(b, o + V), vload(b, q), vload(b, q + V))
    return _pair_environments(psi, (vload(c, o), vload(c, o + V), vload(c, q), vload(c, q + V)), E)


@compiled
def _undo_pair(
    b: Array,
    c: Array,
    first: int,
    second: int,
    Ar: Array,
    Ai: Array,
    Br: Array,
    Bi: Array,
    E: Array,
) -> Array:
    """Undo a block on a pair of rows; return the environments Im <lambda|sigma|psi> with it."""
    V = vlen(b)
    o, q = 2 * V * first, 2 * V * second
    x, y, u, v = vload(b, o), vload(b, o + V), vload(b, q), vload(b, q + V)
    r, s, t, w = vload(c, o), vload(c, o + V), vload(c, q), vload(c, q + V)
    E = _pair_environments((x, y, u, v), (r, s, t, w), E)
    x, y, u, v = _turned(Ar, Ai, Br, Bi, x, y, u, v)
    vstore(b, o, x)
    vstore(b, o + V, y)
    vstore(b, q, u)
    vstore(b, q + V, v)
    r, s, t, w = _turned(Ar, Ai, Br, Bi, r, s, t, w)
    vstore(c, o, r)
    vstore(c, o + V, s)
    vstore(c, q, t)
    vstore(c, q + V, w)
    return E


@compiled
def accumulate(E: Array, at: int, value: Array) -> None:
    """Add a vector to the one at ``at``."""
    vstore(E, at, vadd(vload(E, at), value))


@inlined
def turn_reverse(
    b: Array, c: Array, k: int, ops: Array, i: int, items: Array, fixed: Array, C: Array, E: Array
) -> None:
    """Undo a block on psi and lambda, with its three environments, or only see these."""
    V = vlen(b)
    entry, rows, count, flip = ops[i, ENTRY] * V, ops[i, ROWS], ops[i, COUNT], ops[i, FLIP]
    zero = vzero(b)
    Ar, Ai = vload(C, entry), vsub(zero, vload(C, entry + V))
    Br, Bi = vsub(zero, vload(C, entry + 2 * V)), vsub(zero, vload(C, entry + 3 * V))
    e = (zero, zero, zero, zero, zero, zero)
    if ops[i, SIZE]:
        pivot, mask, value = first_constraint(items, rows, count)
        for p in range(1 << (k - count)):
            row = near_row(p, pivot, mask, value)
            e = _see_pair(b, c, row, row ^ flip, e)
    elif count < 2:
        pivot, mask, value = first_constraint(items, rows, count)
        for p in range(1 << (k - count)):
            row = near_row(p, pivot, mask, value)
            e = _undo_pair(b, c, row, row ^ flip, Ar, Ai, Br, Bi, e)
    else:
        for p in range(1 << (k - count)):
            row = row_at(p, items, rows, count)
            e = _undo_pair(b, c, row, row ^ flip, Ar, Ai, Br, Bi, e)
    m, at = vload(fixed, ops[i, MASK] * V), ops[i, LIVE] * V
    accumulate(E, at, vmul(vadd(e[0], e[3]), m))
    accumulate(E, at + V, vmul(vadd(e[1], e[4]), m))
    accumulate(E, at + 2 * V, vmul(vadd(e[2], e[5]), m))


@compiled
def _turn_lanes(b: Array, o: int, lanes: int, Ar: Array, Ai: Array, Br: Array, Bi: Array) -> Array:
    """Apply a block to the lanes of a row; return the row and its flipped lanes as they were."""
    V = vlen(b)
    x, y = vload(b, o), vload(b, o + V)
    u, v = vflip(x, lanes), vflip(y, lanes)
    vstore(b, o, fms(Bi, v, fma(Br, u, fms(Ai, y, vmul(Ar, x)))))
    vstore(b, o + V, fma(Bi, u, fma(Br, v, fma(Ai, x, vmul(Ar, y)))))
    return x, y, u, v


@inlined
def lane_turn(b: Array, k: int, ops: Array, i: int, items: Array, C: Array, sign: Array) -> None:
    """Apply a block to a lane qubit, or undo it: its coefficients carry the sign of each lane."""
    V = vlen(b)
    entry, rows, count, lanes = ops[i, ENTRY] * V, ops[i, ROWS], ops[i, COUNT], ops[i, LANES]
    s = vsplat(sign)
    Ar, Ai = vload(C, entry), vmul(s, vload(C, entry + V))
    Br, Bi = vmul(s, vload(C, entry + 2 * V)), vmul(s, vload(C, entry + 3 * V))
    pivot, mask, value = first_constraint(items, rows, count)
    if count < 2:
        for p in range(1 << (k - count)):
            _turn_lanes(b, 2 * V * near_row(p, pivot, mask, value), lanes, Ar, Ai, Br, Bi)
    else:
        for p in range(1 << (k - count)):
            _turn_lanes(b, 2 * V * row_at(p, items, rows, count), lanes, Ar, Ai, Br, Bi)


@compiled
def _see_lanes(b: Array, c: Array, o: int, lanes: int, E: Array) -> Array:
    """Return the environments with a row that stays as it is."""
    V = vlen(b)
    x, y, r, s = vload(b, o), vload(b, o + V), vload(c, o), vload(c, o + V)
    return _lane_environments(x, y, vflip(x, lanes), vflip(y, lanes), r, s, E)


@compiled
def _undo_lanes(
    b: Array, c: Array, o: int, lanes: int, Ar: Array, Ai: Array, Br: Array, Bi: Array, E: Array
) -> Array:
    x, y, u, v = _turn_lanes(b, o, lanes, Ar, Ai, Br, Bi)
    r, s, _, _ = _turn_lanes(c, o, lanes, Ar, Ai, Br, Bi)
    return _lane_environments(x, y, u, v, r, s, E)


@compiled
def _lane_environments(
    x: Array, y: Array, u: Array, v: Array, r: Array, s: Array, E: Array
) -> Array:
    return fms(s, u, fma(r, v, E[0])), fms(s, v, fms(r, u, E[1])), fms(s, x, fma(r, y, E[2]))


@inlined
def lane_turn_reverse(
    b: Array, c: Array, k: int, ops: Array, i: int, items: Array, fixed: Array, C: Array, E: Array
) -> None:
    """Undo a block on a lane qubit, with its environments."""
    V = vlen(b)
    entry, rows, count, lanes = ops[i, ENTRY] * V, ops[i, ROWS], ops[i, COUNT], ops[i, LANES]
    zero = vzero(b)
    Ar, Ai = vload(C, entry), vsub(zero, vload(C, entry + V))
    Br, Bi = vsub(zero, vload(C, entry + 2 * V)), vsub(zero, vload(C, entry + 3 * V))
    e = (zero, zero, zero)
    if ops[i, SIZE]:
        for row in range(1 << k):
            e = _see_lanes(b, c, 2 * V * row, lanes, e)
    elif count < 2:
        pivot, mask, value = first_constraint(items, rows, count)
        for p in range(1 << (k - count)):
            o = 2 * V * near_row(p, pivot, mask, value)
            e = _undo_lanes(b, c, o, lanes, Ar, Ai, Br, Bi, e)
    else:
        for p in range(1 << (k - count)):
            o = 2 * V * row_at(p, items, rows, count)
            e = _undo_lanes(b, c, o, lanes, Ar, Ai, Br, Bi, e)
    m, signs, at = vload(fixed, ops[i, MASK] * V), vload(fixed, ops[i, SIGNS] * V), ops[i, LIVE] * V
    accumulate(E, at, vmul(e[0], m))
    accumulate(E, at + V, vmul(e[1], signs))
    accumulate(E, at + 2 * V, vmul(e[2], signs))


# -- rotations about words: cos psi[j] + (-i or 1) W(j) psi[j ^ flip], W = +-sin by row and lane ---
#
# With -i a row's partner is read crossed, its imaginary part first: then all products are of a
# coefficient and what was read, whichever the factor.


@compiled
def _signed(odd: int, W: Array) -> Array:
    """W for the imaginary part of a row: minus W where the partner is read crossed."""
    return W if odd else vsub(vsub(W, W), W)


@compiled
def _crossed_pair(b: Array, o: int, q: int, cross: int, lanes: int) -> Array:
    """Rows at o and q, that of q crossed, and both with their lanes flipped."""
    V = vlen(b)
    x, y, u, v = vload(b, o), vload(b, o + V), vload(b, q + cross), vload(b, q + V - cross)
    if lanes:
        flipped = vflip(x, lanes), vflip(y, lanes), vflip(u, lanes), vflip(v, lanes)
        return (x, y, u, v), flipped
    return (x, y, u, v), (x, y, u, v)


@compiled
def _store_rotated(
    b: Array, o: int, q: int, cross: int, cos: Array, W: Array, Z: Array, pair: Array
) -> None:
    """Rotate the rows at o and q by W and Z, two coefficients each."""
    V, (x, y, u, v), (X, Y, U, T) = vlen(b), pair[0], pair[1]
    vstore(b, o, fma(W[0], U, vmul(cos, x)))
    vstore(b, o + V, fma(W[1], T, vmul(cos, y)))
    vstore(b, q + cross, fma(Z[1], X, vmul(cos, u)))
    vstore(b, q + V - cross, fma(Z[0], Y, vmul(cos, v)))


@compiled
def _rotate_lanes(b: Array, o: int, cross: int, lanes: int, cos: Array, W: Array) -> Array:
    """Rotate the lanes of the row at o; return what they were, crossed and flipped."""
    V = vlen(b)
    x, y = vload(b, o), vload(b, o + V)
    u, v = vflip(vload(b, o + cross), lanes), vflip(vload(b, o + V - cross), lanes)
    vstore(b, o, fma(W[0], u, vmul(cos, x)))
    vstore(b, o + V, fma(W[1], v, vmul(cos, y)))
    return u, v


@compiled
def word(
    b: Array, k: int, ops: Array, i: int, items: Array, C: Array, sign: Array, base: int
) -> None:
    """Apply a rotation about a word that flips rows or lanes, or with sign = -1 undo it."""
    V = vlen(b)
    rows, count, flip, lanes = ops[i, ROWS], ops[i, COUNT], ops[i, FLIP], ops[i, LANES]
    entry, mask, odd = ops[i, ENTRY] * V, ops[i, SIGN], ops[i, ODD]
    cos, s, cross = vload(C, entry), vsplat(sign), (1 - odd) * V
    plus, minus = vmul(s, vload(C, entry + V)), vmul(s, vload(C, entry + 2 * V))
    other = popcount(flip & mask) & 1
    if popcount(base & ops[i, BASE_SIGN]) & 1:
        plus, minus = minus, plus
    A, B = (plus, _signed(odd, plus)), (minus, _signed(odd, minus))
    if flip == 0 and mask == 0 and count < 2:
        pivot, inside, value = first_constraint(items, rows, count)
        for p in range(1 << (k - count)):
            row = near_row(p, pivot, inside, value)
            _rotate_lanes(b, 2 * V * row, cross, lanes, cos, A)
    elif flip == 0:
        for p in range(1 << (k - count)):
            row = row_at(p, items, rows, count)
            _rotate_lanes(b, 2 * V * row, cross, lanes, cos, B if popcount(row & mask) & 1 else A)
    elif count == 1 and lanes == 0 and (mask == 0 or other):
        pivot, inside, value = first_constraint(items, rows, count)
        Z = B if other else A
        for p in range(1 << (k - 1)):
            row = near_row(p, pivot, inside, value)
            o, q = 2 * V * row, 2 * V * (row ^ flip)
            _store_rotated(b, o, q, cross, cos, A, Z, _crossed_pair(b, o, q, cross, 0))
    else:
        for p in range(1 << (k - count)):
            row = row_at(p, items, rows, count)
            parity = popcount(row & mask) & 1
            W, Z = B if parity else A, B if parity ^ other else A
            o, q = 2 * V * row, 2 * V * (row ^ flip)
            _store_rotated(b, o, q, cross, cos, W, Z, _crossed_pair(b, o, q, cross, lanes))


@compiled
def _undo_word(
    b: Array,
    c: Array,
    o: int,
    q: int,
    cross: int,
    lanes: int,
    cos: Array,
    W: Array,
    Z: Array,
    e: Array,
) -> Array:
    """Undo a rotation on the rows at o and q; return four sums of products with theirs."""
    psi, lam = _crossed_pair(b, o, q, cross, lanes), _crossed_pair(c, o, q, cross, lanes)
    _store_rotated(b, o, q, cross, cos, W, Z, psi)
    _store_rotated(c, o, q, cross, cos, W, Z, lam)
    (x, y, u, v), (r, s, t, w) = psi[1], lam[0]
    return fma(r, u, e[0]), fma(s, v, e[1]), fma(t, x, e[2]), fma(w, y, e[3])


@compiled
def _undo_lane_word(
    b: Array, c: Array, o: int, cross: int, lanes: int, cos: Array, W: Array, e: Array
) -> Array:
    """The same for the lanes of the row at o."""
    r, s = vload(c, o), vload(c, o + vlen(c))
    u, v = _rotate_lanes(b, o, cross, lanes, cos, W)
    _rotate_lanes(c, o, cross, lanes, cos, W)
    return fma(r, u, e[0]), fma(s, v, e[1]), e[2], e[3]


@compiled
def _word_sum(odd: int, other: int, e: Array) -> Array:
    """Im <lambda|P psi> of pairs of rows, from the four sums."""
    first = vadd(e[0], e[1]) if odd else vsub(e[0], e[1])
    second = vadd(e[3], e[2]) if odd else vsub(e[3], e[2])
    return vsub(first, second) if other else vadd(first, second)


@compiled
def word_reverse(
    b: Array,
    c: Array,
    k: int,
    ops: Array,
    i: int,
    items: Array,
    fixed: Array,
    C: Array,
    E: Array,
    base: int,
) -> None:
    """Undo a rotation about a word on psi and lambda, with its environment."""
    V = vlen(b)
    rows, count, flip, lanes = ops[i, ROWS], ops[i, COUNT], ops[i, FLIP], ops[i, LANES]
    entry, mask, odd = ops[i, ENTRY] * V, ops[i, SIGN], ops[i, ODD]
    cos, plus, minus = vload(C, entry), vload(C, entry + 2 * V), vload(C, entry + V)
    other, cross, zero = popcount(flip & mask) & 1, (1 - odd) * V, vzero(b)
    swapped = popcount(base & ops[i, BASE_SIGN]) & 1
    if swapped:
        plus, minus = minus, plus
    A, B = (plus, _signed(odd, plus)), (minus, _signed(odd, minus))
    e = (zero, zero, zero, zero)
    total = zero
    if count < 2 and (mask == 0 or other) and (flip == 0 or lanes == 0):
        pivot, inside, value = first_constraint(items, rows, count)
        Z = B if other else A
        if flip:
            for p in range(1 << (k - count)):
                row = near_row(p, pivot, inside, value)
                o, q = 2 * V * row, 2 * V * (row ^ flip)
                e = _undo_word(b, c, o, q, cross, 0, cos, A, Z, e)
        else:
            for p in range(1 << (k - count)):
                o = 2 * V * near_row(p, pivot, inside, value)
                e = _undo_lane_word(b, c, o, cross, lanes, cos, A, e)
        total = _word_sum(odd, other, e)
    else:
        for p in range(1 << (k - count)):
            row = row_at(p, items, rows, count)
            o, q, parity = 2 * V * row, 2 * V * (row ^ flip), popcount(row & mask) & 1
            W, Z = B if parity else A, B if parity ^ other else A
            if flip:
                d = _undo_word(b, c, o, q, cross, lanes, cos, W, Z, e)
            else:
                d = _undo_lane_word(b, c, o, cross, lanes, cos, W, e)
            total = fma(vload(fixed, parity * V), _word_sum(odd, other, d), total)
    total = vsub(zero, total) if swapped else total
    accumulate(E, ops[i, LIVE] * V, vmul(total, vload(fixed, ops[i, SIGNS] * V)))


# -- diagonals -------------------------------------------------------------------------------------


@compiled
def phase(
    b: Array, k: int, ops: Array, i: int, items: Array, C: Array, sign: Array, base: int
) -> None:
    """Multiply by one of two phases, by the parity of a row mask; with sign = -1 undo it."""
    V = vlen(b)
    rows, count, mask, entry = ops[i, ROWS], ops[i, COUNT], ops[i, SIGN], ops[i, ENTRY] * V
    cos, plus, minus = vload(C, entry), vload(C, entry + V), vload(C, entry + 2 * V)
    s, start = vsplat(sign), popcount(base & ops[i, BASE_SIGN]) & 1
    plus, minus = vmul(s, plus), vmul(s, minus)
    for p in range(1 << (k - count)):
        row = row_at(p, items, rows, count)
        o = 2 * V * row
        sin = minus if (popcount(row & mask) & 1) ^ start else plus
        x, y = vload(b, o), vload(b, o + V)
        vstore(b, o, fms(sin, y, vmul(cos, x)))
        vstore(b, o + V, fma(sin, x, vmul(cos, y)))


@compiled
def phase_reverse(
    b: Array,
    c: Array,
    k: int,
    ops: Array,
    i: int,
    items: Array,
    fixed: Array,
    C: Array,
    E: Array,
    base: int,
) -> None:
    """Undo phases on psi and lambda; the environment is the signed sum of Im(lambda* psi)."""
    V = vlen(b)
    rows, count, mask, entry = ops[i, ROWS], ops[i, COUNT], ops[i, SIGN], ops[i, ENTRY] * V
    cos, plus, minus = vload(C, entry), vload(C, entry + V), vload(C, entry + 2 * V)
    start, e = popcount(base & ops[i, BASE_SIGN]) & 1, vzero(b)
    for p in range(1 << (k - count)):
        row = row_at(p, items, rows, count)
        o = 2 * V * row
        parity = (popcount(row & mask) & 1) ^ start
        sin = minus if parity else plus
        x, y, r, s = vload(b, o), vload(b, o + V), vload(c, o), vload(c, o + V)
        e = fma(vload(fixed, parity * V), fms(s, x, vmul(r, y)), e)
        vstore(b, o, fma(sin, y, vmul(cos, x)))
        vstore(b, o + V, fms(sin, x, vmul(cos, y)))
        vstore(c, o, fma(sin, s, vmul(cos, r)))
        vstore(c, o + V, fms(sin, r, vmul(cos, s)))
    at = ops[i, LIVE] * V
    accumulate(E, at, vmul(e, vload(fixed, ops[i, SIGNS] * V)))


@compiled
def _table_entry(row: int, base: int, items: Array, first: int, last: int) -> int:
    """Index that the parities of the row masks and base masks in ``items`` spell."""
    index = 0
    for at in range(last - 2, first - 2, -2):
        index = 2 * index + ((popcount(row & items[at]) + popcount(base & items[at + 1])) & 1)
    return index


@compiled
def table(
    b: Array, k: int, ops: Array, i: int, items: Array, C: Array, sign: Array, base: int
) -> None:
    """Multiply by a diagonal of one entry a basis state of the targets; sign = -1 conjugates."""
    V = vlen(b)
    rows, count, entry, s = ops[i, ROWS], ops[i, COUNT], ops[i, ENTRY] * V, vsplat(sign)
    for p in range(1 << (k - count)):
        row = row_at(p, items, rows, count)
        o = 2 * V * row
        at = entry + 2 * V * _table_entry(row, base, items, ops[i, FIRST], ops[i, LAST])
        re, im = vload(C, at), vmul(s, vload(C, at + V))
        x, y = vload(b, o), vload(b, o + V)
        vstore(b, o, fms(im, y, vmul(re, x)))
        vstore(b, o + V, fma(im, x, vmul(re, y)))


@compiled
def table_environment(
    b: Array,
    c: Array,
    k: int,
    ops: Array,
    i: int,
    items: Array,
    fixed: Array,
    E: Array,
    base: int,
) -> None:
    """Sum of conj(lambda) psi for every entry of a diagonal."""
    V = vlen(b)
    rows, count, m = ops[i, ROWS], ops[i, COUNT], vload(fixed, ops[i, MASK] * V)
    for p in range(1 << (k - count)):
        row = row_at(p, items, rows, count)
        o = 2 * V * row
        entry = _table_entry(row, base, items, ops[i, FIRST], ops[i, LAST])
        at = (ops[i, LIVE] + 2 * entry) * V
        x, y, r, s = vload(b, o), vload(b, o + V), vload(c, o), vload(c, o + V)
        accumulate(E, at, vmul(m, fma(s, y, vmul(r, x))))
        accumulate(E, at + V, vmul(m, fms(s, x, vmul(r, y))))
