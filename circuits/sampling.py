"""Shots: basis states drawn from probabilities on the host, by inverse transform.

Uniform numbers are drawn on the host from an explicit seed, so that every engine and device gives
the same shots, up to rounding at a bin's edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.errors import MeasurementError, SeedError
from circuits.plan.memory import require_memory

Seed = int | np.random.Generator | None


MAX_SHOTS = 1 << 62
"""Estimates draw numbers of shots as 64-bit integers; what is listed needs memory long before."""


def checked_shots(shots: Any) -> int:  # Any: whatever the user gave
    """Return the number of shots, or refuse it."""
    known = isinstance(shots, int | np.integer) and not isinstance(shots, bool)
    if not known or not 1 <= shots <= MAX_SHOTS:
        raise MeasurementError(
            "sampling needs a number of shots from 1 on, and at most 2^62, got "
            f"{shots!r:.60}. Give an integer."
        )
    return int(shots)


def generator_of(seed: Seed) -> np.random.Generator:
    """Return the generator that draws; None is fresh entropy.

    Raises:
        SeedError: the seed is no non-negative integer and no Generator.
    """
    if seed is None or isinstance(seed, np.random.Generator):
        return np.random.default_rng(seed)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise SeedError(
            f"a seed needs an integer from 0 on or a numpy Generator, got {seed!r:.60}. "
            "Write seed=0, or np.random.default_rng(0)."
        )
    return np.random.default_rng(int(seed))


def draw(probabilities: NDArray[np.floating], shots: int, seed: Seed) -> NDArray[np.int64]:
    """Draw basis states.

    Args:
        probabilities: ``(N,)`` or ``(B, N)``; rounding may leave sums a little off 1.
        shots: draws a sample.
        seed: integer or Generator.

    Returns:
        int64 ``(shots,)`` or ``(B, shots)``.

    Raises:
        MeasurementError: probabilities that are not finite.
        CapacityError: the shots need more memory than there is.
    """
    if not np.isfinite(probabilities).all():
        raise MeasurementError(
            "sampling needs finite probabilities, got NaN or inf. Check the angles and the state."
        )
    edges = np.cumsum(probabilities, axis=-1, dtype=np.float64)
    totals = edges[..., -1:]
    if not (totals > 0).all():
        raise MeasurementError(
            "sampling needs probabilities above 0, got a sum of 0. Check the state."
        )
    # The draws, what they are scaled or shifted to, and the outcomes: eight bytes each.
    require_memory(24 * shots * (totals.size or 1), f"sampling {shots} shots")
    uniform = generator_of(seed).random((*probabilities.shape[:-1], shots))
    if edges.ndim == 1:
        # Scaling by the last edge keeps every draw below it, whatever rounding did to the sum.
        return np.searchsorted(edges, uniform * totals, side="right").astype(np.int64)
    # One sorted sequence for all rows: row b's edges lie in [b, b + 1].
    rows = np.arange(len(edges))[:, None]
    shifted = (edges / totals + rows).ravel()
    found = np.searchsorted(shifted, (uniform + rows).ravel(), side="right")
    # uniform + b may round up to b + 1; the last possible outcome is the first at the total.
    last = (edges < totals).sum(axis=1, keepdims=True)
    drawn = found.reshape(uniform.shape) - rows * edges.shape[1]
    return np.minimum(drawn, last).astype(np.int64)


def count_bits(
    drawn: NDArray[np.int64], measured: Mapping[int, int], num_qubits: int
) -> dict[str, int]:
    """Return how often each bit string occurs, most frequent first.

    Args:
        drawn: basis states ``(shots,)``.
        measured: the qubit that each classical bit reads; empty: bit k reads qubit k.
        num_qubits: width.

    Returns:
        Counts by text, the highest classical bit leftmost; classical bits without a qubit read 0.
    """
    pairs = measured or {q: q for q in range(num_qubits)}
    width = max(pairs, default=-1) + 1
    values, numbers = np.unique(_moved_bits(drawn, pairs), return_counts=True)
    order = np.argsort(-numbers, kind="stable")
    return {format(int(values[k]), f"0{width}b") if width else "": int(numbers[k]) for k in order}


def _moved_bits(
    drawn: NDArray[np.int64], pairs: Mapping[int, int]
) -> NDArray[np.object_ | np.int64]:
    if max(pairs, default=0) > 62:
        raise MeasurementError("counts need classical bits below 63. Renumber them.")
    moved = np.zeros_like(drawn)
    for clbit, qubit in pairs.items():
        moved |= ((drawn >> qubit) & 1) << clbit
    return moved
