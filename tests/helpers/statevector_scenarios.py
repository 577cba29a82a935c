"""What checks of ``statevector.cu`` run; its faults stand in ``statevector_mutants``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import sanitizers
from agreement import REFERENCE, assert_equal_results, results
from mutants import Check, scenario_checks
from numpy.typing import NDArray
from programs import (
    Case,
    Program,
    SpectralMatrix,
    random_program,
    random_unitary,
    wide_program,
)
from statevector_large import check_large
from wide_steps import check_large_steps, check_wide_steps, run_wide_steps

from autodiff.backends.emulated_backend import LIMITS, EmulatedBackend
from autodiff.backends.raw_modules import Extents, KernelSet, RawModule, Source
from circuits.engines.cuda import CudaEngine
from circuits.engines.statevector_kernels import KERNELS
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import PauliTerm, ProjectorTerm, SparseTerm, Terms


def kernels_of(real: str) -> KernelSet:
    """The kernels in one precision."""
    chosen = {name: budget for name, budget in KERNELS.budgets.items() if real in name}
    return replace(KERNELS, budgets=chosen)


DOUBLE = kernels_of("double")


@cache
def program(real: str, batch: int) -> Program:
    """Steps of every structure on seven qubits; a block has two warps, or one and some tiles.

    Of three samples there are no sparse terms: nothing but the sweep itself starts lambda.
    """
    dtype = np.complex64 if real == "float" else np.complex128
    case = Case(7, batch, dtype, seed=26, num_steps=14)
    plan = random_program(case).plan
    turns = [Step(Structure.ROTATION, (2,), slots=(k,), word=w) for k, w in enumerate("XYZX")]
    word = Step(Structure.ROTATION, (0, 6, 3), slots=(1,), word="YXZ")
    made = random_program(case, plan=replace(plan, steps=(*plan.steps, *turns, word)))
    if batch < 3:
        return made
    kept = [k for k, term in enumerate(made.terms.terms) if not isinstance(term, SparseTerm)]
    terms = tuple(made.terms.terms[k] for k in kept)
    terms = replace(made.terms, terms=terms, rows=made.terms.rows[kept])
    return replace(made, terms=terms, coefficients=made.coefficients[:, kept])


@cache
def small_program(batch: int) -> Program:
    """Few steps and terms: the thread sanitizer loses races of many threads."""
    turn = SpectralMatrix(np.random.default_rng(2), 2, 1).fields
    flip, matrix = np.array([1, 0]), random_unitary(np.random.default_rng(1), 8)
    steps = (
        Step(Structure.ROTATION, (0,), slots=(0,), word="X"),
        Step(Structure.DENSE, (1, 5, 3), matrix=matrix),
        Step(Structure.PERMUTATION, (6,), (0, 2), 3, permutation=flip),
        *[Step(Structure.PERMUTATION, (q,), (q - 1,), 1, permutation=flip) for q in (4, 3, 6)],
        Step(Structure.ROTATION, (4, 6), slots=(1,), word="XY"),
        Step(Structure.DENSE, (2,), slots=(1,), **turn),
    )
    given = random_program(Case(7, batch, np.complex128), plan=Plan(7, steps, 2))
    terms = (PauliTerm(0b1000001, 0b11), PauliTerm(0b10, 0b100), ProjectorTerm(0b100001, 1))
    ones = np.ones((batch, 3))
    terms = Terms(7, terms, np.zeros(3, np.int64), 1)
    return replace(given, terms=terms, coefficients=ones, weights=ones[:, :1])


class Reshaped(CudaEngine):
    """An engine whose launches have other shapes.

    Attributes:
        blocks: those of a pass, at most; one has the samples and their tiles one by one.
        threads: those of a block of the other kernels, at most.
    """

    blocks, threads = 1 << 20, 256

    def _module(self) -> RawModule:
        return _Reshaped(super()._module(), self.blocks, self.threads)


class _Reshaped(RawModule):
    def __init__(self, module: RawModule, blocks: int, threads: int) -> None:
        super().__init__(module.source, module.instances)
        self.module, self.blocks, self.threads = module, blocks, threads

    def launch(
        self,
        instance: str,
        grid: Extents,
        block: Extents,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        if instance.startswith(("forward", "reverse")):
            grid = (min(grid[0], self.blocks), 1, 1)
        else:
            block = (min(block[0], self.threads), 1, 1)
        self.module.launch(instance, grid, block, arguments, shared_bytes)


@cache
def expected(real: str, batch: int) -> list[NDArray[Any]]:
    """What the reference engine makes of a program."""
    return results(REFERENCE, program(real, batch))


def engines(
    backend: EmulatedBackend, source: Source, real: str, threads: int = 256
) -> list[tuple[CudaEngine, int]]:
    """Engines, each with the samples that it runs.

    One has a tile a sample, of which a block does two. One has a block for each of four tiles. The
    last one leaves eleven blocks a sample for sixteen tiles, and one block does all of that.
    """
    kernels = replace(kernels_of(real), source=source)
    backend.device_limits = replace(LIMITS, multiprocessors=1)
    made = []
    for blocks, tile, batch in ((1, None, 2), (4, 5, 1), (1, 3, 3)):
        engine = Reshaped(backend, tile, kernels)
        engine.blocks, engine.threads = blocks, threads
        made.append((engine, batch))
    return made


def scenario(backend: EmulatedBackend, source: Source, real: str = "double") -> None:
    """Every kernel in one precision, from either start."""
    for engine, batch in engines(backend, source, real):
        p = program(real, batch)
        assert_equal_results(p, results(engine, p), expected(real, batch))
    if real == "double":
        run_wide_steps(backend, backend.raw_module(source, DOUBLE.instances))


def small_scenario(backend: EmulatedBackend, source: Source) -> None:
    """The same with less to do, values apart."""
    for engine, batch in engines(backend, source, "double", threads=64):
        results(engine, small_program(batch), (engine.tile is None,))
    run_wide_steps(backend, _Reshaped(backend.raw_module(source, DOUBLE.instances), 1, 64))


def check_single(source: Source) -> None:
    """The scenario in single precision."""
    scenario(EmulatedBackend(), source, "float")


@cache
def wide() -> tuple[Program, list[NDArray[Any]]]:
    """More instructions than threads, and a sparse term of two blocks; with the results."""
    made = wide_program(13, np.complex128)
    return made, results(REFERENCE, made)


def check_wide(source: Source) -> None:
    """The program on tiles of 2048 amplitudes."""
    p, right = wide()
    engine = CudaEngine(EmulatedBackend(), kernels=replace(DOUBLE, source=source))
    assert_equal_results(p, results(engine, p), right)


def check_alignment(source: Source) -> None:
    """States of single precision that start within a chunk, under the address sanitizer."""
    p = random_program(Case(4, 2, np.complex64, num_steps=2))
    room = np.empty(p.state.size + 3, np.complex64)
    state = room[1 + room.ctypes.data % 16 // 8 :][: p.state.size].reshape(p.state.shape)
    state[...] = p.state
    engine = CudaEngine(EmulatedBackend())
    with engine.backend.kernels.record() as launches:
        engine.forward(p.plan, state, p.angles, p.matrices)
    sanitizers.check(launches, "address", source)


def check_scratch(source: Source) -> None:
    """Every one of 32 blocks fills a tile of scratch of its own."""
    matrix = random_unitary(np.random.default_rng(1), 8)
    plan = Plan(7, (Step(Structure.DENSE, (1, 5, 3), matrix=matrix),), 0)
    p = random_program(Case(7, 2, np.complex128), plan=plan)
    engine = CudaEngine(EmulatedBackend(), 3, replace(DOUBLE, source=source))
    with engine.backend.kernels.record() as launches:
        engine.forward(p.plan, p.state, p.angles)
    for launch in launches:
        if launch.instance.startswith("forward"):
            scratch = launch.values(launch.after)[-1]
            assert scratch.shape == (32, 8)
            assert np.isfinite(scratch).all(), "a block without scratch"


CHECKS: dict[str, Check] = {
    **scenario_checks(KERNELS.source, scenario, small_scenario),
    "large": partial(check_large, kernels_of("float")),
    "single": check_single,
    "wide": check_wide,
    "alignment": check_alignment,
    "scratch": check_scratch,
    "steps": partial(check_wide_steps, DOUBLE),
    "large steps": partial(check_large_steps, kernels_of("float")),
}
