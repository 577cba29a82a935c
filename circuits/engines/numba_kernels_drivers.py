"""Compiled drivers: whole programs on states that fit one tile, one call for all samples.

A call's samples are blocks: one sample, or as many as a vector has lanes. Threads that run the same
call claim blocks from a counter; a block's results do not depend on who computes it. A call is over
when the last block is done, not when the last one is claimed: a helper may still be at work. A
helper that comes too late to claim one writes nowhere: its room may be that of the next call's.
"""

from __future__ import annotations

from typing import Any

from numba import types

from circuits.engines.instructions import (
    BASE_MASK,
    BASE_VALUE,
    BEFORE,
    BEHIND,
    ENTRY,
    EXCHANGE,
    FLIP,
    KIND,
    LANE_TURN,
    LIVE,
    MEMBER,
    PHASE,
    PROJECTOR_MASK,
    ROWS,
    RUN,
    SIZE,
    TABLE,
    TURN,
    WORD,
    WORD_SIGNS,
)
from circuits.engines.numba_kernels_gates import (
    accumulate,
    lane_turn,
    lane_turn_reverse,
    phase,
    phase_reverse,
    table,
    table_environment,
    turn,
    turn_reverse,
    word,
    word_reverse,
)
from circuits.engines.numba_kernels_lanes import vgather, vscatter
from circuits.engines.numba_kernels_matrices import dense, dense_environment, exchange
from circuits.engines.numba_kernels_packing import PART, part, part_rows
from circuits.engines.numba_kernels_pairs import word_pair, word_pair_reverse
from circuits.engines.numba_kernels_runs import run, run_undone
from circuits.engines.numba_kernels_states import (
    imaginary_dot,
    is_zero_state,
    load_block,
    load_zero_row,
    multiply_rows,
    store_block,
    zero_rows,
)
from circuits.engines.numba_kernels_tables import (
    fill_operands,
    finish,
    mark_varying,
    prepare,
    store_results,
)
from circuits.engines.numba_kernels_terms import (
    measure_projector,
    measure_words,
    start_projector,
    start_words,
)
from circuits.engines.numba_simd import (
    atomic_add,
    compiled,
    compiled_driver,
    fma,
    fms,
    merged,
    popcount,
    vadd,
    vlen,
    vload,
    vmul,
    vsplat,
    vstore,
    vsub,
    vsum,
    vzero,
)

ROWS_LOG, WIDE, BATCH, BLOCKS, STOP, PHASED, DOT = range(7)
"""Numbers of a call: log2 of the rows of a tile; whether lanes are samples; samples; blocks; first
instruction that the reverse sweep undoes; whether columns 0 and 1 are a phase of the state, and
whether its gradient is asked for."""

AT_LAMBDA, AT_OPERANDS, AT_COEFFICIENTS, AT_ENVIRONMENTS, AT_RESULTS, AT_SUMS = range(7, 13)
AT_SCRATCH, AT_MARKS = 13, 14
"""Where the parts of a thread's workspace start; psi starts at 0."""

JOINED, CLAIMED, DONE, COUNTERS = range(4)
"""Counters of a call: threads that joined, blocks that were claimed, and blocks that are done."""

GROWN, NUMBERS = 15, 16
"""Where it stands how many instructions at the beginning reach the rows one qubit after the other,
0 if they do not: as long as they run, |0...0> is zero in the rows not yet reached."""

OPS, UNWANTED, PASSES = range(NUMBERS, NUMBERS + 3 * PART, PART)
"""Heads of the parts of a call, behind its numbers: instructions; slots whose gradient is zero as
nobody wants it; passes of staged programs."""

ORDERS, ITEMS, FIXED, GROUPS, WORDS, PROJECTORS, LIMITS, SIGNS, LINKS, SHARES, BITS = range(
    0, 11 * PART, PART
)
"""Heads of the parts of a program's tables: rows of the state that a tile's rows are (ORDERS); what
instructions point into (ITEMS, FIXED); observables, with what projectors point into (LIMITS); in
stages bits that a tile's number is spread over (BITS)."""

Array = Any  # NumPy's arrays, and in compiled code vectors and integers


_yield = types.ExternalFunction("sched_yield", types.int32())


@compiled
def wait_for(control: Array, at: int, count: int) -> None:
    """Wait until a counter has reached ``count``."""
    spins = 0
    while atomic_add(control, at, 0) < count:
        spins += 1
        if spins > 200:
            _yield()
            spins = 0


@compiled
def unpacked(call: Array, tables: Array, like: Array) -> tuple[Array, ...]:
    """Instructions, what they point into, and observables; reals have the precision of ``like``."""
    return (
        part_rows(call, OPS, call),
        part(tables, ITEMS, tables),
        part(tables, FIXED, like),
        part_rows(tables, GROUPS, tables),
        part_rows(tables, WORDS, tables),
        part_rows(tables, PROJECTORS, tables),
        part(tables, LIMITS, tables),
        part(tables, SIGNS, like),
        part_rows(tables, LINKS, tables),
        part(tables, SHARES, like),
    )


@merged
def _grow(b: Array, size: int, ops: Array, i: int, items: Array, C: Array) -> None:
    """Apply a turn to the first 2**size rows, whose partners are beyond and zero.

    A row is the first of its pair where the turn's qubit is 0. Behind a CX it may be 1.
    """
    V, flip, entry, mask = vlen(b), ops[i, FLIP], ops[i, ENTRY] * vlen(b), items[ops[i, ROWS] + 1]
    Ar, Br, Bi = vload(C, entry), vload(C, entry + 2 * V), vload(C, entry + 3 * V)
    for row in range(1 << size):
        o, q, Ai, Wr = 2 * V * row, 2 * V * (row ^ flip), vload(C, entry + V), Br
        if popcount(row & mask) & 1:
            Ai = vsub(vzero(b), Ai)
        else:
            Wr = vsub(vzero(b), Br)
        x, y = vload(b, o), vload(b, o + V)
        vstore(b, o, fms(Ai, y, vmul(Ar, x)))
        vstore(b, o + V, fma(Ai, x, vmul(Ar, y)))
        vstore(b, q, fms(Bi, y, vmul(Wr, x)))
        vstore(b, q + V, fma(Wr, y, vmul(Bi, x)))


@compiled
def run_forward(
    b: Array,
    k: int,
    ops: Array,
    first: int,
    last: int,
    items: Array,
    fixed: Array,
    C: Array,
    scratch: Array,
    base: int,
    grown: int,
) -> None:
    """Apply instructions to a tile.

    The first ``grown`` of a program act on |0...0>, each on the rows that may hold anything but
    zeros: at most twice as many as the one before, so that all of them cost as much as two. Rows
    that none has reached yet are not even written; the last one of these reaches the rest.
    """
    one, size = b.dtype.type(1), k - k if grown else k
    for i in range(first, last):
        if base & ops[i, BASE_MASK] != ops[i, BASE_VALUE]:
            continue
        kind = ops[i, KIND]
        if kind == TURN:
            if i < grown and ops[i, FLIP] >> size:
                _grow(b, size, ops, i, items, C)
                size += 1
            else:
                turn(b, size, ops, i, items, C, one)
        elif kind == LANE_TURN:
            lane_turn(b, size, ops, i, items, C, one)
        elif kind == EXCHANGE:
            exchange(b, k, ops, i, items, fixed)
        elif kind == WORD:
            if ops[i, SIZE] == BEHIND:
                word_pair(b, k, ops, i, items, C, one, base)
            elif ops[i, SIZE] != BEFORE:
                word(b, k, ops, i, items, C, one, base)
        elif kind == PHASE:
            phase(b, k, ops, i, items, C, one, base)
        elif kind == TABLE:
            table(b, k, ops, i, items, C, one, base)
        elif kind == RUN:
            run(b, k, ops, i, items, C, scratch, one, base)
        elif kind != MEMBER:
            dense(b, k, ops, i, items, C, scratch, base - base)


@compiled
def run_reverse(  # budget: one branch a kind
    b: Array,
    c: Array,
    k: int,
    ops: Array,
    first: int,
    last: int,
    items: Array,
    fixed: Array,
    C: Array,
    E: Array,
    scratch: Array,
    base: int,
) -> None:
    """Undo instructions on psi and lambda, last one first, with the environments asked for."""
    back, adjoint = b.dtype.type(-1), base - base + 1
    for i in range(last - 1, first - 1, -1):
        if base & ops[i, BASE_MASK] != ops[i, BASE_VALUE]:
            continue
        kind, live = ops[i, KIND], ops[i, LIVE] >= 0
        if kind == TURN:
            if live:
                turn_reverse(b, c, k, ops, i, items, fixed, C, E)
            else:
                for tile in (b, c):
                    turn(tile, k, ops, i, items, C, back)
        elif kind == LANE_TURN:
            if live:
                lane_turn_reverse(b, c, k, ops, i, items, fixed, C, E)
            else:
                for tile in (b, c):
                    lane_turn(tile, k, ops, i, items, C, back)
        elif kind == EXCHANGE:
            exchange(b, k, ops, i, items, fixed)
            exchange(c, k, ops, i, items, fixed)
        elif kind == WORD:
            if ops[i, SIZE] == BEHIND:
                word_pair_reverse(b, c, k, ops, i, items, fixed, C, E, base)
            elif ops[i, SIZE] == BEFORE:
                continue
            elif live:
                word_reverse(b, c, k, ops, i, items, fixed, C, E, base)
            else:
                word(b, k, ops, i, items, C, back, base)
                word(c, k, ops, i, items, C, back, base)
        elif kind == PHASE:
            if live:
                phase_reverse(b, c, k, ops, i, items, fixed, C, E, base)
            else:
                phase(b, k, ops, i, items, C, back, base)
                phase(c, k, ops, i, items, C, back, base)
        elif kind == TABLE:
            table(b, k, ops, i, items, C, back, base)
            if live:
                table_environment(b, c, k, ops, i, items, fixed, E, base)
            table(c, k, ops, i, items, C, back, base)
        elif kind == RUN:
            if live:
                run_undone(b, c, k, ops, i, items, fixed, C, E, scratch, base)
            else:
                run(b, k, ops, i, items, C, scratch, back, base)
                run(c, k, ops, i, items, C, scratch, back, base)
        elif kind != MEMBER:
            dense(b, k, ops, i, items, C, scratch, adjoint)
            if live:
                dense_environment(b, c, k, ops, i, items, fixed, E, scratch)
            dense(c, k, ops, i, items, C, scratch, adjoint)


@compiled
def measure_tile(
    b: Array,
    k: int,
    groups: Array,
    words: Array,
    projectors: Array,
    items: Array,
    base: int,
    sums: Array,
    scratch: Array,
) -> None:
    """Add a tile's sums for all words, then for all projectors."""
    V = vlen(b)
    measure_words(b, k, groups, words, base, sums, scratch)
    for t in range(projectors.shape[0]):
        at = (words.shape[0] + t) * V
        total = measure_projector(b, k, projectors, t, items, base)
        vstore(sums, at, vadd(vload(sums, at), total))


@compiled
def sign_sums(words: Array, projectors: Array, signs: Array, sums: Array) -> None:
    """Give sums, or factors, of words and projectors the signs and zeros of their lanes."""
    V = vlen(sums)
    for t in range(words.shape[0]):
        at = words[t, WORD_SIGNS] * V
        vstore(sums, t * V, vmul(vload(sums, t * V), vload(signs, at)))
    for t in range(projectors.shape[0]):
        o, at = (words.shape[0] + t) * V, projectors[t, PROJECTOR_MASK] * V
        vstore(sums, o, vmul(vload(sums, o), vload(signs, at)))


@compiled
def store_values(
    sums: Array,
    links: Array,
    shares: Array,
    coefficients: Array,
    sample: int,
    wide: int,
    lanes: int,
    by_term: int,
    values: Array,
) -> None:
    """Add up the values of observables, or of terms.

    Link i says that term ``links[i, 0]``, of observable ``links[i, 2]``, has ``shares[i]`` of sum
    ``links[i, 1]``.
    """
    V, width, terms = vlen(sums), values.shape[1], coefficients.shape[1]
    apart, start, at = terms if coefficients.shape[0] > 1 else 0, sample * width, -1
    for t in range(width):
        if wide:
            vscatter(values, start + t, width, lanes, vzero(sums))
        else:
            values[sample, t] = 0.0
    total = vzero(sums)
    for i in range(links.shape[0]):
        term = links[i, 0]
        row = term if by_term else links[i, 2]
        one, share = vload(sums, links[i, 1] * V), shares[i]
        if not wide:
            c = 1.0 if by_term else coefficients[sample if apart else 0, term]
            values[sample, row] += c * (share * vsum(one))
            continue
        if row != at:  # a run of links to one value is added up first
            if at >= 0:
                vscatter(values, start + at, width, lanes, total)
            at, total = row, vgather(values, start + row, width, lanes)
        one = vmul(vsplat(share), one)
        if not by_term:
            one = vmul(vgather(coefficients, sample * apart + term, apart, lanes), one)
        total = vadd(total, one)
    if at >= 0:
        vscatter(values, start + at, width, lanes, total)


@compiled
def fill_factors(
    links: Array,
    shares: Array,
    coefficients: Array,
    weights: Array,
    sample: int,
    lanes: int,
    factors: Array,
    count: int,
) -> None:
    """Factors of lambda = sum 2 w c O psi for every word and projector."""
    V, width = vlen(factors), weights.shape[1]
    apart = coefficients.shape[1] if coefficients.shape[0] > 1 else 0
    for at in range(0, count * V, V):
        vstore(factors, at, vzero(factors))
    for i in range(links.shape[0]):
        c = vgather(coefficients, sample * apart + links[i, 0], apart, lanes)
        w = vgather(weights, sample * width + links[i, 2], width, lanes)
        share = vsplat(shares[i])
        accumulate(factors, links[i, 1] * V, vmul(vmul(vadd(share, share), c), w))


@compiled_driver
def forward(  # budget: the order of a call
    call: Array,
    tables: Array,
    numbers: Array,
    angles: Array,
    columns: Array,
    states: Array,
    coefficients: Array,
    final: Array,
    values: Array,
    work: Array,
    control: Array,
) -> None:
    """Apply a program to all samples and measure; run by every thread of the call."""
    room, orders = work[atomic_add(control, JOINED, 1)], part_rows(tables, ORDERS, tables)
    ops, items, fixed, groups, words, projectors, limits, signs, links, shares = unpacked(
        call, tables, numbers
    )
    k, wide, batch, slots = call[ROWS_LOG], call[WIDE], call[BATCH], angles.shape[1]
    b, L = room, room[call[AT_OPERANDS] :]
    C, sums, scratch, marks = (
        room[call[AT_COEFFICIENTS] :],
        room[call[AT_SUMS] :],
        room[call[AT_SCRATCH] :],
        room[call[AT_MARKS] :],
    )
    one, none, mark = k - k + 1, room.dtype.type(0), room.dtype.type(1)
    V, zero, count = vlen(room), k - k, words.shape[0] + projectors.shape[0]
    grown = call[GROWN] if states.shape[0] == 1 and is_zero_state(states[0]) else zero
    low, high, varies = zero, zero, False
    done, block = zero, atomic_add(control, CLAIMED, 1)
    if block < call[BLOCKS]:  # else the call may be over, and the room another's
        low, high, varies = mark_varying(angles, columns, ops, items, marks)
        fill_operands(angles, columns, zero, one, L, marks, none, zero, slots, scratch)
        prepare(ops, items, fixed, numbers, L, C, slots, marks, none)
    while block < call[BLOCKS]:
        sample = block * V if wide else block
        lanes = min(V, batch - sample) if wide else one
        if varies:
            fill_operands(angles, columns, sample, lanes, L, marks, mark, low, high, scratch)
            prepare(ops, items, fixed, numbers, L, C, slots, marks, mark)
        if grown:
            load_zero_row(states[0], wide, b)
        else:
            load_block(states, sample, wide, lanes, b, k, orders[0], scratch)
        run_forward(b, k, ops, zero, ops.shape[0], items, fixed, C, scratch, zero, grown)
        if call[PHASED]:
            at = 3 * slots * V
            multiply_rows(b, k, vload(L, at), vload(L, at + V))
        if count:
            for at in range(0, count * V, V):
                vstore(sums, at, vzero(b))
            measure_tile(b, k, groups, words, projectors, limits, zero, sums, scratch)
            sign_sums(words, projectors, signs, sums)
            store_values(sums, links, shares, coefficients, sample, wide, lanes, zero, values)
        store_block(final, sample, wide, lanes, b, k, orders[1], scratch)
        done += 1
        block = atomic_add(control, CLAIMED, 1)
    atomic_add(control, DONE, done)
    wait_for(control, DONE, call[BLOCKS])


@compiled_driver
def reverse(  # budget: the order of a sweep
    call: Array,
    tables: Array,
    numbers: Array,
    angles: Array,
    columns: Array,
    final: Array,
    cotangents: Array,
    coefficients: Array,
    weights: Array,
    out: Array,
    by_term: Array,
    by_state: Array,
    work: Array,
    control: Array,
) -> None:
    """Run the adjoint sweep for all samples; run by every thread of the call."""
    room, orders = work[atomic_add(control, JOINED, 1)], part_rows(tables, ORDERS, tables)
    ops, items, fixed, groups, words, projectors, limits, signs, links, shares = unpacked(
        call, tables, numbers
    )
    k, wide, batch, slots = call[ROWS_LOG], call[WIDE], call[BATCH], angles.shape[1]
    b, c, L = room, room[call[AT_LAMBDA] :], room[call[AT_OPERANDS] :]
    C, sums, scratch, marks = (
        room[call[AT_COEFFICIENTS] :],
        room[call[AT_SUMS] :],
        room[call[AT_SCRATCH] :],
        room[call[AT_MARKS] :],
    )
    one, none, mark = k - k + 1, room.dtype.type(0), room.dtype.type(1)
    E, G = room[call[AT_ENVIRONMENTS] : call[AT_RESULTS]], room[call[AT_RESULTS] : call[AT_SUMS]]
    unwanted = part(call, UNWANTED, call)
    V, zero, count = vlen(room), k - k, words.shape[0] + projectors.shape[0]
    low, high, varies = zero, zero, False
    done, block = zero, atomic_add(control, CLAIMED, 1)
    if block < call[BLOCKS]:  # else the call may be over, and the room another's
        low, high, varies = mark_varying(angles, columns, ops, items, marks)
        fill_operands(angles, columns, zero, one, L, marks, none, zero, slots, scratch)
        prepare(ops, items, fixed, numbers, L, C, slots, marks, none)
    while block < call[BLOCKS]:
        sample = block * V if wide else block
        lanes = min(V, batch - sample) if wide else one
        if varies:
            fill_operands(angles, columns, sample, lanes, L, marks, mark, low, high, scratch)
            prepare(ops, items, fixed, numbers, L, C, slots, marks, mark)
        load_block(final, sample, wide, lanes, b, k, orders[1], scratch)
        if cotangents.shape[0]:
            load_block(cotangents, sample, wide, lanes, c, k, orders[1], scratch)
        else:
            zero_rows(c, k)
        if count:
            if by_term.shape[1]:
                for at in range(0, count * V, V):
                    vstore(sums, at, vzero(b))
                measure_tile(b, k, groups, words, projectors, limits, zero, sums, scratch)
                sign_sums(words, projectors, signs, sums)
                store_values(
                    sums, links, shares, coefficients, sample, wide, lanes, zero + 1, by_term
                )
            fill_factors(links, shares, coefficients, weights, sample, lanes, sums, count)
            sign_sums(words, projectors, signs, sums)
            start_words(b, c, k, groups, words, zero, sums, scratch)
            for t in range(projectors.shape[0]):
                f = vload(sums, (words.shape[0] + t) * V)
                start_projector(b, c, k, projectors, t, limits, zero, f)
        for at in range(0, E.shape[0], V):
            vstore(E, at, vzero(b))
        for at in range(0, G.shape[0], V):
            vstore(G, at, vzero(b))
        if call[DOT]:
            vstore(G, slots * V, imaginary_dot(b, c, k))
        run_reverse(b, c, k, ops, call[STOP], ops.shape[0], items, fixed, C, E, scratch, zero)
        finish(ops, items, C, E, G, slots, call[STOP], unwanted)
        store_results(G, sample, wide, lanes, out)
        if by_state.shape[0]:
            if call[PHASED]:
                at = 3 * slots * V
                multiply_rows(c, k, vload(L, at), vsub(vzero(b), vload(L, at + V)))
            store_block(by_state, sample, wide, lanes, c, k, orders[0], scratch)
        done += 1
        block = atomic_add(control, CLAIMED, 1)
    atomic_add(control, DONE, done)
    wait_for(control, DONE, call[BLOCKS])
