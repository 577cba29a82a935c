"""Compiled drivers for states of many tiles, for a team of threads.

A stage is a group of instructions whose qubits lie in one tile: every tile is gathered once, gets
all of them, and is scattered. The tiles of a stage are split into chunks, fixed by the program.
Every thread of a call runs the same driver and claims chunks from counters: a helper that is late,
or missing, costs nothing but its share. Sums are kept by chunk and added in order, so the results
do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

from circuits.engines.instructions import (
    FIRST_GROUP,
    FIRST_OP,
    INNER,
    LAST_GROUP,
    LAST_OP,
    OUTER,
    PROJECTORS,
    READ_LAMBDA,
    READ_PSI,
    STAGE,
    WRITE_LAMBDA,
    WRITE_PSI,
)
from circuits.engines.numba_kernels_drivers import (
    AT_COEFFICIENTS,
    AT_ENVIRONMENTS,
    AT_LAMBDA,
    AT_MARKS,
    AT_RESULTS,
    AT_SCRATCH,
    AT_SUMS,
    BATCH,
    BITS,
    DOT,
    ORDERS,
    PASSES,
    PHASED,
    ROWS_LOG,
    STOP,
    UNWANTED,
    fill_factors,
    measure_tile,
    run_forward,
    run_reverse,
    sign_sums,
    store_values,
    unpacked,
    wait_for,
)
from circuits.engines.numba_kernels_packing import part, part_planes, part_rows
from circuits.engines.numba_kernels_states import (
    imaginary_dot,
    load_rows,
    multiply_rows,
    store_rows,
    zero_rows,
)
from circuits.engines.numba_kernels_tables import fill_operands, finish, prepare, store_results
from circuits.engines.numba_kernels_terms import start_projector, start_words
from circuits.engines.numba_simd import (
    atomic_add,
    compiled,
    compiled_driver,
    vadd,
    vlen,
    vload,
    vstore,
    vsub,
    vzero,
)

JOINED, COUNTERS = 0, 8
"""Counters of a call: threads that joined; from where on there are two for every part of a sample,
claims and ends."""

Array = Any  # NumPy's arrays, and in compiled code vectors and integers


@compiled
def tile_base(tile: int, bits: Array, count: int) -> int:
    """Base of a tile: its number, spread over the bits that are not local."""
    base = 0
    for i in range(count):
        base |= ((tile >> i) & 1) << bits[i]
    return base


@compiled
def _clear(part: Array) -> None:
    V = vlen(part)
    for at in range(0, part.shape[0], V):
        vstore(part, at, vzero(part))


@compiled
def _add_chunks(parts: Array, total: Array) -> None:
    """Sum over chunks, in order."""
    V = vlen(total)
    for at in range(0, total.shape[0], V):
        value = vload(parts[0], at)
        for chunk in range(1, parts.shape[0]):
            value = vadd(value, vload(parts[chunk], at))
        vstore(total, at, value)


@compiled
def _measure_pass(
    b: Array,
    k: int,
    passes: Array,
    s: int,
    groups: Array,
    words: Array,
    projectors: Array,
    limits: Array,
    base: int,
    sums: Array,
    scratch: Array,
) -> None:
    few = groups[passes[s, FIRST_GROUP] : passes[s, LAST_GROUP]]
    fewer = projectors[: projectors.shape[0] * passes[s, PROJECTORS]]
    measure_tile(b, k, few, words, fewer, limits, base, sums, scratch)


@compiled_driver
def forward_stages(  # budget: the order of a pass
    call: Array,
    tables: Array,
    numbers: Array,
    angles: Array,
    columns: Array,
    states: Array,
    coefficients: Array,
    final: Array,
    values: Array,
    shared: Array,
    sums: Array,
    work: Array,
    control: Array,
) -> None:
    """Apply a program to all samples, pass by pass, and measure."""
    room = work[atomic_add(control, JOINED, 1)]
    passes = part_rows(call, PASSES, call)
    orders, bits = part_planes(tables, ORDERS, tables), part_planes(tables, BITS, tables)
    ops, items, fixed, groups, words, projectors, limits, signs, links, shares = unpacked(
        call, tables, numbers
    )
    k, batch, slots, V = call[ROWS_LOG], call[BATCH], angles.shape[1], vlen(work)
    zero, chunks, count = k - k, sums.shape[0], words.shape[0] + projectors.shape[0]
    L, C = shared, shared[call[AT_COEFFICIENTS] :]
    scratch, outer, at = room[call[AT_SCRATCH] :], bits.shape[2], 3 * slots * V
    own, one, none = zero + COUNTERS, zero + 1, room.dtype.type(0)
    marks = shared[call[AT_MARKS] : call[AT_MARKS] + (slots + 1 + ops.shape[0] + V - 1) // V * V]
    for sample in range(batch):
        if atomic_add(control, own, 1) == 0:
            _clear(marks)
            fill_operands(angles, columns, sample, one, L, marks, none, zero, slots, scratch)
            prepare(ops, items, fixed, numbers, L, C, slots, marks, none)
            _clear(sums.reshape(-1))
            atomic_add(control, own + 1, 1)
        wait_for(control, own + 1, 1)
        for s in range(passes.shape[0]):
            own += 2
            stage, first, last = passes[s, STAGE], passes[s, FIRST_OP], passes[s, LAST_OP]
            while True:
                chunk = atomic_add(control, own, 1)
                if chunk >= chunks:
                    break
                for tile in range((chunk << outer) // chunks, ((chunk + 1) << outer) // chunks):
                    base = tile_base(tile, bits[stage, 0], outer)
                    if passes[s, READ_PSI] == OUTER:
                        there = tile_base(tile, bits[stage, 1], outer)
                        load_rows(states, sample, room, k, there, orders[stage, 2])
                        if call[PHASED]:
                            multiply_rows(room, k, vload(L, at), vload(L, at + V))
                    else:
                        load_rows(final, sample, room, k, base, orders[stage, 0])
                    run_forward(room, k, ops, first, last, items, fixed, C, scratch, base, zero)
                    _measure_pass(
                        room,
                        k,
                        passes,
                        s,
                        groups,
                        words,
                        projectors,
                        limits,
                        base,
                        sums[chunk],
                        scratch,
                    )
                    if passes[s, WRITE_PSI]:
                        store_rows(final, sample, room, k, base, orders[stage, 1])
                atomic_add(control, own + 1, 1)
            wait_for(control, own + 1, chunks)
        own += 2
        if atomic_add(control, own, 1) == 0:
            if count:
                total = room[call[AT_SUMS] : call[AT_SUMS] + count * V]
                _add_chunks(sums, total)
                sign_sums(words, projectors, signs, total)
                store_values(total, links, shares, coefficients, sample, zero, one, zero, values)
            atomic_add(control, own + 1, 1)
        wait_for(control, own + 1, 1)
        own += 2


@compiled_driver
def reverse_stages(  # budget: the order of a sweep
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
    inner: Array,
    shared: Array,
    sums: Array,
    environments: Array,
    work: Array,
    control: Array,
) -> None:
    """Run the adjoint sweep for all samples, pass by pass; ``inner`` holds psi and lambda."""
    room = work[atomic_add(control, JOINED, 1)]
    passes = part_rows(call, PASSES, call)
    orders, bits = part_planes(tables, ORDERS, tables), part_planes(tables, BITS, tables)
    ops, items, fixed, groups, words, projectors, limits, signs, links, shares = unpacked(
        call, tables, numbers
    )
    k, batch, slots, V = call[ROWS_LOG], call[BATCH], angles.shape[1], vlen(work)
    zero, chunks, count = k - k, sums.shape[0], words.shape[0] + projectors.shape[0]
    L, C = shared, shared[call[AT_COEFFICIENTS] :]
    E, G = (
        shared[call[AT_ENVIRONMENTS] : call[AT_RESULTS]],
        shared[call[AT_RESULTS] : call[AT_SUMS]],
    )
    factors, at = shared[call[AT_SUMS] :], 3 * slots * V
    b, c, scratch, outer = room, room[call[AT_LAMBDA] :], room[call[AT_SCRATCH] :], bits.shape[2]
    psi, lam, dots = inner[:1], inner[1:], sums.shape[1] - V
    own, one, none = zero + COUNTERS, zero + 1, room.dtype.type(0)
    marks = shared[call[AT_MARKS] : call[AT_MARKS] + (slots + 1 + ops.shape[0] + V - 1) // V * V]
    for sample in range(batch):
        if atomic_add(control, own, 1) == 0:
            _clear(marks)
            fill_operands(angles, columns, sample, one, L, marks, none, zero, slots, scratch)
            prepare(ops, items, fixed, numbers, L, C, slots, marks, none)
            fill_factors(links, shares, coefficients, weights, sample, one, factors, count)
            sign_sums(words, projectors, signs, factors)
            _clear(sums.reshape(-1))
            _clear(environments.reshape(-1))
            atomic_add(control, own + 1, 1)
        wait_for(control, own + 1, 1)
        for s in range(passes.shape[0]):
            own += 2
            stage, first, last = passes[s, STAGE], passes[s, FIRST_OP], passes[s, LAST_OP]
            while True:
                chunk = atomic_add(control, own, 1)
                if chunk >= chunks:
                    break
                for tile in range((chunk << outer) // chunks, ((chunk + 1) << outer) // chunks):
                    base = tile_base(tile, bits[stage, 0], outer)
                    if passes[s, READ_PSI] == OUTER:
                        load_rows(final, sample, b, k, base, orders[stage, 1])
                    else:
                        load_rows(psi, zero, b, k, base, orders[stage, 1])
                    if passes[s, READ_LAMBDA] == INNER:
                        load_rows(lam, zero, c, k, base, orders[stage, 1])
                    elif passes[s, READ_LAMBDA] == OUTER and cotangents.shape[0]:
                        load_rows(cotangents, sample, c, k, base, orders[stage, 1])
                    else:
                        zero_rows(c, k)
                    if by_term.shape[1]:
                        _measure_pass(
                            b,
                            k,
                            passes,
                            s,
                            groups,
                            words,
                            projectors,
                            limits,
                            base,
                            sums[chunk],
                            scratch,
                        )
                    few = groups[passes[s, FIRST_GROUP] : passes[s, LAST_GROUP]]
                    start_words(b, c, k, few, words, base, factors, scratch)
                    if passes[s, PROJECTORS]:
                        for t in range(projectors.shape[0]):
                            f = vload(factors, (words.shape[0] + t) * V)
                            start_projector(b, c, k, projectors, t, limits, base, f)
                        if call[DOT]:
                            dot = vadd(vload(sums[chunk], dots), imaginary_dot(b, c, k))
                            vstore(sums[chunk], dots, dot)
                    e = environments[chunk]
                    run_reverse(b, c, k, ops, first, last, items, fixed, C, e, scratch, base)
                    if passes[s, WRITE_PSI]:
                        store_rows(psi, zero, b, k, base, orders[stage, 0])
                    if passes[s, WRITE_LAMBDA] == INNER:
                        store_rows(lam, zero, c, k, base, orders[stage, 0])
                    elif passes[s, WRITE_LAMBDA] == OUTER:
                        there = tile_base(tile, bits[stage, 1], outer)
                        if call[PHASED]:
                            im = vsub(vzero(b), vload(L, at + V))
                            multiply_rows(c, k, vload(L, at), im)
                        store_rows(by_state, sample, c, k, there, orders[stage, 2])
                atomic_add(control, own + 1, 1)
            wait_for(control, own + 1, chunks)
        own += 2
        if atomic_add(control, own, 1) == 0:
            _clear(G)
            _add_chunks(environments, E)
            for chunk in range(chunks):
                vstore(G, slots * V, vadd(vload(G, slots * V), vload(sums[chunk], dots)))
            finish(ops, items, C, E, G, slots, call[STOP], part(call, UNWANTED, call))
            store_results(G, sample, zero, one, out)
            if by_term.shape[1]:
                total = room[call[AT_SUMS] : call[AT_SUMS] + count * V]
                _add_chunks(sums, total)
                sign_sums(words, projectors, signs, total)
                store_values(total, links, shares, coefficients, sample, zero, one, one, by_term)
            atomic_add(control, own + 1, 1)
        wait_for(control, own + 1, 1)
        own += 2
