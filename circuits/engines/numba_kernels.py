"""Compiled kernels and drivers of the CPU engine: the circuit is data, nothing is compiled for it.

``code`` is a circuit: an array of instructions, one row a step with the columns named below, and
an array of integers that the rows point into. Matrices, diagonals and half-angles stand in
``tables`` of one complex dtype, with one row for all samples or one row each. The entry of a
rotation by t is cos(t/2) + i sin(t/2).

A kernel touches only the amplitudes that satisfy the controls: those at indices i with
i & pinned == value. It walks them in runs of neighbours by i = ((i | rest) + 1) & ~rest, which
counts in the bits outside ``rest``. Unsigned indices spare Numba's test for negative ones.

All kernels and drivers are in this file and call nothing of the project outside it: Numba checks
only the file of the function that it loads from its cache, so a kernel elsewhere could go stale.

Reference: T. Jones and J. Gacon (2020), arXiv:2009.02823, for the adjoint sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

Array = NDArray[np.complexfloating]
Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
Code = tuple[Ints, Ints]
Tables = tuple[Array, Array, Array, Array]
Buffers = tuple[Array, Array, Array]
Paulis = tuple[Ints, Ints, Ints]

compiled = njit(nogil=True, cache=True, error_model="numpy")
UNSIGNED = np.uint64
BLOCK = 64
"""Amplitudes in a block of the Pauli sums; one block is one Walsh-Hadamard transform."""

ROTATION, PARITY, DIAGONAL, EXCHANGE, DENSE = range(5)
"""Kinds of instruction. PARITY is a rotation about a word that flips nothing."""

FIXED, BOUND, GIVEN, DERIVATIVES = range(4)
"""Tables: known from the plan, made from the angles, given for the call; derivatives of BOUND."""

KIND, PINNED, VALUE, X_MASK, Z_MASK, QUARTERS, TABLE = range(7)
ENTRY, LOCAL, SIZE, SLOT, SLOTS, DERIVATIVE, COLUMNS = range(7, 14)
"""Columns of an instruction.

KIND; PINNED, VALUE: bits held by controls (and targets, but not a rotation's) and what the controls
hold; X_MASK, Z_MASK, QUARTERS: a rotation's word is i**QUARTERS X**X_MASK Z**Z_MASK; TABLE, ENTRY:
where its numbers start; LOCAL, SIZE: integers that say where the basis states of the targets are,
by state, or for EXCHANGE by pairs to swap; SLOT, SLOTS: integers that name its columns of angles;
DERIVATIVE: where its derivatives start; COLUMNS: how many columns there are.
"""

FLIP, ODD, LOW, HALF, FIRST, LAST = range(6)
"""Columns of a group of Pauli words with one x mask.

The mask; 1 where the words' powers of i are odd; bits within a block that any of their z masks has;
highest bit of the x mask where that is beyond a block, else 0; the range of its words.
"""

PHASE, SIGN, TERM = range(3)
"""Of a Pauli word: z mask, sign, position of its term. Of a projector: mask, value, term."""


def _count_ones(typing_context: Any, x: Any) -> tuple[Any, Callable[..., Any]]:
    """Describe a function of one int64 to Numba (Any: a compiler's objects)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


_popcount = cast(Callable[[int], int], intrinsic(_count_ones))


@compiled
def _odd(bits: int) -> int:
    return _popcount(bits) & 1


@compiled
def _runs(touched: int, held: int, size: int) -> tuple[int, int, int]:
    """Return the length of a run, the bits that do not count from run to run, the number of runs.

    No bit of ``touched`` changes within a run; those of ``held``, part of it, never change.
    """
    lowest = touched | size
    run = lowest & -lowest
    rest = held | (run - 1)
    return run, rest, size >> _popcount(rest)


@compiled
def _phase(state: Array, pinned: int, value: int, z: int, even: complex, odd: complex) -> None:
    """Multiply by ``even`` or ``odd``, as the parity of i & z is."""
    run, rest, count = _runs(pinned | z, pinned, state.size)
    i = value
    for _ in range(count):
        factor = odd if _odd(i & z) else even
        for j in range(i, i + run):
            state[UNSIGNED(j)] *= factor
        i = (((i | rest) + 1) & ~rest) | value


@compiled
def _unphase(
    psi: Array, lam: Array, pinned: int, value: int, z: int, even: complex, odd: complex
) -> complex:
    """Do ``_phase`` on both; return sum (-1)**|i & z| conj(lambda_i) psi_i, as they were."""
    run, rest, count = _runs(pinned | z, pinned, psi.size)
    total = 0j
    i = value
    for _ in range(count):
        negative = _odd(i & z)
        factor = odd if negative else even
        part = 0j
        for j in range(i, i + run):
            a, r = psi[UNSIGNED(j)], lam[UNSIGNED(j)]
            part += r.conjugate() * a
            psi[UNSIGNED(j)] = a * factor
            lam[UNSIGNED(j)] = r * factor
        total += -part if negative else part
        i = (((i | rest) + 1) & ~rest) | value
    return total


@compiled
def _exchange(state: Array, pinned: int, first: int, second: int) -> None:
    """Swap the amplitudes whose pinned bits are ``first`` with those where they are ``second``."""
    run, rest, count = _runs(pinned, pinned, state.size)
    step = second - first
    i = first
    for _ in range(count):
        for j in range(i, i + run):
            a = state[UNSIGNED(j)]
            state[UNSIGNED(j)] = state[UNSIGNED(j + step)]
            state[UNSIGNED(j + step)] = a
        i = (((i | rest) + 1) & ~rest) | first


@compiled
def _rotate(state: Array, op: Ints, half: complex) -> None:
    """Rotate about a word that flips: with P|j> = f|k>, a <- c a - i s f* b and b <- c b - i s f a.

    f = i**quarters (-1)**|j & z| is real or imaginary: either case takes half a complex product.
    """
    pinned, value, x, z, quarters = op[PINNED], op[VALUE], op[X_MASK], op[Z_MASK], op[QUARTERS]
    run, rest, count = _runs(pinned | x | z, pinned | (x & -x), state.size)
    c = half.real
    i = value
    for _ in range(count):
        s = -half.imag if _odd(i & z) ^ (quarters >> 1) else half.imag
        step = (i ^ x) - i
        for j in range(i, i + run):
            k = j + step
            a = state[UNSIGNED(j)]
            b = state[UNSIGNED(k)]
            if quarters & 1:
                state[UNSIGNED(j)] = complex(c * a.real - s * b.real, c * a.imag - s * b.imag)
                state[UNSIGNED(k)] = complex(c * b.real + s * a.real, c * b.imag + s * a.imag)
            else:
                state[UNSIGNED(j)] = complex(c * a.real + s * b.imag, c * a.imag - s * b.real)
                state[UNSIGNED(k)] = complex(c * b.real + s * a.imag, c * b.imag - s * a.real)
        i = (((i | rest) + 1) & ~rest) | value


@compiled
def _unrotate(psi: Array, lam: Array, op: Ints, half: complex) -> float:
    """Undo ``_rotate`` on both and return Im <lambda|P|psi>."""
    pinned, value, x, z, quarters = op[PINNED], op[VALUE], op[X_MASK], op[Z_MASK], op[QUARTERS]
    run, rest, count = _runs(pinned | x | z, pinned | (x & -x), psi.size)
    c = half.real
    total = 0.0
    i = value
    for _ in range(count):
        negative = _odd(i & z) ^ (quarters >> 1)
        s = -half.imag if negative else half.imag
        step = (i ^ x) - i
        part = 0.0
        for j in range(i, i + run):
            k = j + step
            a, b = psi[UNSIGNED(j)], psi[UNSIGNED(k)]
            q, r = lam[UNSIGNED(j)], lam[UNSIGNED(k)]
            if quarters & 1:
                part += r.real * a.real + r.imag * a.imag - q.real * b.real - q.imag * b.imag
                psi[UNSIGNED(j)] = complex(c * a.real + s * b.real, c * a.imag + s * b.imag)
                psi[UNSIGNED(k)] = complex(c * b.real - s * a.real, c * b.imag - s * a.imag)
                lam[UNSIGNED(j)] = complex(c * q.real + s * r.real, c * q.imag + s * r.imag)
                lam[UNSIGNED(k)] = complex(c * r.real - s * q.real, c * r.imag - s * q.imag)
            else:
                part += q.real * b.imag - q.imag * b.real + r.real * a.imag - r.imag * a.real
                psi[UNSIGNED(j)] = complex(c * a.real - s * b.imag, c * a.imag + s * b.real)
                psi[UNSIGNED(k)] = complex(c * b.real - s * a.imag, c * b.imag + s * a.real)
                lam[UNSIGNED(j)] = complex(c * q.real - s * r.imag, c * q.imag + s * r.real)
                lam[UNSIGNED(k)] = complex(c * r.real - s * q.imag, c * r.imag + s * q.real)
        total += -part if negative else part
        i = (((i | rest) + 1) & ~rest) | value
    return total


@compiled
def _dense1(state: Array, op: Ints, step: int, m: Array) -> None:
    """Apply a 2 x 2 matrix to pairs of amplitudes ``step`` apart."""
    pinned, value = op[PINNED], op[VALUE]
    run, rest, count = _runs(pinned, pinned, state.size)
    m0, m1, m2, m3 = m[0], m[1], m[2], m[3]
    i = value
    for _ in range(count):
        for j in range(i, i + run):
            a, b = state[UNSIGNED(j)], state[UNSIGNED(j + step)]
            state[UNSIGNED(j)] = m0 * a + m1 * b
            state[UNSIGNED(j + step)] = m2 * a + m3 * b
        i = (((i | rest) + 1) & ~rest) | value


@compiled
def _undense1(psi: Array, lam: Array, op: Ints, step: int, m: Array, env: Array) -> None:
    """Do what ``_undense`` does for a 2 x 2 matrix."""
    pinned, value = op[PINNED], op[VALUE]
    run, rest, count = _runs(pinned, pinned, psi.size)
    m0, m1, m2, m3 = m[0], m[1], m[2], m[3]
    e0 = e1 = e2 = e3 = 0j
    i = value
    for _ in range(count):
        for j in range(i, i + run):
            k = j + step
            q, r = lam[UNSIGNED(j)], lam[UNSIGNED(k)]
            a = m0 * psi[UNSIGNED(j)] + m1 * psi[UNSIGNED(k)]
            b = m2 * psi[UNSIGNED(j)] + m3 * psi[UNSIGNED(k)]
            e0 += q.conjugate() * a
            e1 += q.conjugate() * b
            e2 += r.conjugate() * a
            e3 += r.conjugate() * b
            psi[UNSIGNED(j)], psi[UNSIGNED(k)] = a, b
            lam[UNSIGNED(j)] = m0 * q + m1 * r
            lam[UNSIGNED(k)] = m2 * q + m3 * r
        i = (((i | rest) + 1) & ~rest) | value
    env[0], env[1], env[2], env[3] = e0, e1, e2, e3


@compiled
def _dense2(state: Array, op: Ints, steps: Ints, m: Array) -> None:
    """Apply a 4 x 4 matrix."""
    pinned, value = op[PINNED], op[VALUE]
    run, rest, count = _runs(pinned, pinned, state.size)
    s1, s2, s3 = steps[1], steps[2], steps[3]
    i = value
    for _ in range(count):
        for j in range(i, i + run):
            a, b = state[UNSIGNED(j)], state[UNSIGNED(j + s1)]
            c, d = state[UNSIGNED(j + s2)], state[UNSIGNED(j + s3)]
            state[UNSIGNED(j)] = m[0] * a + m[1] * b + m[2] * c + m[3] * d
            state[UNSIGNED(j + s1)] = m[4] * a + m[5] * b + m[6] * c + m[7] * d
            state[UNSIGNED(j + s2)] = m[8] * a + m[9] * b + m[10] * c + m[11] * d
            state[UNSIGNED(j + s3)] = m[12] * a + m[13] * b + m[14] * c + m[15] * d
        i = (((i | rest) + 1) & ~rest) | value


@compiled
def _multiply(state: Array, i: int, steps: Ints, m: Array, old: Array) -> None:
    """Multiply the local vector at i; ``old`` receives what it was."""
    size = steps.size
    for c in range(size):
        old[c] = state[UNSIGNED(i + steps[c])]
    for r in range(size):
        total = m[r * size] * old[0]
        for c in range(1, size):
            total += m[r * size + c] * old[c]
        state[UNSIGNED(i + steps[r])] = total


@compiled
def _dense(state: Array, op: Ints, steps: Ints, m: Array, old: Array) -> None:
    """Apply a matrix of any size; ``steps[c]`` leads from a local vector's first amplitude to c."""
    pinned, value = op[PINNED], op[VALUE]
    run, rest, count = _runs(pinned, pinned, state.size)
    i = value
    for _ in range(count):
        for j in range(i, i + run):
            _multiply(state, j, steps, m, old)
        i = (((i | rest) + 1) & ~rest) | value


@compiled
def _undense(psi: Array, lam: Array, op: Ints, steps: Ints, buffers: Buffers) -> None:
    """Apply the inverse in ``buffers`` to both; env_rc = sum conj(lambda_r before) psi_c after."""
    m, old, env = buffers
    size = steps.size
    env[: size * size] = 0
    pinned, value = op[PINNED], op[VALUE]
    run, rest, count = _runs(pinned, pinned, psi.size)
    i = value
    for _ in range(count):
        for j in range(i, i + run):
            _multiply(psi, j, steps, m, old)
            _multiply(lam, j, steps, m, old)
            for r in range(size):
                left = old[r].conjugate()
                for c in range(size):
                    env[r * size + c] += left * psi[UNSIGNED(j + steps[c])]
        i = (((i | rest) + 1) & ~rest) | value


@compiled
def _load(entries: Array, op: Ints, adjoint: bool, m: Array) -> None:
    """Copy an instruction's matrix, or its conjugate transpose, out of its table."""
    start, size = op[ENTRY], op[SIZE]
    for r in range(size):
        for c in range(size):
            if adjoint:
                m[r * size + c] = entries[start + c * size + r].conjugate()
            else:
                m[r * size + c] = entries[start + r * size + c]


@compiled
def _apply(
    state: Array, op: Ints, integers: Ints, entries: Array, adjoint: bool, m: Array, old: Array
) -> None:
    """Apply one instruction, or its inverse, to one state; ``entries``: its table's row."""
    kind, pinned, value, z = op[KIND], op[PINNED], op[VALUE], op[Z_MASK]
    entry, local, size = op[ENTRY], op[LOCAL], op[SIZE]
    if kind == ROTATION:
        _rotate(state, op, entries[entry].conjugate() if adjoint else entries[entry])
    elif kind == PARITY:
        half = entries[entry].conjugate() if adjoint else entries[entry]
        _phase(state, pinned, value, z, half.conjugate(), half)
    elif kind == DIAGONAL:
        for k in range(size):
            factor = entries[entry + k].conjugate() if adjoint else entries[entry + k]
            if factor != 1:
                _phase(state, pinned, value | integers[local + k], z, factor, factor)
    elif kind == EXCHANGE:
        for k in range(0, size, 2):
            pair = local + (size - 2 - k if adjoint else k)
            _exchange(state, pinned, value | integers[pair], value | integers[pair + 1])
    else:
        _load(entries, op, adjoint, m)
        if size == 2:
            _dense1(state, op, integers[local + 1], m)
        elif size == 4:
            _dense2(state, op, integers[local : local + size], m)
        else:
            _dense(state, op, integers[local : local + size], m, old)


@compiled
def _environment(
    psi: Array, lam: Array, op: Ints, integers: Ints, entries: Array, buffers: Buffers
) -> Array:
    """Undo a diagonal or dense instruction on both and return its environment.

    The loss changes by Re sum dU_rc env_rc when the matrix changes by dU.
    """
    m, _, env = buffers
    value, z, local, size = op[VALUE], op[Z_MASK], op[LOCAL], op[SIZE]
    if op[KIND] == DIAGONAL:
        for k in range(size):
            f = entries[op[ENTRY] + k].conjugate()
            place = value | integers[local + k]
            env[k] = f * _unphase(psi, lam, op[PINNED], place, z, f, f)
        return env[:size]
    _load(entries, op, True, m)
    if size == 2:
        _undense1(psi, lam, op, integers[local + 1], m, env)
    else:
        _undense(psi, lam, op, integers[local : local + size], buffers)
    return env[: size * size]


@compiled
def _overlap(psi: Array, lam: Array, op: Ints, half: complex) -> float:
    """Undo a rotation on both and return Im <lambda|P|psi>, twice the angle's gradient."""
    if op[KIND] == ROTATION:
        return _unrotate(psi, lam, op, half)
    pinned, value, z = op[PINNED], op[VALUE], op[Z_MASK]
    return _unphase(psi, lam, pinned, value, z, half, half.conjugate()).imag


@compiled
def _collect(op: Ints, integers: Ints, derivatives: Array, env: Array, out: Reals) -> None:
    """Add an environment's contraction with the derivatives to the instruction's slots."""
    for k in range(op[SLOTS]):
        start = op[DERIVATIVE] + k * env.size
        total = 0.0
        for e in range(env.size):
            d = derivatives[start + e]
            total += d.real * env[e].real - d.imag * env[e].imag
        out[integers[op[SLOT] + k]] += total


@compiled
def _row(table: NDArray[Any], sample: int) -> NDArray[Any]:
    return table[sample if table.shape[0] > 1 else 0]


@compiled
def _buffers(states: Array, widths: tuple[int, int]) -> Buffers:
    """Room for a matrix, a local vector and an environment."""
    (rows, entries), dtype = widths, states.dtype
    return np.empty(rows * rows, dtype), np.empty(rows, dtype), np.empty(entries, np.complex128)


@compiled
def forward(states: Array, code: Code, tables: Tables, widths: tuple[int, int]) -> None:
    """Apply the instructions to ``states`` ``(B, 2**n)`` in place.

    ``widths``: the most rows of a matrix and the most entries of an environment in ``code``.
    """
    m, old, _ = _buffers(states, widths)
    ops, integers = code
    for sample in range(states.shape[0]):
        psi = states[sample]
        for i in range(ops.shape[0]):
            entries = _row(tables[ops[i, TABLE]], sample)
            _apply(psi, ops[i], integers, entries, False, m, old)


@compiled
def reverse(
    final: Array,
    cotangent: Array,
    paulis: Paulis,
    weights: Reals,
    code: Code,
    tables: Tables,
    widths: tuple[int, int],
    stop: int,
    wanted: tuple[bool, bool],
    work: Array,
    gradients: tuple[Reals, Array, Array],
) -> int:
    """Undo each sample's instructions down to ``stop`` and return how many that were.

    lambda starts as ``cotangent`` ``(B, 2**n)`` (0 where it has no rows) plus sum weights_t O_t psi
    over words and projectors. ``wanted`` says whether the gradients of angles ``(B, S)`` and of
    matrices ``(B, M)`` are added to the first two ``gradients``; the third, ``(B, 2**n)``, receives
    lambda at the stop unless it has no rows. ``work`` ``(2, 2**n)`` is overwritten.
    """
    buffers = _buffers(final, widths)
    m, old, _ = buffers
    ops, integers = code
    psi, lam = work[0], work[1]
    angles, matrices, states = gradients
    for sample in range(final.shape[0]):
        psi[:] = final[sample]
        lam[:] = 0
        if cotangent.shape[0] > 0:
            lam[:] = cotangent[sample]
        _add_action(psi, lam, paulis, weights[sample])
        for i in range(ops.shape[0] - 1, stop - 1, -1):
            op = ops[i]
            entries = _row(tables[op[TABLE]], sample)
            by_angle, by_matrix = wanted[0] and op[SLOTS] > 0, wanted[1] and op[TABLE] == GIVEN
            if not by_angle and not by_matrix:
                _apply(psi, op, integers, entries, True, m, old)
                _apply(lam, op, integers, entries, True, m, old)
            elif op[KIND] == ROTATION or op[KIND] == PARITY:
                overlap = _overlap(psi, lam, op, entries[op[ENTRY]])
                angles[sample, integers[op[SLOT]]] += 0.5 * overlap
            else:
                env = _environment(psi, lam, op, integers, entries, buffers)
                if by_angle:
                    derivatives = _row(tables[DERIVATIVES], sample)
                    _collect(op, integers, derivatives, env, angles[sample])
                else:
                    block = matrices[sample, op[ENTRY] : op[ENTRY] + env.size]
                    block += env.conjugate()
        if states.shape[0] > 0:
            states[sample] = lam
    return ops.shape[0] - stop


@compiled
def _transform(block: Reals, low: int) -> None:
    """Set block[z] to sum_j (-1)**|j & z| block[j] for the z in ``low``, over the j in ``low``."""
    bits = low
    while bits:
        bit = bits & -bits
        rest = bit | ~low
        j = low & 0
        for _ in range(1 << (_popcount(low) - 1)):
            a, b = block[j], block[j | bit]
            block[j] = a + b
            block[j | bit] = a - b
            j = ((j | rest) + 1) & ~rest
        bits ^= bit


@compiled
def _fold(psi: Array, base: int, group: Ints, block: Reals) -> None:
    """Sum the real or imaginary parts of conj(psi[i ^ flip]) psi[i] of a block, at i & low."""
    flip, odd, low = group[FLIP], group[ODD], group[LOW]
    block[:] = 0
    for j in range(block.size):
        a, b = psi[UNSIGNED(base + j)], psi[UNSIGNED((base + j) ^ flip)]
        if odd:
            block[j & low] += b.real * a.imag - b.imag * a.real
        else:
            block[j & low] += b.real * a.real + b.imag * a.imag


@compiled
def _word_values(psi: Array, groups: Ints, words: Ints, out: Reals) -> None:
    """Add up <P> of every word at its term's position, in one pass over psi a flip.

    <P> = Re i**|x & z| sum_i (-1)**|i & z| conj(psi[i ^ x]) psi[i]. A block's share is an entry of
    a Walsh-Hadamard transform common to all words of the flip. i and i ^ x give conjugate numbers,
    so where the flip reaches beyond a block, half of the blocks do.
    """
    block = np.empty(min(BLOCK, psi.size))
    for g in range(groups.shape[0]):
        low, half, first, last = groups[g, LOW], groups[g, HALF], groups[g, FIRST], groups[g, LAST]
        for base in range(0, psi.size, block.size):
            if base & half:
                continue
            _fold(psi, base, groups[g], block)
            _transform(block, low)
            for w in range(first, last):
                value = block[words[w, PHASE] & low]
                out[words[w, TERM]] += -value if _odd(words[w, PHASE] & base) else value
        for w in range(first, last):
            out[words[w, TERM]] *= 2 * words[w, SIGN] if half else words[w, SIGN]


@compiled
def _add_words(psi: Array, lam: Array, groups: Ints, words: Ints, weights: Reals) -> None:
    """Add sum_w weights_w P_w psi to lambda: ``_word_values`` turned round."""
    block = np.empty(min(BLOCK, psi.size))
    for g in range(groups.shape[0]):
        flip, odd, low = groups[g, FLIP], groups[g, ODD], groups[g, LOW]
        for base in range(0, psi.size, block.size):
            block[:] = 0
            for w in range(groups[g, FIRST], groups[g, LAST]):
                weight = weights[words[w, TERM]] * words[w, SIGN]
                block[words[w, PHASE] & low] += -weight if _odd(words[w, PHASE] & base) else weight
            _transform(block, low)
            for j in range(block.size):
                a, f = psi[UNSIGNED((base + j) ^ flip)], block[j & low]
                if odd:
                    lam[UNSIGNED(base + j)] += complex(-f * a.imag, f * a.real)
                else:
                    lam[UNSIGNED(base + j)] += complex(f * a.real, f * a.imag)


@compiled
def _weight(psi: Array, pinned: int, value: int) -> float:
    """Return the sum of |psi_i|**2."""
    run, rest, count = _runs(pinned, pinned, psi.size)
    total = 0.0
    i = value
    for _ in range(count):
        for j in range(i, i + run):
            a = psi[UNSIGNED(j)]
            total += a.real * a.real + a.imag * a.imag
        i = (((i | rest) + 1) & ~rest) | value
    return total


@compiled
def _add_action(psi: Array, lam: Array, paulis: Paulis, weights: Reals) -> None:
    """Add sum_t weights_t O_t psi over the words and projectors to lambda."""
    groups, words, projectors = paulis
    _add_words(psi, lam, groups, words, weights)
    for p in range(projectors.shape[0]):
        pinned, value, weight = projectors[p, 0], projectors[p, 1], weights[projectors[p, TERM]]
        run, rest, count = _runs(pinned, pinned, psi.size)
        i = value
        for _ in range(count):
            for j in range(i, i + run):
                a = psi[UNSIGNED(j)]
                lam[UNSIGNED(j)] += complex(weight * a.real, weight * a.imag)
            i = (((i | rest) + 1) & ~rest) | value


@compiled
def measure(
    states: Array, paulis: Paulis, coefficients: Reals, rows: Ints, terms: Reals, values: Reals
) -> None:
    """Write the expectations of words and projectors to ``terms`` ``(B, T)``, which holds the rest.

    Then add coefficients_t terms_t to column rows_t of ``values`` ``(B, K)``, for all terms;
    ``coefficients`` is ``(B or 1, T)``.
    """
    groups, words, projectors = paulis
    for sample in range(states.shape[0]):
        psi, out = states[sample], terms[sample]
        _word_values(psi, groups, words, out)
        for p in range(projectors.shape[0]):
            out[projectors[p, TERM]] = _weight(psi, projectors[p, 0], projectors[p, 1])
        factors = _row(coefficients, sample)
        for t in range(rows.size):
            values[sample, rows[t]] += factors[t] * out[t]
