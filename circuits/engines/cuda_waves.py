"""What functions of angles make, as numbers that a device can evaluate.

A gate's function is Python code of the host. But the gate table's ``spectra`` list the frequencies
of its matrix, so each entry is a trigonometric polynomial, sum_v c_v e^{i v.t} over the angles t.
A device is given these waves, once for a plan, and needs neither the function nor its derivative.

Of a one-qubit matrix U a device needs a quaternion and a phase (see Columns). With the phase
s.t + o, where det U = e^{2i (s.t + o)}, the quaternion has U's waves at frequencies less s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from circuits.engines.numba_columns import Columns, as_matrices, turn_jacobian
from circuits.errors import EngineError
from circuits.plan.blocks import Function, Fused
from circuits.plan.fourier import fourier_coefficients
from circuits.plan.steps import ComplexArray, RealArray, Spectra

MadeField = IntEnum(
    "MadeField", "MADE_COLUMN FIRST_WAVE LAST_WAVE MADE_OF MADE_ANGLES MADE_COLUMNS", start=0
)
"""Of a column that a function makes: its place among the columns of a call; its first number among
the waves and the one after its last; how many angles a wave has, and where these are listed."""

Column = NDArray[np.float64]
"""Waves ``(W, 2 + p)``: x, y and v of Re (x + i y) e^{i v.t}; the column is their sum."""

TINY = 1e-14
"""Smaller amplitudes are errors of rounding: those of a unitary matrix add up to its entries."""

TOLERANCE = 1e-9
"""Between a function and its polynomial; what misses a frequency is off by about one."""


@dataclass(frozen=True, eq=False)
class Waves:
    """A function's member as a device computes it, from its p angles.

    Attributes:
        columns: what a member gives, see ``member_columns``.
        jacobian: what its results are multiplied by in the gradients of its angles, by angle.
        slope: the global phase of a member of turns, by angle.
        offset: and its fixed part.
    """

    columns: tuple[Column, ...]
    jacobian: tuple[Column, ...]
    slope: RealArray
    offset: float


@dataclass(frozen=True, eq=False)
class Made:
    """Columns of a call that functions make, and what a device makes them of.

    A call's columns are those of ``Columns``, of which the first two are not used here. Behind them
    stand, where gradients are wanted, what functions' results are multiplied by in the gradients of
    their angles: by function, member, angle and result.

    Attributes:
        table: such columns, see ``MadeField``, ``(M, 5)``.
        angles: slots, listed by member.
        waves: of every function, once for all its members.
        width: columns of a call.
    """

    table: NDArray[np.int64]
    angles: NDArray[np.int64]
    waves: NDArray[np.float64]
    width: int

    @classmethod
    def place(
        cls, fused: Fused, waves: Sequence[Waves], columns: Columns, *, gradients: bool
    ) -> Made:
        """Give every function's waves and columns their places."""
        tables = [np.empty((0, MadeField.MADE_COLUMNS), np.int64)]
        numbers = [np.empty(0)]
        slots: list[int] = []
        end, width = 0, columns.width
        for start, function, made in zip(columns.starts, fused.functions, waves, strict=True):
            count, angles = len(function.slots), len(function.slots[0])
            listed = len(slots) + angles * np.arange(count)
            slots += [slot for member in function.slots for slot in member]
            parts = [(start, made.columns)]
            if gradients:
                parts.append((width, made.jacobian))
                width += count * len(made.jacobian)
            for at, group in parts:
                ends = end + np.cumsum([0, *[column.size for column in group]])
                rows = np.empty((count, len(group), MadeField.MADE_COLUMNS), np.int64)
                places = at + np.arange(count * len(group)).reshape(count, -1)
                rows[..., MadeField.MADE_COLUMN] = places
                rows[..., MadeField.FIRST_WAVE] = ends[:-1]
                rows[..., MadeField.LAST_WAVE] = ends[1:]
                rows[..., MadeField.MADE_OF] = angles
                rows[..., MadeField.MADE_ANGLES] = listed[:, None]
                tables.append(rows.reshape(-1, MadeField.MADE_COLUMNS))
                numbers += [column.ravel() for column in group]
                end = int(ends[-1])
        return cls(
            np.concatenate(tables), np.array(slots, np.int64), np.concatenate(numbers), width
        )


def turned_phase(
    fused: Fused, waves: Sequence[Waves]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the angles that turn the global phase; then its fixed part, and their rates."""
    rates, fixed = np.zeros(fused.num_slots), fused.phase
    np.subtract.at(rates, np.array(fused.phase_slots, np.int64), 0.5)
    for function, made in zip(fused.functions, waves, strict=True):
        for slots, controlled in zip(function.slots, function.controlled, strict=True):
            if not controlled:
                np.add.at(rates, np.array(slots), made.slope)
                fixed += made.offset
    (turning,) = np.nonzero(rates)
    return turning, np.array([fixed, *rates[turning]])


def waves_of(function: Function) -> Waves:
    """Return a function's polynomial.

    Raises:
        EngineError: the spectra lack a frequency of the function.
    """
    frequencies = np.array(list(product(*function.spectra)))
    found = _coefficients(function, frequencies)
    derived = 1j * frequencies[:, :, None] * found[:, None, :]
    if function.is_turn:
        return _turns(found, derived, frequencies, function.spectra)
    gradient = np.stack([derived, 1j * derived], axis=-1).reshape(len(found), -1)
    return Waves(
        _columns(np.stack([found, -1j * found], axis=-1).reshape(len(found), -1), frequencies),
        _columns(gradient, frequencies),
        np.zeros(frequencies.shape[1]),
        0.0,
    )


def _coefficients(function: Function, frequencies: RealArray) -> ComplexArray:
    """Return what every wave adds to the entries, ``(L, d)`` or ``(L, d * d)``."""
    needed, spectra = len(function.slots[0]), function.spectra
    point = 0.5 + np.sqrt(2) * np.arange(needed)
    error = np.inf
    if len(spectra) == needed:
        found = fourier_coefficients(function.function, spectra).reshape(len(frequencies), -1)
        right = np.asarray(function.function(point)).ravel()
        error = np.abs(_waves(point, frequencies) @ found - right).max()
    if error > TOLERANCE:
        raise EngineError(
            "a gate on a device needs spectra that list all frequencies of its matrix, got "
            f"{spectra} for {needed} angles of {function.function!r:.80}. Correct the gate's row."
        )
    return found


def _waves(angles: RealArray, frequencies: RealArray) -> ComplexArray:
    """Return e^{i v.t} of all waves, ``(..., L)``."""
    return np.exp(1j * (angles @ frequencies.T))


def _turns(
    found: ComplexArray, derived: ComplexArray, frequencies: RealArray, spectra: Spectra
) -> Waves:
    """Return the waves of one-qubit matrices, or of phases alone."""
    jacobian = partial(_jacobian, found=found, derived=derived, frequencies=frequencies)
    start, zero = found.sum(axis=0), np.zeros(frequencies.shape[1])
    slope = _means(spectra, -jacobian(zero)[:, 3])
    columns: tuple[Column, ...] = ()
    offset = float(np.angle(start[0]))
    if len(start) > 1:
        offset = float(np.angle(np.linalg.det(as_matrices(start))) / 2)
        matrices = as_matrices(found) * np.exp(-1j * offset)
        a, b = matrices[:, 0, 0], matrices[:, 0, 1]
        columns = _columns(np.stack([a, 1j * b, -b, 1j * a], axis=-1), frequencies - slope)
    phase = np.exp(1j * offset) * np.array([[1, -1j]])
    differences = tuple([_differences(spectrum) for spectrum in spectra])
    generators = fourier_coefficients(lambda angles: jacobian(angles) + 0j, differences)
    return Waves(
        (*columns, *_columns(phase, slope[None])),
        _columns(
            generators.reshape(-1, 4 * len(slope)),
            np.array(list(product(*differences))),
        ),
        slope,
        offset,
    )


def _jacobian(
    angles: RealArray, found: ComplexArray, derived: ComplexArray, frequencies: RealArray
) -> NDArray[np.floating]:
    """Return ``turn_jacobian`` of the polynomials at angles ``(..., p)``, ``(..., p, 4)``."""
    waves = _waves(angles.reshape(-1, 1, angles.shape[-1]), frequencies)
    values = waves @ found
    slopes = np.einsum("ngl,lpd->ngpd", waves, derived)
    return turn_jacobian(values, slopes).reshape(*angles.shape, 4)


def _means(spectra: Spectra, near: RealArray) -> RealArray:
    """Return the means of two frequencies of each angle that rounded numbers stand for."""
    pairs = [[(a + b) / 2 for a in spectrum for b in spectrum] for spectrum in spectra]
    chosen = zip(pairs, near.tolist(), strict=True)
    return np.array([min(means, key=lambda mean: abs(mean - x)) for means, x in chosen])


def _differences(spectrum: Sequence[float]) -> tuple[float, ...]:
    """Return all differences of frequencies, once each up to rounding.

    >>> _differences((0.0, 1.0))
    (-1.0, 0.0, 1.0)
    """
    ordered = sorted({a - b for a in spectrum for b in spectrum})
    gaps = zip([-np.inf, *ordered[:-1]], ordered, strict=True)
    return tuple([later for earlier, later in gaps if later - earlier > TOLERANCE])


def _columns(coefficients: ComplexArray, frequencies: RealArray) -> tuple[Column, ...]:
    """Return the real parts of polynomials ``(L, columns)``.

    Re z is Re conj(z): waves at v and at -v become one.
    """
    keys = [tuple(v) for v in (frequencies + 0.0).tolist()]
    out = []
    for column in coefficients.T.tolist():
        waves: dict[tuple[float, ...], complex] = {}
        for key, amplitude in zip(keys, column, strict=True):
            opposite = tuple([0.0 - v for v in key])
            if key == opposite:
                amplitude = complex(amplitude.real)
            if key < opposite:
                key, amplitude = opposite, amplitude.conjugate()
            waves[key] = waves.get(key, 0) + amplitude
        rows = [[a.real, a.imag, *key] for key, a in waves.items() if abs(a) > TINY]
        out.append(np.array(rows, np.float64).reshape(len(rows), 2 + len(keys[0])))
    return tuple(out)
