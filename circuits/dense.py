"""Steps as matrices on the tape of Tensor ops: slow, and independent of every pass and engine.

What an audit calls right. Two sources give a step's matrix from its angles: the gate table's
function itself, for values; and, for derivatives on the tape, the trigonometric polynomial that the
table's ``spectra`` promise, whose coefficients are fitted to values of that function. The table's
``derivative`` is used in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from autodiff import Tensor, concatenate, cos, exp, sin
from circuits.plan.fourier import fourier_coefficients
from circuits.plan.steps import ComplexArray, RealArray, Spectra, Step, Structure

# Any in this file: what Tensor ops take, Tensors and arrays.

MatrixOf = Callable[[Step], Any]
"""Gives a step's matrix ``(d, d)`` or ``(B, d, d)``, a Tensor or an array."""

_PAULI = {
    "I": np.eye(2),
    "X": np.array([[0, 1], [1, 0]]),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]),
}


def word_matrix(word: str) -> ComplexArray:
    """Return the matrix of a Pauli word whose first letter acts on the least significant qubit.

    >>> word_matrix("XZ").real.diagonal(1).tolist()
    [1.0, 0.0, -1.0]
    """
    factors = [_PAULI[letter].astype(np.complex128) for letter in word]
    return reduce(lambda low, high: np.kron(high, low), factors, np.eye(1, dtype=np.complex128))


def fixed_matrix(step: Step) -> ComplexArray:
    """Return the matrix ``(d, d)`` of a step without slots and without a source."""
    if step.structure is Structure.ROTATION:
        assert step.angle is not None
        word = word_matrix(step.word or "")
        return np.cos(step.angle / 2) * np.eye(len(word)) - 1j * np.sin(step.angle / 2) * word
    if step.structure is Structure.PERMUTATION:
        assert step.permutation is not None
        matrix = np.zeros((len(step.permutation),) * 2, np.complex128)
        matrix[step.permutation, np.arange(len(step.permutation))] = 1
        return matrix
    assert step.matrix is not None
    full = np.diag(step.matrix) if step.matrix.ndim == 1 else step.matrix
    return full.astype(np.complex128)


def matrix_by_function(step: Step, angles: RealArray) -> ComplexArray:
    """Return the matrix of a step with slots at angles ``(..., S)``, ``(..., d, d)``."""
    own = angles[..., list(step.slots)]
    if step.function is None:
        word, half = word_matrix(step.word or ""), own[..., 0, None, None] / 2
        return np.cos(half) * np.eye(len(word)) - 1j * np.sin(half) * word
    made = step.function(own)
    if step.structure is not Structure.DIAGONAL:
        return made
    return made[..., None] * np.eye(made.shape[-1])


def matrix_on_tape(step: Step, angles: Tensor, spectra: Spectra) -> Tensor:
    """Return the matrix ``(d, d)`` of a step with slots, recorded for the angles ``(S,)``.

    Args:
        step: a rotation, or what a function of angles makes.
        angles: all angles of the circuit.
        spectra: of the step's slots.
    """
    if step.function is None:
        word, half = word_matrix(step.word or ""), angles[step.slots[0]] / 2
        return cos(half) * np.eye(len(word)) - 1j * sin(half) * word
    fitted = fourier_coefficients(lambda own: _function_matrix(step, own), spectra)
    weights: Tensor = Tensor([1.0 + 0j])
    for slot, spectrum in zip(step.slots, spectra, strict=True):
        waves = exp(1j * np.array(spectrum) * angles[slot])
        weights = (weights.reshape((-1, 1)) * waves).reshape((-1,))
    size = fitted.shape[-1]
    return (weights @ fitted.reshape(-1, size * size)).reshape((size, size))


def _function_matrix(step: Step, own: RealArray) -> ComplexArray:
    full = np.zeros((*own.shape[:-1], max(step.slots) + 1))
    full[..., list(step.slots)] = own
    return matrix_by_function(step, full)


def apply_steps(
    steps: Sequence[Step], num_qubits: int, states: Tensor, matrix_of: MatrixOf
) -> Tensor:
    """Return the states ``(B, 2**n)`` after steps, recorded for whatever the matrices depend on."""
    for step in steps:
        states = _apply(step, num_qubits, states, matrix_of(step))
    return states


def _apply(step: Step, num_qubits: int, states: Tensor, matrix: Any) -> Tensor:
    """Gather the amplitudes whose controls hold, multiply, and put them back."""
    basis = np.arange(1 << num_qubits)
    local = sum([((basis >> q) & 1) << k for k, q in enumerate(step.targets)], 0 * basis)
    held = (basis & step.control_mask) == step.control_value
    rows = np.stack([basis[held & (local == k)] for k in range(1 << len(step.targets))])
    order = np.concatenate([rows.reshape(-1), basis[~held]])
    batch, size = states.shape[0], rows.size
    moved = (matrix @ states[:, rows]).reshape((batch, size))
    return concatenate([moved, states[:, basis[~held]]], axis=1)[:, np.argsort(order)]
