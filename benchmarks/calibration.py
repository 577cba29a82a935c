"""How fast this machine is at this moment: copies, arithmetic, and Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.cases import LAYERS, Case
from benchmarks.timing import Timing

COPIED_BYTES = 1 << 26
MATRIX_SIDE = 64  # the largest that OpenBLAS leaves to one thread
PYTHON_LOOPS = 1000
CACHED_BYTES = 1 << 20  # states up to this size stay in a core's own cache

# Of a one-qubit block per amplitude: 16 forward; back, 32 for the two states and 12 for the
# gradient's three sums.
FLOPS = 60
# Of whole states for each layer: one forward, two going back.
COPIES = 3


@dataclass(frozen=True)
class Calibration:
    """Rates of this machine, of one thread.

    Attributes:
        bytes_per_second: copied from memory to memory.
        flops_per_second: of a matrix product, double precision.
        python_seconds: of ``python_piece``.
    """

    bytes_per_second: float
    flops_per_second: float
    python_seconds: float

    def expected(self, case: Case) -> float:
        """Return the seconds that a case's arithmetic, copies and Python would take.

        The model is coarse; what matters is that it follows the machine's speed.
        """
        amplitudes = (1 << case.num_qubits) * max(case.batch, 1)
        flops = FLOPS * amplitudes * blocks(case) * (0.5 if case.single else 1.0)
        state = amplitudes * (8 if case.single else 16)
        copied = COPIES * LAYERS * state if state > CACHED_BYTES else 0
        arithmetic = flops / self.flops_per_second + copied / self.bytes_per_second
        return arithmetic + self.python_seconds


def calibration_calls() -> list[Callable[[], object]]:
    """Return what is timed for a calibration: a copy, a matrix product, and Python."""
    source = np.ones(COPIED_BYTES // 8)
    target = np.zeros_like(source)
    left = np.random.default_rng(0).normal(size=(MATRIX_SIDE, MATRIX_SIDE))
    product = np.empty_like(left)
    return [
        lambda: np.copyto(target, source),
        lambda: np.matmul(left, left, out=product),
        python_piece,
    ]


def calibration(copy: Timing, multiply: Timing, python: Timing) -> Calibration:
    """Return the rates from the fastest calls."""
    return Calibration(COPIED_BYTES / copy.best, 2 * MATRIX_SIDE**3 / multiply.best, python.best)


def python_piece() -> int:
    """Run a fixed piece of Python: about what a call's bookkeeping takes."""
    kept: dict[int, tuple[int, str]] = {}
    for k in range(PYTHON_LOOPS):
        kept[k] = (k, str(k))
    return len(kept)


def blocks(case: Case) -> int:
    """Count what cannot be fused: runs of one-qubit gates, and two-qubit gates that do not permute.

    >>> from benchmarks.cases import layered
    >>> blocks(layered(4, layers=2))  # a run on each qubit in each layer
    8
    """
    count, open_runs = 0, set[int]()
    for step in case.steps:
        if len(step.qubits) == 1:
            count += step.qubits[0] not in open_runs
            open_runs.update(step.qubits)
        else:
            count += step.gate not in ("cx", "swap")
            open_runs.difference_update(step.qubits)
    return count
