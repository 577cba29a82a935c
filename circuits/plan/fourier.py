"""Matrix functions as trigonometric polynomials."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from circuits.plan.steps import ComplexArray, MatrixFunction, Spectra


def fourier_coefficients(function: MatrixFunction, spectra: Spectra) -> ComplexArray:
    """Return C with sum_w C[w] e^{i w t} = f(t) for the frequencies of each angle.

    Args:
        function: angles ``(..., p)`` to matrices ``(..., d, d)``.
        spectra: p lists of frequencies; each is sampled at as many angles as it is long.

    Returns:
        ``(len(spectra[0]), ..., len(spectra[p - 1]), d, d)``.
    """
    samples = [_samples(np.array(spectrum)) for spectrum in spectra]
    grid = np.stack(np.meshgrid(*samples, indexing="ij"), axis=-1)
    values = function(grid)
    for axis, (spectrum, points) in enumerate(zip(spectra, samples, strict=True)):
        waves = np.exp(1j * np.outer(points, spectrum))
        moved = np.moveaxis(values, axis, 0)
        solved = np.linalg.solve(waves, moved.reshape(len(points), -1)).reshape(moved.shape)
        values = np.moveaxis(solved, 0, axis)
    return values


def _samples(spectrum: NDArray[np.float64]) -> NDArray[np.float64]:
    """Angles at which the waves of a spectrum are independent, orthogonal if it is equidistant."""
    gaps = np.diff(np.sort(spectrum))
    gap = gaps.min() if gaps.size else 1.0
    return 2 * np.pi * np.arange(len(spectrum)) / (len(spectrum) * gap)
