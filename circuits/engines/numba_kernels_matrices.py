"""Compiled kernels: exchanges of basis states, and matrices on some qubits of the rows."""

from __future__ import annotations

from circuits.engines.numba_kernels_gates import (
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
    Array,
    first_constraint,
    near_row,
    row_at,
)
from circuits.engines.numba_simd import (
    compiled,
    fma,
    fms,
    vflip,
    vlen,
    vload,
    vmul,
    vstore,
    vzero,
)


@compiled
def _exchange_rows(b: Array, o: int, q: int, lanes: int) -> None:
    """Exchange two rows whole, or flip the lanes of one."""
    V = vlen(b)
    x, y, u, v = vload(b, o), vload(b, o + V), vload(b, q), vload(b, q + V)
    vstore(b, q, vflip(x, lanes))
    vstore(b, q + V, vflip(y, lanes))
    if q != o:
        vstore(b, o, vflip(u, lanes))
        vstore(b, o + V, vflip(v, lanes))


@compiled
def _blend_rows(b: Array, o: int, q: int, lanes: int, first: Array, second: Array) -> None:
    """Exchange some lanes of two rows by products with 0 and 1; a select would be slow."""
    V = vlen(b)
    x, y, u, v = vload(b, o), vload(b, o + V), vload(b, q), vload(b, q + V)
    vstore(b, o, fma(first[0], vflip(u, lanes), vmul(first[1], x)))
    vstore(b, o + V, fma(first[0], vflip(v, lanes), vmul(first[1], y)))
    if q != o:
        vstore(b, q, fma(second[0], vflip(x, lanes), vmul(second[1], u)))
        vstore(b, q + V, fma(second[0], vflip(y, lanes), vmul(second[1], v)))


@compiled
def exchange(b: Array, k: int, ops: Array, i: int, items: Array, fixed: Array) -> None:
    """Exchange two basis states of the targets: rows j and j ^ flip, in some lanes, flipped."""
    V = vlen(b)
    rows, count, flip, lanes = ops[i, ROWS], ops[i, COUNT], ops[i, FLIP], ops[i, LANES]
    o, q = ops[i, MASK] * V, ops[i, SIGNS] * V
    first, second = (vload(fixed, o), vload(fixed, o + V)), (vload(fixed, q), vload(fixed, q + V))
    pivot, mask, value = first_constraint(items, rows, min(count, 1))
    for p in range(1 << (k - count)):
        row = near_row(p, pivot, mask, value) if count < 2 else row_at(p, items, rows, count)
        if ops[i, SIZE]:
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
