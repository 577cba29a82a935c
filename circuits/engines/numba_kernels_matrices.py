"""Compiled kernels: exchanges of basis states, and matrices on some qubits of the rows."""

from __future__ import annotations

from circuits.engines.instructions import (
    COUNT,
    ENTRY,
    FIRST,
    FLIP,
    LANES,
    LIVE,
    MASK,
    ROWS,
    SIGNS,
    SIZE,
)
from circuits.engines.numba_kernels_gates import Array, first_constraint, near_row, row_at
from circuits.engines.numba_simd import (
    compiled,
    fma,
    fms,
    inlined,
    vfill,
    vflip,
    vlen,
    vload,
    vmul,
    vstore,
    vzero,
)


@inlined
def _flip_row(b: Array, o: int, lanes: int) -> None:
    V = vlen(b)
    x, y = vload(b, o), vload(b, o + V)
    vstore(b, o, vflip(x, lanes))
    vstore(b, o + V, vflip(y, lanes))


@inlined
def _exchange_rows(b: Array, o: int, q: int, lanes: int) -> None:
    """Exchange two rows whole, with their lanes flipped."""
    V = vlen(b)
    x, y, u, v = vload(b, o), vload(b, o + V), vload(b, q), vload(b, q + V)
    vstore(b, q, vflip(x, lanes))
    vstore(b, q + V, vflip(y, lanes))
    vstore(b, o, vflip(u, lanes))
    vstore(b, o + V, vflip(v, lanes))


@inlined
def _blend_row(b: Array, o: int, lanes: int, moved: Array) -> None:
    """Flip some lanes of a row by products with 0 and 1; a select would be slow."""
    V = vlen(b)
    x, y = vload(b, o), vload(b, o + V)
    vstore(b, o, fma(moved[0], vflip(x, lanes), vmul(moved[1], x)))
    vstore(b, o + V, fma(moved[0], vflip(y, lanes), vmul(moved[1], y)))


@inlined
def _blend_rows(b: Array, o: int, q: int, lanes: int, first: Array, second: Array) -> None:
    """Exchange some lanes of two rows, flipped, by products with 0 and 1."""
    V = vlen(b)
    x, y, u, v = vload(b, o), vload(b, o + V), vload(b, q), vload(b, q + V)
    vstore(b, o, fma(first[0], vflip(u, lanes), vmul(first[1], x)))
    vstore(b, o + V, fma(first[0], vflip(v, lanes), vmul(first[1], y)))
    vstore(b, q, fma(second[0], vflip(x, lanes), vmul(second[1], u)))
    vstore(b, q + V, fma(second[0], vflip(y, lanes), vmul(second[1], v)))


@compiled
def exchange(b: Array, k: int, ops: Array, i: int, items: Array, fixed: Array) -> None:
    """Exchange two basis states of the targets: rows j and j ^ flip, in some lanes, flipped.

    What a row does is decided before the loops: in them, stores could change it for all LLVM knows.
    """
    V = vlen(b)
    rows, count, flip, lanes = ops[i, ROWS], ops[i, COUNT], ops[i, FLIP], ops[i, LANES]
    o, q, whole = ops[i, MASK] * V, ops[i, SIGNS] * V, ops[i, SIZE]
    first, second = (vload(fixed, o), vload(fixed, o + V)), (vload(fixed, q), vload(fixed, q + V))
    pivot, mask, value = first_constraint(items, rows, count)
    visits = 1 << (k - count)
    if count < 2 and flip == 0 and whole:
        for p in range(visits):
            _flip_row(b, 2 * V * near_row(p, pivot, mask, value), lanes)
    elif count < 2 and flip == 0:
        for p in range(visits):
            _blend_row(b, 2 * V * near_row(p, pivot, mask, value), lanes, first)
    elif count < 2 and lanes == 0 and whole == 0:
        for p in range(visits):
            row = near_row(p, pivot, mask, value)
            _blend_rows(b, 2 * V * row, 2 * V * (row ^ flip), 0, first, second)
    elif count < 2 and whole == 0:
        for p in range(visits):
            row = near_row(p, pivot, mask, value)
            _blend_rows(b, 2 * V * row, 2 * V * (row ^ flip), lanes, first, second)
    else:
        for p in range(visits):
            row = row_at(p, items, rows, count)
            if flip == 0:
                _blend_row(b, 2 * V * row, lanes, first)
            elif whole:
                _exchange_rows(b, 2 * V * row, 2 * V * (row ^ flip), lanes)
            else:
                _blend_rows(b, 2 * V * row, 2 * V * (row ^ flip), lanes, first, second)


@compiled
def _gather(b: Array, row: int, items: Array, first: int, size: int, scratch: Array) -> None:
    V = vlen(b)
    for j in range(size):
        o = 2 * V * (row ^ items[first + j])
        vstore(scratch, 2 * V * j, vload(b, o))
        vstore(scratch, 2 * V * j + V, vload(b, o + V))


@compiled
def _add_product(C: Array, at: int, x: Array, y: Array, p: Array, q: Array, sums: Array) -> Array:
    """Add an entry's product with x + i y; p and q are x and y, or minus them for its conjugate."""
    re, im = vload(C, at), vload(C, at + vlen(C))
    return fms(im, q, fma(re, x, sums[0])), fma(im, p, fma(re, y, sums[1]))


@compiled
def _dense_four(
    b: Array,
    k: int,
    items: Array,
    rows: int,
    count: int,
    first: int,
    C: Array,
    entry: int,
    down: int,
    across: int,
    sign: Array,
) -> None:
    """Multiply by a matrix on two qubits: four rows stay in registers."""
    V, zero = vlen(b), vzero(b)
    f, g, h = items[first + 1], items[first + 2], items[first + 3]
    for n in range(1 << (k - count)):
        row = row_at(n, items, rows, count)
        o, p, q, r = 2 * V * row, 2 * V * (row ^ f), 2 * V * (row ^ g), 2 * V * (row ^ h)
        x0, x1, x2, x3 = vload(b, o), vload(b, p), vload(b, q), vload(b, r)
        y0, y1, y2, y3 = vload(b, o + V), vload(b, p + V), vload(b, q + V), vload(b, r + V)
        s0, s1, s2, s3 = vmul(sign, x0), vmul(sign, x1), vmul(sign, x2), vmul(sign, x3)
        t0, t1, t2, t3 = vmul(sign, y0), vmul(sign, y1), vmul(sign, y2), vmul(sign, y3)
        for j in range(4):
            at, out = entry + j * down, 2 * V * (row ^ items[first + j])
            z = _add_product(C, at, x0, y0, s0, t0, (zero, zero))
            z = _add_product(C, at + across, x1, y1, s1, t1, z)
            z = _add_product(C, at + 2 * across, x2, y2, s2, t2, z)
            z = _add_product(C, at + 3 * across, x3, y3, s3, t3, z)
            vstore(b, out, z[0])
            vstore(b, out + V, z[1])


@compiled
def dense(
    b: Array, k: int, ops: Array, i: int, items: Array, C: Array, scratch: Array, adjoint: int
) -> None:
    """Multiply by a matrix on some qubits of the rows, or by its adjoint."""
    V = vlen(b)
    rows, count, first, size = ops[i, ROWS], ops[i, COUNT], ops[i, FIRST], ops[i, SIZE]
    entry = ops[i, ENTRY] * V
    down, across = 2 * V * size, 2 * V
    if adjoint:
        down, across = across, down
    if size == 4:
        sign = vfill(b, -1.0 if adjoint else 1.0)
        _dense_four(b, k, items, rows, count, first, C, entry, down, across, sign)
        return
    for p in range(1 << (k - count)):
        row = row_at(p, items, rows, count)
        _gather(b, row, items, first, size, scratch)
        for j in range(size):
            re, im = vzero(b), vzero(b)
            at = entry + j * down
            for h in range(0, 2 * V * size, 2 * V):
                cr, ci, x, y = (
                    vload(C, at),
                    vload(C, at + V),
                    vload(scratch, h),
                    vload(scratch, h + V),
                )
                if adjoint:
                    re, im = fma(ci, y, fma(cr, x, re)), fms(ci, x, fma(cr, y, im))
                else:
                    re, im = fms(ci, y, fma(cr, x, re)), fma(ci, x, fma(cr, y, im))
                at += across
            o = 2 * V * (row ^ items[first + j])
            vstore(b, o, re)
            vstore(b, o + V, im)


@compiled
def dense_environment(
    b: Array,
    c: Array,
    k: int,
    ops: Array,
    i: int,
    items: Array,
    fixed: Array,
    E: Array,
    scratch: Array,
) -> None:
    """E_ij = sum of conj(lambda_i) psi_j, with psi before and lambda after the matrix."""
    V = vlen(b)
    rows, count, first, size = ops[i, ROWS], ops[i, COUNT], ops[i, FIRST], ops[i, SIZE]
    m = vload(fixed, ops[i, MASK] * V)
    for p in range(1 << (k - count)):
        row = row_at(p, items, rows, count)
        _gather(b, row, items, first, size, scratch)
        at = ops[i, LIVE] * V
        for j in range(size):
            o = 2 * V * (row ^ items[first + j])
            r, s = vmul(m, vload(c, o)), vmul(m, vload(c, o + V))
            for h in range(0, 2 * V * size, 2 * V):
                x, y = vload(scratch, h), vload(scratch, h + V)
                vstore(E, at, fma(s, y, fma(r, x, vload(E, at))))
                vstore(E, at + V, fms(s, x, fma(r, y, vload(E, at + V))))
                at += 2 * V
