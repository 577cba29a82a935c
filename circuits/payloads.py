"""Checks of what instructions carry: matrices, diagonals, permutations and Pauli labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from circuits.errors import GateError
from circuits.gate_row import Gate, Payload


def checked_payload(row: Gate, payload: Any, num_targets: int) -> Any:
    """Return a read-only copy of a payload in the form that lowering takes.

    Args:
        row: the gate.
        payload: what ``row.payload`` names; Any, since it is what a user passed.
        num_targets: qubits of the instruction without controls, k.

    Returns:
        Complex128 ``(2**k, 2**k)`` or ``(2**k,)``, int64 ``(2**k,)`` or ``(k,)``, a label, or None
        for a gate that takes no payload.

    Raises:
        GateError: the payload has another shape or type, or is not unitary.

    Example:
        >>> from circuits.gates import gate
        >>> checked_payload(gate("diagonal"), [1, -1], 1)
        array([ 1.+0.j, -1.+0.j])
    """
    if row.payload is None:
        if payload is not None:
            raise GateError(f"{row.name} needs no matrix or label, got {payload!r}. Leave it out.")
        return None
    return _CHECKS[row.payload](row.name, payload, num_targets)


def _array(name: str, what: str, payload: ArrayLike, shape: tuple[int, ...]) -> NDArray[Any]:
    """A numeric array of the shape, finite."""
    array = np.asarray(payload)
    if array.dtype.kind not in "iufc" or array.shape != shape or not np.isfinite(array).all():
        raise GateError(
            f"{name} needs {what} of shape {shape} with finite numbers, "
            f"got shape {array.shape}, dtype {array.dtype}. Give one row or entry a basis state."
        )
    return array


def _frozen(array: NDArray[Any], dtype: type) -> NDArray[Any]:
    """Read-only contiguous copy."""
    copy: NDArray[Any] = np.array(array, dtype, order="C")
    copy.flags.writeable = False
    return copy


def _tolerance(array: NDArray[Any]) -> float:
    """Qiskit's 1e-8, or what single precision allows."""
    return 1e-5 if array.dtype in (np.complex64, np.float32) else 1e-8


def _matrix(name: str, payload: ArrayLike, size: int) -> NDArray[Any]:
    array = _array(name, "a matrix", payload, (1 << size, 1 << size))
    matrix = _frozen(array, np.complex128)
    error = np.abs(matrix.conj().T @ matrix - np.eye(len(matrix))).max()
    if error > _tolerance(array):
        raise GateError(
            f"{name} needs a unitary matrix, got one with |U^dagger U - 1| up to {error:.1e}. "
            "Orthogonalise it, for example with scipy.linalg.polar."
        )
    return matrix


def _diagonal(name: str, payload: ArrayLike, size: int) -> NDArray[Any]:
    array = _array(name, "a diagonal", payload, (1 << size,))
    error = np.abs(np.abs(array) - 1).max()
    if error > _tolerance(array):
        raise GateError(
            f"{name} needs entries of modulus 1, got a modulus that is off by {error:.1e}. "
            "Divide each entry by its modulus."
        )
    return _frozen(array, np.complex128)


def _order(name: str, what: str, payload: ArrayLike, length: int) -> NDArray[Any]:
    array = _array(name, what, payload, (length,))
    if array.dtype.kind not in "iu" or not np.array_equal(np.sort(array), np.arange(length)):
        raise GateError(
            f"{name} needs every integer from 0 to {length - 1} once, got {array.tolist()}. "
            "Write a permutation."
        )
    return _frozen(array, np.int64)


def _label(name: str, payload: Any, size: int) -> str:
    if not isinstance(payload, str) or len(payload) != size or set(payload) - set("IXYZ"):
        raise GateError(
            f"{name} needs a label of {size} letters I, X, Y or Z, one a qubit, got "
            f"{payload!r:.60}. Write 'XZ', the first qubit on the right."
        )
    return payload


_CHECKS: dict[Payload, Callable[[str, Any, int], Any]] = {
    Payload.MATRIX: _matrix,
    Payload.DIAGONAL: _diagonal,
    Payload.IMAGES: lambda name, payload, size: _order(name, "images", payload, 1 << size),
    Payload.PATTERN: lambda name, payload, size: _order(name, "a qubit pattern", payload, size),
    Payload.LABEL: _label,
}
