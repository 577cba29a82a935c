"""Compiled: states in and out of tiles, and what is done to a whole tile."""

from __future__ import annotations

from typing import Any

from circuits.engines.numba_kernels_lanes import transpose, vgather, vscatter
from circuits.engines.numba_simd import (
    compiled,
    fma,
    fms,
    vevens,
    vlen,
    vload,
    vmul,
    vodds,
    vsplat,
    vstore,
    vzero,
    vzip_high,
    vzip_low,
)

Array = Any  # NumPy's arrays, and in compiled code vectors and integers


@compiled
def image(row: int, order: Array) -> int:
    """Where a linear map over GF(2) takes a row: between those of a tile and those of a state."""
    return order[row & 63] ^ order[64 + (row >> 6)]


# -- one sample, with qubits in the lanes: order gives the row of the state for a row of the tile --


@compiled
def load_rows(states: Array, sample: int, b: Array, k: int, base: int, order: Array) -> None:
    """Read a tile of a state, real and imaginary parts in turn in memory.

    Samples take the states in turn where there are fewer of these.
    """
    V, one = vlen(b), states[sample % states.shape[0]]
    for row in range(1 << k):
        o, q = 2 * V * row, 2 * V * (base ^ image(row, order))
        x, y = vload(one, q), vload(one, q + V)
        vstore(b, o, vevens(x, y))
        vstore(b, o + V, vodds(x, y))


@compiled
def store_rows(states: Array, sample: int, b: Array, k: int, base: int, order: Array) -> None:
    """Write a tile of a state."""
    V, one = vlen(b), states[sample]
    for row in range(1 << k):
        o, q = 2 * V * row, 2 * V * (base ^ image(row, order))
        x, y = vload(b, o), vload(b, o + V)
        vstore(one, q, vzip_low(x, y))
        vstore(one, q + V, vzip_high(x, y))


# -- samples in the lanes: order gives the row of the tile for a row of the state ------------------


@compiled
def _load_lanes(
    states: Array, sample: int, lanes: int, b: Array, k: int, order: Array, scratch: Array
) -> None:
    """Read whole states; V numbers of each at once, where they are as long."""
    V, width, first = vlen(b), states.shape[1], sample % states.shape[0]
    start, step = first * width, width if states.shape[0] > 1 else 0
    if step and first + lanes > states.shape[0]:
        for lane in range(V):
            one = states[(sample + min(lane, lanes - 1)) % states.shape[0]]
            for q in range(1 << k):
                o = 2 * V * image(q, order) + lane
                b[o], b[o + V] = one[2 * q], one[2 * q + 1]
        return
    if width < V:
        for q in range(1 << k):
            o = 2 * V * image(q, order)
            vstore(b, o, vgather(states, start + 2 * q, step, lanes))
            vstore(b, o + V, vgather(states, start + 2 * q + 1, step, lanes))
        return
    for at in range(0, width, V):
        transpose(states, start + at, step, lanes, scratch, 0, V, V)
        for j in range(0, V, 2):
            o = 2 * V * image((at + j) >> 1, order)
            vstore(b, o, vload(scratch, j * V))
            vstore(b, o + V, vload(scratch, (j + 1) * V))


@compiled
def _store_lanes(
    states: Array, sample: int, lanes: int, b: Array, k: int, order: Array, scratch: Array
) -> None:
    """Write whole states; V numbers of each at once, where they are as long."""
    V, width = vlen(b), states.shape[1]
    start = sample * width
    if width < V:
        for q in range(1 << k):
            o = 2 * V * image(q, order)
            vscatter(states, start + 2 * q, width, lanes, vload(b, o))
            vscatter(states, start + 2 * q + 1, width, lanes, vload(b, o + V))
        return
    for at in range(0, width, V):
        for j in range(0, V, 2):
            o = 2 * V * image((at + j) >> 1, order)
            vstore(scratch, j * V, vload(b, o))
            vstore(scratch, (j + 1) * V, vload(b, o + V))
        transpose(scratch, 0, V, V, states, start + at, width, lanes)


@compiled
def load_block(
    states: Array,
    sample: int,
    wide: int,
    lanes: int,
    b: Array,
    k: int,
    order: Array,
    scratch: Array,
) -> None:
    """Read the states of a block: samples in the lanes, or one sample."""
    if wide:
        _load_lanes(states, sample, lanes, b, k, order, scratch)
    else:
        load_rows(states, sample, b, k, k - k, order)


@compiled
def store_block(
    states: Array,
    sample: int,
    wide: int,
    lanes: int,
    b: Array,
    k: int,
    order: Array,
    scratch: Array,
) -> None:
    """Write the states of a block."""
    if wide:
        _store_lanes(states, sample, lanes, b, k, order, scratch)
    else:
        store_rows(states, sample, b, k, k - k, order)


# -- |0...0> ---------------------------------------------------------------------------------------


@compiled
def is_zero_state(state: Array) -> bool:
    """Whether a state is a multiple of |0...0>; what is not a number is not zero."""
    others = 0
    for at in range(2, state.shape[0]):
        others |= state[at] != 0.0
    return others == 0


@compiled
def load_zero_row(state: Array, wide: int, b: Array) -> None:
    """Make row 0 of the tile of a multiple of |0...0>: the others are zero."""
    V = vlen(b)
    if wide:
        vstore(b, 0, vsplat(state[0]))
        vstore(b, V, vsplat(state[1]))
    else:
        vstore(b, 0, vzero(b))
        vstore(b, V, vzero(b))
        b[0], b[V] = state[0], state[1]


# -- whole tiles -----------------------------------------------------------------------------------


@compiled
def multiply_rows(b: Array, k: int, re: Array, im: Array) -> None:
    """Multiply a tile by a phase."""
    V = vlen(b)
    for o in range(0, (2 * V) << k, 2 * V):
        x, y = vload(b, o), vload(b, o + V)
        vstore(b, o, fms(im, y, vmul(re, x)))
        vstore(b, o + V, fma(im, x, vmul(re, y)))


@compiled
def zero_rows(b: Array, k: int) -> None:
    """Set a tile to zero."""
    V = vlen(b)
    for o in range(0, (2 * V) << k, V):
        vstore(b, o, vzero(b))


@compiled
def imaginary_dot(b: Array, c: Array, k: int) -> Array:
    """Im <c|b> of a tile, by lane."""
    V, total = vlen(b), vzero(b)
    for o in range(0, (2 * V) << k, 2 * V):
        x, y, r, s = vload(b, o), vload(b, o + V), vload(c, o), vload(c, o + V)
        total = fms(s, x, fma(r, y, total))
    return total
