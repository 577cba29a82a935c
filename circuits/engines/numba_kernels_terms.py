"""Compiled kernels of observables: values of Pauli words and projectors, and lambda = sum f P psi.

A word acts as (P psi)[j] = (1 or i) s(j) psi[j ^ flip], where the sign s is the parity of a mask.
Words with one flip and one power of i are a group. Over a block of 64 rows all sums with signs are
one Walsh-Hadamard transform, and so are the factors of all rows from those of the words.
"""

from __future__ import annotations

from typing import Any

from circuits.engines.instructions import (
    GROUP_FIRST,
    GROUP_FLAT,
    GROUP_FLIP,
    GROUP_LANES,
    GROUP_LAST,
    GROUP_ODD,
    GROUP_WIDE,
    PROJECTOR_BASE,
    PROJECTOR_COUNT,
    PROJECTOR_ROWS,
    PROJECTOR_VALUE,
    WORD_BASE,
    WORD_MASK,
)
from circuits.engines.numba_kernels_gates import near_row, row_at
from circuits.engines.numba_simd import (
    compiled,
    fma,
    merged,
    popcount,
    vadd,
    vflip,
    vlen,
    vload,
    vmul,
    vstore,
    vsub,
    vzero,
)

BLOCK = 64
"""Rows of a transform."""

FEW = 2
"""Words of a group up to which each is taken by itself: a transform costs as much as five."""

Array = Any  # NumPy's arrays, and in compiled code vectors and integers


@compiled
def _transform(scratch: Array, size: int) -> None:
    """Walsh-Hadamard transform of ``size`` vectors in place."""
    V = vlen(scratch)
    half = 1
    while half < size:
        for start in range(0, size, 2 * half):
            for o in range(start * V, (start + half) * V, V):
                x, y = vload(scratch, o), vload(scratch, o + half * V)
                vstore(scratch, o, vadd(x, y))
                vstore(scratch, o + half * V, vsub(x, y))
        half *= 2


@compiled
def _product(odd: int, x: Array, y: Array, u: Array, v: Array) -> Array:
    """Re conj(x + i y) (1 or i) (u + i v)."""
    if odd:
        return vsub(vmul(y, u), vmul(x, v))
    return fma(x, u, vmul(y, v))


@compiled
def _is_negative(words: Array, t: int, row: int, base: int) -> int:
    return (popcount(row & words[t, WORD_MASK]) + popcount(base & words[t, WORD_BASE])) & 1


@compiled
def _add_flat(b: Array, k: int, flip: int, lanes: int, odd: int) -> Array:
    """Sum of the products of all rows."""
    V = vlen(b)
    total, other = vzero(b), vzero(b)
    if lanes == 0 and flip and odd == 0:
        pivot = flip & -flip
        for p in range(1 << (k - 1)):
            row = p + (p & -pivot)
            o, q = 2 * V * row, 2 * V * (row ^ flip)
            total = fma(vload(b, o), vload(b, q), total)
            other = fma(vload(b, o + V), vload(b, q + V), other)
        total = vadd(total, other)
        return vadd(total, total)
    for row in range(1 << k):
        o, q = 2 * V * row, 2 * V * (row ^ flip)
        u, v = vflip(vload(b, q), lanes), vflip(vload(b, q + V), lanes)
        total = vadd(total, _product(odd, vload(b, o), vload(b, o + V), u, v))
    return total


@compiled
def _add_signed(b: Array, k: int, flip: int, lanes: int, odd: int, mask: int) -> Array:
    """Sum of the products of all rows, each with the sign of its parity under ``mask``."""
    pivot = mask & -mask
    sums = (vzero(b), vzero(b))
    for p in range(1 << (k - 1)):
        row = near_row(p, pivot, mask, p - p)
        sums = (
            vadd(sums[0], _row_product(b, row, flip, lanes, odd)),
            vadd(sums[1], _row_product(b, row ^ pivot, flip, lanes, odd)),
        )
    return vsub(sums[0], sums[1])


@compiled
def _row_product(b: Array, row: int, flip: int, lanes: int, odd: int) -> Array:
    V = vlen(b)
    o, q = 2 * V * row, 2 * V * (row ^ flip)
    u, v = vload(b, q), vload(b, q + V)
    if lanes:
        u, v = vflip(u, lanes), vflip(v, lanes)
    return _product(odd, vload(b, o), vload(b, o + V), u, v)


@compiled
def measure_words(
    b: Array, k: int, groups: Array, words: Array, base: int, sums: Array, scratch: Array
) -> None:
    """Add the tile's sum for every word, without its signs by lane, to ``sums``."""
    V, low = vlen(b), min(k, 6)
    for g in range(groups.shape[0]):
        flip, lanes, odd = groups[g, GROUP_FLIP], groups[g, GROUP_LANES], groups[g, GROUP_ODD]
        first, last = groups[g, GROUP_FIRST], groups[g, GROUP_LAST]
        if groups[g, GROUP_FLAT]:
            total = _add_flat(b, k, flip, lanes, odd)
            for t in range(first, last):
                signed = vsub(vzero(b), total) if _is_negative(words, t, 0, base) else total
                vstore(sums, t * V, vadd(vload(sums, t * V), signed))
            continue
        if last - first <= FEW:
            for t in range(first, last):
                mask = words[t, WORD_MASK]
                if mask:
                    d = _add_signed(b, k, flip, lanes, odd, mask)
                else:
                    d = _add_flat(b, k, flip, lanes, odd)
                d = vsub(vzero(b), d) if _is_negative(words, t, 0, base) else d
                vstore(sums, t * V, vadd(vload(sums, t * V), d))
            continue
        for start in range(0, 1 << k, 1 << low):
            for i in range(1 << low):
                vstore(scratch, i * V, _row_product(b, start + i, flip, lanes, odd))
            _transform(scratch, 1 << low)
            for t in range(first, last):
                d = vload(scratch, (words[t, WORD_MASK] & ((1 << low) - 1)) * V)
                d = vsub(vzero(b), d) if _is_negative(words, t, start, base) else d
                vstore(sums, t * V, vadd(vload(sums, t * V), d))


@merged
def _spectrum(
    k: int,
    words: Array,
    first: int,
    last: int,
    start: int,
    base: int,
    factors: Array,
    scratch: Array,
) -> None:
    """Leave the factor of every row of the block from ``start`` in ``scratch``."""
    V, low = vlen(scratch), min(k, 6)
    for i in range(1 << low):
        vstore(scratch, i * V, vzero(scratch))
    for t in range(first, last):
        f, at = vload(factors, t * V), (words[t, WORD_MASK] & ((1 << low) - 1)) * V
        f = vsub(vzero(scratch), f) if _is_negative(words, t, start, base) else f
        vstore(scratch, at, vadd(vload(scratch, at), f))
    _transform(scratch, 1 << low)


@compiled
def _add_row(c: Array, o: int, odd: int, d: Array, u: Array, v: Array) -> None:
    """Add (1 or i) d (u + i v) to lambda in the row at o."""
    V = vlen(c)
    x, y = vload(c, o), vload(c, o + V)
    if odd:
        u, v = vsub(vzero(c), v), u
    vstore(c, o, fma(d, u, x))
    vstore(c, o + V, fma(d, v, y))


@merged
def _start_signed(
    b: Array, c: Array, k: int, flip: int, lanes: int, odd: int, mask: int, f: Array
) -> None:
    """Add f P psi to lambda for one word, whose sign is the parity of the row under ``mask``."""
    V, minus = vlen(b), vsub(vzero(c), f)
    for row in range(1 << k):
        q = 2 * V * (row ^ flip)
        u, v = vload(b, q), vload(b, q + V)
        if lanes:
            u, v = vflip(u, lanes), vflip(v, lanes)
        _add_row(c, 2 * V * row, odd, minus if popcount(row & mask) & 1 else f, u, v)


@compiled
def start_words(
    b: Array,
    c: Array,
    k: int,
    groups: Array,
    words: Array,
    base: int,
    factors: Array,
    scratch: Array,
) -> None:
    """Add sum_t f_t P_t psi to lambda; a word's factors carry its signs by lane."""
    V, low = vlen(b), min(k, 6)
    for g in range(groups.shape[0]):
        flip, lanes, odd = groups[g, GROUP_FLIP], groups[g, GROUP_LANES], groups[g, GROUP_ODD]
        first, last = groups[g, GROUP_FIRST], groups[g, GROUP_LAST]
        if groups[g, GROUP_FLAT]:
            d = vzero(b)
            for t in range(first, last):
                f = vload(factors, t * V)
                d = vsub(d, f) if _is_negative(words, t, 0, base) else vadd(d, f)
            if lanes == 0 and odd == 0:
                for row in range(1 << k):
                    o, q = 2 * V * row, 2 * V * (row ^ flip)
                    vstore(c, o, fma(d, vload(b, q), vload(c, o)))
                    vstore(c, o + V, fma(d, vload(b, q + V), vload(c, o + V)))
            else:
                for row in range(1 << k):
                    q = 2 * V * (row ^ flip)
                    u, v = vflip(vload(b, q), lanes), vflip(vload(b, q + V), lanes)
                    _add_row(c, 2 * V * row, odd, d, u, v)
            continue
        if last - first <= FEW:
            for t in range(first, last):
                f = vload(factors, t * V)
                f = vsub(vzero(c), f) if _is_negative(words, t, 0, base) else f
                _start_signed(b, c, k, flip, lanes, odd, words[t, WORD_MASK], f)
            continue
        for start in range(0, 1 << k, 1 << low):
            if start == 0 or groups[g, GROUP_WIDE]:
                _spectrum(k, words, first, last, start, base, factors, scratch)
            for i in range(1 << low):
                q = 2 * V * ((start + i) ^ flip)
                u, v = vload(b, q), vload(b, q + V)
                if lanes:
                    u, v = vflip(u, lanes), vflip(v, lanes)
                _add_row(c, 2 * V * (start + i), odd, vload(scratch, i * V), u, v)


@compiled
def measure_projector(
    b: Array, k: int, projectors: Array, t: int, items: Array, base: int
) -> Array:
    """Sum of |psi|**2 over the rows that a projector keeps, by lane."""
    V, total = vlen(b), vzero(b)
    if base & projectors[t, PROJECTOR_BASE] == projectors[t, PROJECTOR_VALUE]:
        rows, count = projectors[t, PROJECTOR_ROWS], projectors[t, PROJECTOR_COUNT]
        for p in range(1 << (k - count)):
            o = 2 * V * row_at(p, items, rows, count)
            x, y = vload(b, o), vload(b, o + V)
            total = fma(x, x, fma(y, y, total))
    return total


@compiled
def start_projector(
    b: Array, c: Array, k: int, projectors: Array, t: int, items: Array, base: int, f: Array
) -> None:
    """Add f psi to lambda on the rows that a projector keeps; f is zero in lanes that it drops."""
    V = vlen(b)
    if base & projectors[t, PROJECTOR_BASE] == projectors[t, PROJECTOR_VALUE]:
        rows, count = projectors[t, PROJECTOR_ROWS], projectors[t, PROJECTOR_COUNT]
        for p in range(1 << (k - count)):
            o = 2 * V * row_at(p, items, rows, count)
            vstore(c, o, fma(f, vload(b, o), vload(c, o)))
            vstore(c, o + V, fma(f, vload(b, o + V), vload(c, o + V)))
