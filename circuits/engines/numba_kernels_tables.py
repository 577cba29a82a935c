"""Compiled: from angles to coefficients, and from environments to gradients.

Everything here works on vectors, so that a single sample (equal lanes) and a batch (one sample a
lane) need one code. The operands of a block are a table of vectors, L: the angles, the cosines and
the sines of their halves, then the other columns of the call.
"""

from __future__ import annotations

import math
from typing import Any

from circuits.engines.instructions import (
    ABOUT_X,
    ABOUT_Y,
    ABOUT_Z,
    COLUMN,
    CONSTANT,
    DENSE,
    ENTRY,
    EXCHANGE,
    FIRST,
    KIND,
    LANE_TURN,
    LAST,
    LIVE,
    MASK,
    MEMBER,
    OUT,
    PHASE,
    RUN,
    SIGNS,
    SIZE,
    TABLE,
    TURN,
    WORD,
)
from circuits.engines.numba_kernels_gates import accumulate
from circuits.engines.numba_kernels_lanes import transpose, vgather, vscatter
from circuits.engines.numba_simd import (
    compiled,
    fma,
    fms,
    inlined,
    merged,
    vadd,
    vdiffer,
    vfill,
    vlen,
    vload,
    vmul,
    vpick,
    vreaches,
    vround,
    vsplat,
    vstore,
    vsub,
    vsum,
    vzero,
)

LARGE = 8192.0
"""Angles from here on go through the C library."""

Array = Any  # NumPy's arrays, and in compiled code vectors and integers


# -- operands --------------------------------------------------------------------------------------


@inlined
def _sine_cosine(L: Array, x: Array) -> Array:
    """Sine and cosine for |x| < LARGE (S. Moshier, Cephes library, 1989).

    x = k pi/2 + r with pi/2 in three parts, of which k times the first is exact.
    """
    k = vround(vmul(x, vfill(L, 0.6366197723675814)))
    if L.itemsize == 4:
        r = fms(k, vfill(L, 1.5703125), x)
        r = fms(k, vfill(L, 4.837512969970703e-4), r)
        r = fms(k, vfill(L, 7.549789954891882e-8), r)
    else:
        r = fms(k, vfill(L, 1.57079625129699707031), x)
        r = fms(k, vfill(L, 7.54978941586159635335e-8), r)
        r = fms(k, vfill(L, 5.39030285815811905290e-15), r)
    z = vmul(r, r)
    s = fma(vfill(L, 1.58962301576546568060e-10), z, vfill(L, -2.50507477628578072866e-8))
    s = fma(s, z, vfill(L, 2.75573136213857245213e-6))
    s = fma(s, z, vfill(L, -1.98412698295895385996e-4))
    s = fma(s, z, vfill(L, 8.33333333332211858878e-3))
    s = fma(s, z, vfill(L, -1.66666666666666307295e-1))
    s = fma(vmul(s, z), r, r)
    c = fma(vfill(L, -1.13585365213876817300e-11), z, vfill(L, 2.08757008419747316778e-9))
    c = fma(c, z, vfill(L, -2.75573141792967388112e-7))
    c = fma(c, z, vfill(L, 2.48015872888517045348e-5))
    c = fma(c, z, vfill(L, -1.38888888888730564116e-3))
    c = fma(c, z, vfill(L, 4.16666666666665929218e-2))
    c = fma(vmul(c, z), z, fms(vfill(L, 0.5), z, vfill(L, 1.0)))
    quarter, half, zero = vfill(L, 0.25), vfill(L, 0.5), vzero(L)
    quadrant = fms(vfill(L, 4.0), vround(fma(k, quarter, vfill(L, -0.375))), k)
    odd = fms(vfill(L, 2.0), vround(fma(quadrant, half, vfill(L, -0.25))), quadrant)
    sine, cosine = vpick(odd, c, s), vpick(odd, s, c)
    sine = vpick(vsub(quadrant, vfill(L, 1.5)), vsub(zero, sine), sine)
    turned = vmul(vsub(quadrant, half), vsub(vfill(L, 2.5), quadrant))
    return sine, vpick(turned, vsub(zero, cosine), cosine)


@inlined
def _cosine_sine(x: Array, L: Array, scratch: Array) -> Array:
    """Cosine and sine of half the angles in the lanes of x; ``scratch`` is room for three."""
    V = vlen(L)
    sine, cosine = _sine_cosine(L, vmul(vfill(L, 0.5), x))
    if vreaches(x, vfill(L, LARGE)):  # so does what is not a number
        vstore(scratch, 0, x)
        vstore(scratch, V, cosine)
        vstore(scratch, 2 * V, sine)
        for lane in range(V):
            angle = scratch[lane]
            if not abs(angle) < LARGE:
                scratch[V + lane] = math.cos(0.5 * angle)
                scratch[2 * V + lane] = math.sin(0.5 * angle)
        cosine, sine = vload(scratch, V), vload(scratch, 2 * V)
    return cosine, sine


@merged
def _mark_slots(angles: Array, marks: Array) -> Array:
    """Mark the slots whose angles differ between samples; return the first and the last one's end.

    Zeros of both signs, and what is not a number, may be taken to differ.
    """
    V, slots = vlen(marks), angles.shape[1]
    for s in range(0, slots - V + 1, V):
        first, found = vload(angles, s), vzero(marks)
        for sample in range(1, angles.shape[0]):
            found = vdiffer(first, vload(angles, sample * slots + s), found)
        vstore(marks, s, found)
    for s in range(slots // V * V, slots):
        for sample in range(1, angles.shape[0]):
            if angles[sample, s] != angles[0, s]:
                marks[s] = 1.0
    low, high = slots, slots - slots
    for s in range(slots):
        if marks[s] > 0:
            low, high = min(low, s), s + 1
    return low, high


@compiled
def mark_varying(angles: Array, columns: Array, ops: Array, items: Array, marks: Array) -> Array:
    """Mark with 1 what differs between samples; return between which slots, and if anything does.

    Marked are slots, then the columns as a whole, then instructions. The others' part of a block's
    tables is the same for all blocks.
    """
    slots = angles.shape[1]
    for at in range(slots + 1 + ops.shape[0]):
        marks[at] = 0.0
    if angles.shape[0] == 1 and columns.shape[0] == 1:
        return slots, slots - slots, False
    marks[slots] = columns.shape[0] > 1
    low, high = _mark_slots(angles, marks)
    for i in range(ops.shape[0]):
        kind, first, last = ops[i, KIND], ops[i, FIRST], ops[i, LAST]
        if kind in (TABLE, DENSE):
            first, last = last, last + 1
        elif kind in (EXCHANGE, RUN):
            last = first
        for e in range(first, last, 3):
            if items[e] != CONSTANT and marks[slots if items[e] == COLUMN else items[e + 1]] > 0:
                marks[slots + 1 + i] = 1.0
    return low, high, True


@compiled
def fill_operands(
    angles: Array,
    columns: Array,
    sample: int,
    lanes: int,
    L: Array,
    marks: Array,
    mark: float,
    low: int,
    high: int,
    scratch: Array,
) -> None:
    """Make the entries with a mark of the table L, for ``lanes`` samples from ``sample`` on.

    Slots with it are from ``low`` on, before ``high``. Lanes beyond these samples repeat the last.
    Where all lanes are equal, the vectors that sines and cosines are computed of are of slots.
    """
    V, slots, width = vlen(L), angles.shape[1], columns.shape[1]
    apart = lanes > 1 and angles.shape[0] > 1
    start = sample * slots if angles.shape[0] > 1 else 0
    for s in range(low, high, 1 if apart else V):
        if apart and marks[s] != mark:
            continue
        some = lanes if apart else min(V, high - s)
        x = vgather(angles, start + s, slots if apart else 1, some)
        cosine, sine = _cosine_sine(x, L, scratch)
        if apart:
            vstore(L, s * V, x)
            vstore(L, (slots + s) * V, cosine)
            vstore(L, (2 * slots + s) * V, sine)
            continue
        vstore(scratch, 0, x)
        vstore(scratch, V, cosine)
        vstore(scratch, 2 * V, sine)
        for i in range(some):
            if marks[s + i] == mark:
                vstore(L, (s + i) * V, vsplat(scratch[i]))
                vstore(L, (slots + s + i) * V, vsplat(scratch[V + i]))
                vstore(L, (2 * slots + s + i) * V, vsplat(scratch[2 * V + i]))
    if marks[slots] == mark:
        step = width if columns.shape[0] > 1 else 0
        for s in range(width):
            vstore(L, (3 * slots + s) * V, vgather(columns, sample * step + s, step, lanes))


# -- coefficients ----------------------------------------------------------------------------------


@compiled
def _factor(kind: int, at: int, numbers: Array, L: Array, slots: int) -> Array:
    """Quaternion (w, x, y, z) of a factor w - i (x X + y Y + z Z)."""
    V, zero = vlen(L), vzero(L)
    if kind == CONSTANT:
        return (
            vsplat(numbers[at]),
            vsplat(numbers[at + 1]),
            vsplat(numbers[at + 2]),
            vsplat(numbers[at + 3]),
        )
    if kind == COLUMN:
        o = (3 * slots + at) * V
        return vload(L, o), vload(L, o + V), vload(L, o + 2 * V), vload(L, o + 3 * V)
    c, s = vload(L, (slots + at) * V), vload(L, (2 * slots + at) * V)
    if kind == ABOUT_X:
        return c, s, zero, zero
    if kind == ABOUT_Y:
        return c, zero, s, zero
    return c, zero, zero, s


@compiled
def _quaternion_product(p: Array, q: Array) -> Array:
    return (
        fms(p[3], q[3], fms(p[2], q[2], fms(p[1], q[1], vmul(p[0], q[0])))),
        fms(p[3], q[2], fma(p[2], q[3], fma(p[1], q[0], vmul(p[0], q[1])))),
        fms(p[1], q[3], fma(p[3], q[1], fma(p[2], q[0], vmul(p[0], q[2])))),
        fms(p[2], q[1], fma(p[1], q[2], fma(p[3], q[0], vmul(p[0], q[3])))),
    )


@merged
def _prepare_turn(
    ops: Array, i: int, items: Array, fixed: Array, numbers: Array, L: Array, C: Array, slots: int
) -> None:
    """Product of a block's factors; the factors are kept behind it for the gradient."""
    V, zero, one = vlen(C), vzero(C), vfill(C, 1.0)
    at = ops[i, ENTRY] * V
    keep = at + 4 * V
    q = (one, zero, zero, zero)
    for e in range(ops[i, FIRST], ops[i, LAST], 3):
        f = _factor(items[e], items[e + 1], numbers, L, slots)
        vstore(C, keep, f[0])
        vstore(C, keep + V, f[1])
        vstore(C, keep + 2 * V, f[2])
        vstore(C, keep + 3 * V, f[3])
        keep += 4 * V
        q = f if e == ops[i, FIRST] else _quaternion_product(f, q)
    m = vload(fixed, ops[i, MASK] * V)
    signs = m
    if ops[i, KIND] == LANE_TURN:
        signs = vload(fixed, ops[i, SIGNS] * V)
    vstore(C, at, fma(m, q[0], vsub(one, m)))
    vstore(C, at + V, vsub(zero, vmul(signs, q[3])))
    vstore(C, at + 2 * V, vsub(zero, vmul(signs, q[2])))
    vstore(C, at + 3 * V, vsub(zero, vmul(m, q[1])))


@merged
def _prepare_pair(
    ops: Array, i: int, items: Array, fixed: Array, numbers: Array, L: Array, C: Array, slots: int
) -> None:
    """Cosine and both signs of the sine of a word, or of a phase."""
    V, zero, one = vlen(C), vzero(C), vfill(C, 1.0)
    kind, source, at = items[ops[i, FIRST]], items[ops[i, FIRST] + 1], ops[i, ENTRY] * V
    if kind == CONSTANT:
        cosine, sine = vsplat(numbers[source]), vsplat(numbers[source + 1])
    elif kind == COLUMN:
        o = (3 * slots + source) * V
        cosine, sine = vload(L, o), vload(L, o + V)
    else:
        cosine, sine = vload(L, (slots + source) * V), vload(L, (2 * slots + source) * V)
        if ops[i, KIND] != WORD:
            sine = vsub(zero, sine)
    m = vload(fixed, ops[i, MASK] * V)
    sine = vmul(sine, vload(fixed, ops[i, SIGNS] * V))
    vstore(C, at, fma(m, cosine, vsub(one, m)))
    vstore(C, at + V, sine)
    vstore(C, at + 2 * V, vsub(zero, sine))


@compiled
def _entry_value(kind: int, source: int, numbers: Array, L: Array, slots: int, lane: int) -> Array:
    """One number of a table or matrix, in one lane."""
    if kind == CONSTANT:
        return numbers[source]
    return L[(3 * slots + source) * vlen(L) + lane]


@merged
def _prepare_table(
    ops: Array, i: int, items: Array, fixed: Array, numbers: Array, L: Array, C: Array, slots: int
) -> None:
    """Diagonal by rows and lanes: which entry is meant is written behind the row masks."""
    V, size, head = vlen(C), ops[i, SIZE], ops[i, LAST]
    kind, source, mask = items[head], items[head + 1], ops[i, MASK] * V
    by_row, by_lane = head + 2, head + 2 + size
    for j in range(size):
        o = (ops[i, ENTRY] + 2 * j) * V
        for lane in range(V):
            at, m = source + 2 * (items[by_row + j] + items[by_lane + lane]), fixed[mask + lane]
            re = _entry_value(kind, at, numbers, L, slots, lane)
            im = _entry_value(kind, at + 1, numbers, L, slots, lane)
            C[o + lane] = re if m else fixed[lane]
            C[o + V + lane] = m * im


@merged
def _prepare_matrix(
    ops: Array, i: int, items: Array, fixed: Array, numbers: Array, L: Array, C: Array, slots: int
) -> None:
    """Matrix, row by row; the identity in lanes that it leaves alone."""
    V, size, one = vlen(C), ops[i, SIZE], vfill(C, 1.0)
    kind, source = items[ops[i, LAST]], items[ops[i, LAST] + 1]
    m, at = vload(fixed, ops[i, MASK] * V), ops[i, ENTRY] * V
    for j in range(size * size):
        if kind == CONSTANT:
            re, im = vsplat(numbers[source + 2 * j]), vsplat(numbers[source + 2 * j + 1])
        else:
            o = (3 * slots + source + 2 * j) * V
            re, im = vload(L, o), vload(L, o + V)
        rest = vsub(one, m) if j % (size + 1) == 0 else vzero(C)
        vstore(C, at, fma(m, re, rest))
        vstore(C, at + V, vmul(m, im))
        at += 2 * V


@compiled
def prepare(
    ops: Array,
    items: Array,
    fixed: Array,
    numbers: Array,
    L: Array,
    C: Array,
    slots: int,
    marks: Array,
    mark: float,
) -> None:
    """Make the coefficients of the instructions with a mark."""
    for i in range(ops.shape[0]):
        kind = ops[i, KIND]
        if marks[slots + 1 + i] != mark:
            continue
        if kind in (TURN, LANE_TURN):
            _prepare_turn(ops, i, items, fixed, numbers, L, C, slots)
        elif kind in (WORD, PHASE, MEMBER):
            _prepare_pair(ops, i, items, fixed, numbers, L, C, slots)
        elif kind == TABLE:
            _prepare_table(ops, i, items, fixed, numbers, L, C, slots)
        elif kind == DENSE:
            _prepare_matrix(ops, i, items, fixed, numbers, L, C, slots)


# -- gradients -------------------------------------------------------------------------------------


@compiled
def _turned_back(q: Array, e: Array) -> Array:
    """Rotate the vector e by the inverse of the quaternion q: e + 2 w t + 2 t x v, t = e x v."""
    w, v0, v1, v2 = q
    t0, t1, t2 = (
        fms(e[2], v1, vmul(e[1], v2)),
        fms(e[0], v2, vmul(e[2], v0)),
        fms(e[1], v0, vmul(e[0], v1)),
    )
    t0, t1, t2 = vadd(t0, t0), vadd(t1, t1), vadd(t2, t2)
    return (
        vadd(fma(w, t0, e[0]), fms(t2, v1, vmul(t1, v2))),
        vadd(fma(w, t1, e[1]), fms(t0, v2, vmul(t2, v0))),
        vadd(fma(w, t2, e[2]), fms(t1, v0, vmul(t0, v1))),
    )


@merged
def _finish_turn(
    ops: Array, i: int, items: Array, C: Array, E: Array, G: Array, slots: int
) -> None:
    """Every factor's share: the environment, turned back to stand right after the factor."""
    V, half = vlen(C), vfill(C, 0.5)
    live, first, last = ops[i, LIVE] * V, ops[i, FIRST], ops[i, LAST]
    e = (vload(E, live), vload(E, live + V), vload(E, live + 2 * V))
    at = ops[i, ENTRY] * V + 4 * V * ((last - first) // 3 + 1)
    for f in range(last - 3, first - 3, -3):
        kind, source = items[f], items[f + 1]
        at -= 4 * V
        if kind == ABOUT_X:
            accumulate(G, source * V, vmul(half, e[0]))
        elif kind == ABOUT_Y:
            accumulate(G, source * V, vmul(half, e[1]))
        elif kind == ABOUT_Z:
            accumulate(G, source * V, vmul(half, e[2]))
        elif kind == COLUMN:
            o = (1 + slots + items[f + 2]) * V
            accumulate(G, o, e[0])
            accumulate(G, o + V, e[1])
            accumulate(G, o + 2 * V, e[2])
        if f > first:
            q = (vload(C, at), vload(C, at + V), vload(C, at + 2 * V), vload(C, at + 3 * V))
            e = _turned_back(q, e)


@merged
def _finish_table(ops: Array, i: int, items: Array, E: Array, G: Array, slots: int) -> None:
    V, size, head = vlen(E), ops[i, SIZE], ops[i, LAST]
    by_row, by_lane = head + 2, head + 2 + size
    for j in range(size):
        o = (ops[i, LIVE] + 2 * j) * V
        for lane in range(V):
            entry = 2 * (items[by_row + j] + items[by_lane + lane])
            at = (1 + slots + ops[i, OUT] + entry) * V + lane
            G[at] += E[o + lane]
            G[at + V] += E[o + V + lane]


@compiled
def finish(
    ops: Array, items: Array, C: Array, E: Array, G: Array, slots: int, stop: int, unwanted: Array
) -> None:
    """Turn environments into gradients by angle, and into columns for what functions make.

    The table G: a vector a slot, zero where it is unwanted, one for the global phase, the columns.
    """
    V, half = vlen(C), vfill(C, 0.5)
    for i in range(stop, ops.shape[0]):
        kind = ops[i, KIND]
        if ops[i, LIVE] < 0 or kind in (EXCHANGE, RUN):
            continue
        if kind in (TURN, LANE_TURN):
            _finish_turn(ops, i, items, C, E, G, slots)
        elif kind == TABLE:
            _finish_table(ops, i, items, E, G, slots)
        elif kind == DENSE:
            o = (1 + slots + ops[i, OUT]) * V
            for j in range(2 * ops[i, SIZE] * ops[i, SIZE]):
                accumulate(G, o + j * V, vload(E, ops[i, LIVE] * V + j * V))
        elif items[ops[i, FIRST]] == COLUMN:
            accumulate(G, (1 + slots + ops[i, OUT]) * V, vload(E, ops[i, LIVE] * V))
        else:
            e = vmul(half, vload(E, ops[i, LIVE] * V))
            accumulate(G, items[ops[i, FIRST] + 1] * V, e)
    for i in range(unwanted.shape[0]):
        vstore(G, unwanted[i] * V, vzero(G))


@compiled
def store_results(G: Array, sample: int, wide: int, lanes: int, out: Array) -> None:
    """Write the table G of gradients: sums over lanes, or one sample a lane.

    Squares of it are transposed, of which the last may overlap the one before.
    """
    V, width = vlen(G), out.shape[1]
    if not wide:
        for column in range(width):
            out[sample, column] = vsum(vload(G, column * V))
    elif width < V:
        for column in range(width):
            vscatter(out, sample * width + column, width, lanes, vload(G, column * V))
    else:
        for column in range(0, width, V):
            at = min(column, width - V)
            transpose(G, at * V, V, V, out, sample * width + at, width, lanes)
