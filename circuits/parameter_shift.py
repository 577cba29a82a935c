"""The parameter-shift rule: derivatives from expectation values at shifted angles, for hardware."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from circuits.instruction import Instruction
from circuits.occurrences import symbolic_angles


@dataclass(frozen=True)
class ShiftRule:
    """f'(t) = sum_m coefficients[m] (f(t + shifts[m]) - f(t - shifts[m])).

    Attributes:
        shifts: in radians, ``(R,)``.
        coefficients: ``(R,)``.
    """

    shifts: NDArray[np.float64]
    coefficients: NDArray[np.float64]


def shift_rule(frequencies: Sequence[float]) -> ShiftRule:
    """Return the rule for f(t) = a_0 + sum_l a_l cos(w_l t) + b_l sin(w_l t).

    As f(t + s) - f(t - s) has b_l'(t) 2 sin(w_l s), the coefficients solve R linear equations. The
    shifts are the odd multiples of pi / (2 w_R), for equidistant frequencies those with the least
    variance.

    Args:
        frequencies: w_1 < ... < w_R, positive; see ``Gate.frequencies``.

    Example:
        >>> shift_rule([1.0])
        ShiftRule(shifts=array([1.57079633]), coefficients=array([0.5]))

    Reference:
        Wierichs et al. (2022), arXiv:2107.12390, section 3.
    """
    rates = np.array(frequencies, np.float64)
    if not rates.size:  # a phase that no expectation value sees
        return ShiftRule(rates, rates)
    shifts = (2 * np.arange(rates.size) + 1) * np.pi / (2 * rates[-1])
    coefficients = np.linalg.solve(2 * np.sin(np.outer(rates, shifts)), rates)
    return ShiftRule(shifts, coefficients)


def slot_rules(instructions: Sequence[Instruction]) -> list[ShiftRule]:
    """Return the rule of every symbolic angle, in the order of the angle table's slots."""
    return [
        shift_rule(o.instruction.gate.frequencies(o.slot, controlled=bool(o.instruction.controls)))
        for o in symbolic_angles(instructions)
    ]
