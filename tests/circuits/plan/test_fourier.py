"""Coefficients of matrix functions."""

from __future__ import annotations

import numpy as np

from circuits.plan.fourier import fourier_coefficients


def test_coefficients_are_those_of_the_waves() -> None:
    def function(angles: np.ndarray) -> np.ndarray:
        a, b = angles[..., 0], angles[..., 1]
        return (3 * np.exp(-0.5j * a) + 2j * np.exp(0.5j * a + 1j * b))[..., None, None]

    found = fourier_coefficients(function, ((-0.5, 0.5), (0.0, 1.0)))
    np.testing.assert_allclose(found[..., 0, 0], [[3, 0], [0, 2j]], rtol=0, atol=1e-14)
