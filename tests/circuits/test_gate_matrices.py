"""Matrix functions and their derivatives."""

from __future__ import annotations

import dense
import numpy as np
import pytest
from gate_rows import every_function_row, rng_of

from circuits.gate_matrices import pauli_matrix
from circuits.gate_row import Gate
from circuits.plan.steps import ComplexArray, Structure


def assert_close(actual: ComplexArray, expected: ComplexArray, tolerance: float = 1e-15) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


@every_function_row
def test_derivative_agrees_with_differences(row: Gate) -> None:
    """Central differences of sixth order: error h^6 and rounding / h, both near 1e-12."""
    assert row.function is not None
    assert row.derivative is not None
    step, angles = 1e-2, rng_of(row).uniform(-3, 3, (5, len(row.params)))
    derivative = row.derivative(angles)
    for k in range(len(row.params)):
        expected = np.zeros_like(derivative[:, k])
        for distance, weight in ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60)):
            move = np.eye(len(row.params))[k] * step * distance
            difference = row.function(angles + move) - row.function(angles - move)
            expected = expected + weight / step * difference
        assert_close(derivative[:, k], expected, 1e-12)


@every_function_row
def test_leading_axes_are_vectorised(row: Gate) -> None:
    assert row.function is not None
    assert row.derivative is not None
    angles = rng_of(row).uniform(-3, 3, (2, 3, len(row.params)))
    tail = (1 << (row.num_qubits or 0),) * (1 if row.structure is Structure.DIAGONAL else 2)
    assert row.function(angles).shape == (2, 3, *tail)
    assert row.derivative(angles).shape == (2, 3, len(row.params), *tail)
    for i, j in np.ndindex(2, 3):
        one = angles[i, j]
        assert_close(row.function(angles)[i, j], row.function(one))
        assert_close(row.derivative(angles)[i, j], row.derivative(one))


@every_function_row
def test_precision_is_that_of_the_angles(row: Gate) -> None:
    assert row.function is not None
    assert row.derivative is not None
    for real, wide in ((np.float32, np.complex64), (np.float64, np.complex128)):
        angles = np.ones((2, len(row.params)), real)
        assert row.function(angles).dtype == wide
        assert row.derivative(angles).dtype == wide


@every_function_row
def test_nan_angle_gives_nan(row: Gate) -> None:
    assert row.function is not None
    for k in range(len(row.params)):
        angles = np.ones(len(row.params))
        angles[k] = np.nan
        assert np.isnan(row.function(angles)).any()


@pytest.mark.parametrize("word", ["", "X", "ZX", "YIZ"])
def test_pauli_matrix_has_the_first_letter_on_the_lowest_bit(word: str) -> None:
    expected = dense.kron([dense.PAULI[letter] for letter in word])
    np.testing.assert_array_equal(pauli_matrix(word), expected)
