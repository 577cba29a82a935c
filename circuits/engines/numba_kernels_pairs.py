"""Compiled kernels: two rotations about words in one pass, forward and reverse.

Each flips rows, no lanes, has no controls, and neither flips the sign of the other. Both have an
odd number of Y, or both an even one. A rotation of a pair of rows, psi and phi, is one of real
numbers: x' = cos x + s u and u' = cos u - s x for x and u a part of psi and one of phi. With an odd
number of Y these are the same parts, and all have the same s. With an even number phi stands
crossed, its imaginary part first, and s is negative for the imaginary part of psi.

A pass reads and writes a tile once, not twice: the nearest cache does not hold all of a large one.
The second instruction has SIZE = 1, and where in ``items`` the constraints of both begin is its
OUT.
"""

from __future__ import annotations

from circuits.engines.instructions import BASE_SIGN, ENTRY, FLIP, LIVE, ODD, OUT, SIGNS
from circuits.engines.numba_kernels_gates import Array, accumulate, row_at
from circuits.engines.numba_simd import (
    compiled,
    fma,
    fms,
    inlined,
    popcount,
    vadd,
    vlen,
    vload,
    vmul,
    vsplat,
    vstore,
    vsub,
    vzero,
)


@compiled
def _coefficients(ops: Array, i: int, C: Array, sign: Array, base: int) -> Array:
    V = vlen(C)
    entry, s = ops[i, ENTRY] * V, vsplat(sign)
    if popcount(base & ops[i, BASE_SIGN]) & 1:
        s = vsub(vzero(C), s)
    return vload(C, entry), vmul(s, vload(C, entry + V))


@inlined
def _read(b: Array, row: int, crossed: int) -> Array:
    V, o = vlen(b), 2 * vlen(b) * row
    return (vload(b, o + V), vload(b, o)) if crossed else (vload(b, o), vload(b, o + V))


@inlined
def _write(b: Array, row: int, crossed: int, parts: Array) -> None:
    V, o = vlen(b), 2 * vlen(b) * row
    vstore(b, o, parts[1] if crossed else parts[0])
    vstore(b, o + V, parts[0] if crossed else parts[1])


@inlined
def _add(a: Array, b: Array, c: Array, negative: int) -> Array:
    return fms(a, b, c) if negative else fma(a, b, c)


@inlined
def _rotated(x: Array, u: Array, f: Array, even: int, crossed: int) -> Array:
    """Both rows of a pair after a rotation; ``crossed``: the first one stands crossed."""
    (cos, s), first, second = f, even & crossed, even & (1 - crossed)
    return (
        (_add(s, u[0], vmul(cos, x[0]), first), _add(s, u[1], vmul(cos, x[1]), second)),
        (_add(s, x[0], vmul(cos, u[0]), 1 - first), _add(s, x[1], vmul(cos, u[1]), 1 - second)),
    )


@inlined
def _seen(x: Array, u: Array, r: Array, t: Array, e: Array, even: int, crossed: int) -> Array:
    """Add a pair of rows, of psi and of lambda, to an environment."""
    first, second = even & crossed, even & (1 - crossed)
    e = _add(t[0], x[0], _add(r[0], u[0], e, first), 1 - first)
    return _add(t[1], x[1], _add(r[1], u[1], e, second), 1 - second)


@inlined
def _write_rotated(
    b: Array,
    row: int,
    one: int,
    two: int,
    f: Array,
    g: Array,
    x: Array,
    u: Array,
    y: Array,
    v: Array,
    even: int,
) -> None:
    """Write four rows after the rotations f, of x and u, y and v, and g, of x and y, u and v."""
    x, u = _rotated(x, u, f, even, 0)
    y, v = _rotated(y, v, f, even, 1)
    x, y = _rotated(x, y, g, even, 0)
    u, v = _rotated(u, v, g, even, 1)
    _write(b, row, 0, x)
    _write(b, row ^ one, even, u)
    _write(b, row ^ two, even, y)
    _write(b, row ^ one ^ two, 0, v)


@inlined
def _rotate(
    b: Array, k: int, items: Array, at: int, one: int, two: int, f: Array, g: Array, even: int
) -> None:
    """Rotate a tile by f, whose flip is ``one``, and g."""
    for p in range(1 << (k - 2)):
        row = row_at(p, items, at, 2)
        x, u = _read(b, row, 0), _read(b, row ^ one, even)
        y, v = _read(b, row ^ two, even), _read(b, row ^ one ^ two, 0)
        _write_rotated(b, row, one, two, f, g, x, u, y, v, even)


@compiled
def word_pair(
    b: Array, k: int, ops: Array, i: int, items: Array, C: Array, sign: Array, base: int
) -> None:
    """Apply the rotations i - 1 and i, or with sign = -1 undo them."""
    f, g = _coefficients(ops, i - 1, C, sign, base), _coefficients(ops, i, C, sign, base)
    if ops[i, ODD]:
        _rotate(b, k, items, ops[i, OUT], ops[i - 1, FLIP], ops[i, FLIP], f, g, 0)
    else:
        _rotate(b, k, items, ops[i, OUT], ops[i - 1, FLIP], ops[i, FLIP], f, g, 1)


@inlined
def _undo(
    b: Array,
    c: Array,
    k: int,
    items: Array,
    at: int,
    one: int,
    two: int,
    f: Array,
    g: Array,
    even: int,
) -> Array:
    """Rotate psi and lambda by g, then by f; return the environments of f and of g before each."""
    e = d = h = j = vzero(b)
    for p in range(1 << (k - 2)):
        row = row_at(p, items, at, 2)
        x, u = _read(b, row, 0), _read(b, row ^ one, even)
        y, v = _read(b, row ^ two, even), _read(b, row ^ one ^ two, 0)
        q, r = _read(c, row, 0), _read(c, row ^ one, even)
        s, t = _read(c, row ^ two, even), _read(c, row ^ one ^ two, 0)
        h, j = _seen(x, u, q, r, h, even, 0), _seen(y, v, s, t, j, even, 1)
        e, d = _seen(x, y, q, s, e, even, 0), _seen(u, v, r, t, d, even, 1)
        _write_rotated(b, row, one, two, f, g, x, u, y, v, even)
        _write_rotated(c, row, one, two, f, g, q, r, s, t, even)
    return vadd(h, j), vadd(e, d)


@compiled
def _accumulate_signed(ops: Array, i: int, fixed: Array, E: Array, e: Array, base: int) -> None:
    if ops[i, LIVE] >= 0:
        V = vlen(E)
        if popcount(base & ops[i, BASE_SIGN]) & 1:
            e = vsub(vzero(E), e)
        accumulate(E, ops[i, LIVE] * V, vmul(e, vload(fixed, ops[i, SIGNS] * V)))


@compiled
def word_pair_reverse(
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
    """Undo the rotations i and i - 1 on psi and lambda, with their environments."""
    back = b.dtype.type(-1)
    f, g = _coefficients(ops, i - 1, C, back, base), _coefficients(ops, i, C, back, base)
    one, two, at = ops[i - 1, FLIP], ops[i, FLIP], ops[i, OUT]
    if ops[i, ODD]:
        e, d = _undo(b, c, k, items, at, one, two, f, g, 0)
    else:
        e, d = _undo(b, c, k, items, at, one, two, f, g, 1)
    _accumulate_signed(ops, i - 1, fixed, E, e, base)
    _accumulate_signed(ops, i, fixed, E, d, base)
