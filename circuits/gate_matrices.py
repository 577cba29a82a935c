"""Matrices of the standard gates, vectorised over angles.

A matrix function maps angles ``(..., p)`` in radians to ``(..., d, d)``, or to a diagonal
``(..., d)``, in the complex dtype of the angles' precision. The first target is the least
significant bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from circuits.plan.steps import ComplexArray, MatrixFunction, RealArray


def constant(rows: ArrayLike) -> ComplexArray:
    """Read-only complex128 array."""
    array = np.array(rows, np.complex128)
    array.flags.writeable = False
    return array


def _embedded(size: int, kept: tuple[int, int], block: ComplexArray) -> ComplexArray:
    """Identity of ``size`` rows with a 2 x 2 block on the basis states ``kept``."""
    out = np.zeros((*block.shape[:-2], size, size), block.dtype)
    out[..., range(size), range(size)] = 1
    rows, columns = np.ix_(kept, kept)
    out[..., rows, columns] = block
    return out


X = constant([[0, 1], [1, 0]])
Y = constant([[0, -1j], [1j, 0]])
Z = constant([[1, 0], [0, -1]])
H = constant(np.array([[1, 1], [1, -1]]) / np.sqrt(2))
Z_DIAGONAL = constant([1, -1])
S_DIAGONAL = constant([1, 1j])
SDG_DIAGONAL = constant([1, -1j])
T_DIAGONAL = constant([1, np.exp(0.25j * np.pi)])
TDG_DIAGONAL = constant([1, np.exp(-0.25j * np.pi)])
SX = constant([[0.5 + 0.5j, 0.5 - 0.5j], [0.5 - 0.5j, 0.5 + 0.5j]])
SXDG = constant(SX.conj())
ISWAP = constant(_embedded(4, (1, 2), 1j * X))
ECR = constant((np.kron(np.eye(2), X) - np.kron(X, Y)) / np.sqrt(2))
RCCX = constant(_embedded(8, (3, 7), Y) @ np.diag([1, 1, 1, 1, 1, -1, 1, 1]))
RCCCX = constant(
    _embedded(16, (7, 15), 1j * Y) @ np.diag([1, 1, 1, 1j] + [1] * 7 + [-1j] + [1] * 4)
)


def pauli_matrix(word: str) -> ComplexArray:
    """Kronecker product of Pauli letters, ``word[k]`` on target k."""
    letters = {"I": np.eye(2), "X": X, "Y": Y, "Z": Z}
    return reduce(lambda low, letter: np.kron(letters[letter], low), word, np.eye(1) + 0j)


def global_phase(angles: RealArray) -> ComplexArray:
    """e^{i theta} as a diagonal of one entry."""
    return np.exp(1j * angles)


def phase(angles: RealArray) -> ComplexArray:
    """Diagonal (1, e^{i theta})."""
    turned = np.exp(1j * angles)
    return np.concatenate([np.ones_like(turned), turned], axis=-1)


def _square(entries: Sequence[ComplexArray]) -> ComplexArray:
    """Four arrays ``(...)`` in row order to ``(..., 2, 2)``."""
    stacked = np.stack(np.broadcast_arrays(*entries), axis=-1)
    return stacked.reshape(*stacked.shape[:-1], 2, 2)


def u(angles: RealArray) -> ComplexArray:
    """P(phi) RY(theta) P(lam): [[c, -e^{i lam} s], [e^{i phi} s, e^{i (phi + lam)} c]]."""
    theta, phi, lam = np.moveaxis(angles, -1, 0)
    c, s = np.cos(theta / 2), np.sin(theta / 2)
    left, right = np.exp(1j * phi), np.exp(1j * lam)
    return _square([c + 0j, -right * s, left * s, left * right * c])


def u2(angles: RealArray) -> ComplexArray:
    """u(pi/2, phi, lam)."""
    quarter = np.full_like(angles[..., :1], np.pi / 2)
    return u(np.concatenate([quarter, angles], axis=-1))


def u_with_phase(angles: RealArray) -> ComplexArray:
    """e^{i gamma} u(theta, phi, lam), angles in the order theta, phi, lam, gamma."""
    return np.exp(1j * angles[..., 3, None, None]) * u(angles[..., :3])


def r(angles: RealArray) -> ComplexArray:
    """exp(-i theta/2 (cos phi X + sin phi Y))."""
    theta, phi = np.moveaxis(angles, -1, 0)
    c, s, turn = np.cos(theta / 2), np.sin(theta / 2), np.exp(1j * phi)
    return _square([c + 0j, -1j * s * turn.conj(), -1j * s * turn, c + 0j])


def xx_plus_yy(angles: RealArray) -> ComplexArray:
    """r(theta, beta) on the basis states 01 and 10."""
    return _embedded(4, (1, 2), r(angles))


def xx_minus_yy(angles: RealArray) -> ComplexArray:
    """r(theta, beta) on the basis states 00 and 11."""
    return _embedded(4, (0, 3), r(angles))


@dataclass(frozen=True)
class ShiftDerivative:
    """Exact derivative of a matrix function from its values at shifted angles.

    Entries that vary with an angle a as combinations of 1, e^{i w a} and e^{-i w a} satisfy
    dU/da = w/2 [U(a + pi/(2w)) - U(a - pi/(2w))] (Schuld et al., 2019, arXiv:1811.11184, applied to
    the matrix instead of an expectation value). All shifts are one call of the function.

    Attributes:
        function: the matrix function of p angles.
        rates: w of each angle.
        is_diagonal: whether the function gives diagonals.
    """

    function: MatrixFunction
    rates: tuple[float, ...]
    is_diagonal: bool

    def __call__(self, angles: RealArray) -> ComplexArray:
        """Angles ``(..., p)`` to derivatives ``(..., p, d, d)``, or ``(..., p, d)``."""
        tail = 1 if self.is_diagonal else 2
        rates = np.array(self.rates, angles.dtype)
        shift = np.diag(np.pi / (2 * rates)).astype(angles.dtype)
        shifted = angles[..., None, None, :] + np.stack([shift, -shift])
        plus, minus = np.moveaxis(self.function(shifted), -2 - tail, 0)
        return rates.reshape(-1, *[1] * tail) / 2 * (plus - minus)
