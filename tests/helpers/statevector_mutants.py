"""Faults of ``statevector.cu``."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import conformance
import numpy as np
from mutants import Mutant, MutantSet, scenario_checks
from numpy.typing import NDArray
from programs import Case, Program, random_program, random_unitary
from statevector_large import check_large

from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.raw_modules import KernelSet, Source
from circuits.engines.base import Engine
from circuits.engines.cuda import CudaEngine
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.statevector_kernels import KERNELS
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import PauliTerm, Terms


def kernels_of(real: str) -> KernelSet:
    """The kernels in one precision."""
    chosen = {name: budget for name, budget in KERNELS.budgets.items() if real in name}
    return replace(KERNELS, budgets=chosen)


DOUBLE = kernels_of("double")


@cache
def program() -> Program:
    """Steps of every structure on seven qubits; a block has two warps, or one and four tiles."""
    case = Case(7, 1, np.complex128, seed=26, num_steps=14)
    plan = random_program(case).plan
    turns = [Step(Structure.ROTATION, (2,), slots=(k,), word=w) for k, w in enumerate("XYZX")]
    word = Step(Structure.ROTATION, (0, 6, 3), slots=(1,), word="YXZ")
    return random_program(case, plan=replace(plan, steps=(*plan.steps, *turns, word)))


@cache
def small_program() -> Program:
    """Few steps and terms: the thread sanitizer loses races of many threads."""
    flip, matrix = np.array([1, 0]), random_unitary(np.random.default_rng(1), 8)
    steps = (
        Step(Structure.ROTATION, (0,), slots=(0,), word="X"),
        Step(Structure.DENSE, (1, 5, 3), matrix=matrix),
        Step(Structure.PERMUTATION, (6,), (0, 2), 3, permutation=flip),
        Step(Structure.ROTATION, (4, 6), slots=(1,), word="XY"),
    )
    given = random_program(Case(7, 1, np.complex128), plan=Plan(7, steps, 2))
    terms = Terms(7, (PauliTerm(0b1000001, 0b11), PauliTerm(0b10, 0b100)), np.zeros(2, np.int64), 1)
    ones = np.ones((1, 2))
    return replace(given, terms=terms, coefficients=ones, weights=ones[:, :1])


def results(engine: Engine, p: Program, *, measured: bool) -> list[NDArray[Any]]:
    """Final state, values and gradients of a program."""
    final, values = conformance.run_forward(engine, p)
    swept = conformance.run_reverse(engine, p, final, measured=measured)
    return [final, values, *conformance.parts(swept)]


@cache
def expected(*, measured: bool) -> list[NDArray[Any]]:
    """The same by the CPU engine."""
    return results(NumbaEngine(), program(), measured=measured)


def scenario(backend: EmulatedBackend, source: Source) -> None:
    """Every kernel in double precision, with a tile a sample and in stages."""
    for tile in (None, 5):
        engine, measured = CudaEngine(backend, tile, replace(DOUBLE, source=source)), tile is None
        found = results(engine, program(), measured=measured)
        for got, want in zip(found, expected(measured=measured), strict=True):
            conformance.assert_close(got, want, 1e-11)


def small_scenario(backend: EmulatedBackend, source: Source) -> None:
    """Blocks of two warps, and four blocks of one."""
    for tile in (None, 5):
        engine = CudaEngine(backend, tile, replace(DOUBLE, source=source))
        results(engine, small_program(), measured=tile is None)


MUTANTS = MutantSet(
    KERNELS.source,
    DOUBLE.instances,
    (
        Mutant(
            "a missing barrier after lambda was read",
            r"(clear\(&w\.lam->x, 2ull << w\.bits\);\n      \})\n      __syncthreads\(\);",
            r"\1",
            "thread",
            "data race",
        ),
        Mutant(
            "a missing barrier between instructions",
            r"(if \(BACK\) swap\(w\.lam, i, j\);\n  \})\n  __syncthreads\(\);",
            r"\1",
            "thread",
            "data race",
        ),
        Mutant(
            "sums of warps that are overwritten while they are read",
            r"\(w\.turn\+\+ & 1u\) \* PARTS",
            "0u * PARTS",
            "thread",
            "data race",
        ),
        Mutant(
            "one scratch tile for all blocks",
            r"scratch \+ \(u64\(blockIdx\.x\) << w\.bits\)",
            "scratch",
            "thread",
            "data race",
        ),
        Mutant(
            "a reduction for some threads",
            r"(R\(0\), 1, values \+ k\);)",
            r"R(0), 1, values + k);\n    if (threadIdx.x < 40) __syncthreads();",
            "values",
            "needs every",
        ),
        Mutant(
            "an index too far",
            r"i < count; i \+= blockDim\.x\) numbers\[i\] = 0",
            "i <= count; i += blockDim.x) numbers[i] = 0",
            "values",
        ),
        Mutant(
            "a shift by too many bits",
            r"\(tile >> i & 1ull\) << bits\[i\]",
            "(tile >> i & 1ull) << (bits[i] + 62)",
            "address",
            "shift exponent",
        ),
        Mutant(
            "shared memory that nobody wrote",
            r"    tile\[place<R>\(row\)\] = chunk\.v\[0\];",
            "    if (row) tile[place<R>(row)] = chunk.v[0];",
            "values",
        ),
        Mutant("a missing conjugate", r"e = conj_mul\(B, a\)", "e = mul(B, a)", "values"),
        Mutant(
            "a phase that is not conjugated on the way back",
            r"w\.phase\(\)\[0\], -w\.phase\(\)\[1\]",
            "w.phase()[0], w.phase()[1]",
            "values",
        ),
        Mutant("a wrong environment", r"ey \+= ma\.x - lb\.x", "ey += ma.x + lb.x", "values"),
        Mutant("a wrong reduction", r"(0xffffffffu, sum), 4\)", r"\1, 2)", "values"),
        Mutant(
            "a control whose state is ignored",
            r"\(parity\(row & mask\) \^ value\)",
            "parity(row & mask)",
            "values",
        ),
        Mutant(
            "a control outside the tile that is ignored",
            r"!= u64\(op\[BASE_VALUE\]\)\) continue",
            "!= u64(op[BASE_VALUE]) && false) continue",
            "values",
        ),
        Mutant(
            "a word without the sign of its partner",
            r"z = negative \^ other \?",
            "z = negative ?",
            "values",
        ),
        Mutant("lambda is not exchanged", r"if \(BACK\) swap\(w\.lam, i, j\);", "", "values"),
        Mutant(
            "an environment that is turned the wrong way",
            r"x \+= c \* i \+ j \* s - k \* v",
            "x += c * i - j * s + k * v",
            "values",
        ),
        Mutant(
            "rows that are stored where they do not lie",
            r"chunk\.v\[0\] = tile\[place<R>\(row\)\]",
            "chunk.v[0] = tile[row]",
            "values",
        ),
        Mutant(
            "a projector without imaginary parts",
            r"sum \+= a\.x \* a\.x \+ a\.y \* a\.y",
            "sum += a.x * a.x",
            "values",
        ),
        Mutant(
            "a 32-bit base",
            r"\(tile >> i & 1ull\) << bits\[i\]",
            "u64(unsigned(tile >> i & 1ull) << (bits[i] & 31))",
            "large",
        ),
        Mutant(
            "a 32-bit image",
            r"return u64\(map\[p & 63u\] \^ map\[64 \+ \(p >> 6\)\]\)",
            "return unsigned(map[p & 63u] ^ map[64 + (p >> 6)])",
            "large",
        ),
    ),
    {
        **scenario_checks(KERNELS.source, scenario, small_scenario),
        "large": partial(check_large, kernels_of("float")),
    },
)
