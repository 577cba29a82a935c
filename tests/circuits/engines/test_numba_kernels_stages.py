"""Tiles of a stage, and helpers that come when the work is done."""

from __future__ import annotations

import numpy as np
import pytest
from programs import Case, random_program

from circuits.engines import numba_cpu, numba_kernels_stages, numba_program, numba_stages
from circuits.engines.numba_cpu import NumbaEngine
from circuits.engines.numba_kernels_stages import tile_base


def test_tiles_have_all_bases() -> None:
    bits = np.array([1, 4, 5])
    bases = [tile_base.py_func(tile, bits, 3) for tile in range(8)]
    assert sorted(bases) == sorted({b for b in range(64) if not b & 0b001101})


def test_a_late_helper_finds_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (numba_stages, numba_program):
        monkeypatch.setattr(module, "TILE_ROWS_LOG", 4)
    seen = []

    def run(driver: object, args: tuple[np.ndarray, ...], team: int) -> None:
        numba_kernels_stages.forward_stages(*args)
        args[-1][numba_kernels_stages.JOINED] = 0
        before = [a.copy() for a in args[:-1]]
        numba_kernels_stages.forward_stages(*args)
        seen.append(all(a.tobytes() == b.tobytes() for a, b in zip(args, before, strict=False)))

    monkeypatch.setattr(numba_cpu, "run_team", run)
    program = random_program(Case(8, 1, np.complex128))
    NumbaEngine().forward(program.plan, program.state, program.angles, program.matrices)
    assert seen == [True]
