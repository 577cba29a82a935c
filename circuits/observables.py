"""Observables that are no Pauli words: projectors, Hermitian matrices, sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autodiff import Tensor
from autodiff.errors import reason
from circuits.errors import ObservableError
from circuits.observable_base import Observable, qubit_tuple
from circuits.plan.terms import MatrixTerm, ProjectorTerm, SparseTerm

Matrix = NDArray[np.complex128]

_DOUBLE, _SINGLE = 1e-10, 1e-5
"""Largest |M - M^dagger| / |M| that counts as rounding, by the precision of the matrix given."""


@dataclass(frozen=True)
class Outcome:
    """Sum of |i><i| over all i with ``i & mask == value``."""

    mask: int
    value: int

    @property
    def support(self) -> int:
        """Bit mask of the qubits that it looks at."""
        return self.mask

    def term(self) -> ProjectorTerm:
        """Return what an engine sees."""
        return ProjectorTerm(self.mask, self.value)

    def text(self, width: int | None) -> str:
        """Return Python code that makes it."""
        qubits = [q for q in range(self.mask.bit_length()) if self.mask >> q & 1]
        bits = "".join([str(self.value >> q & 1) for q in reversed(qubits)])
        if len(qubits) == width:
            return f"Projector({bits!r})"
        return f"Projector({bits!r}, {tuple(qubits)})"


@dataclass(frozen=True, eq=False)
class Block:
    """A Hermitian matrix on some qubits, the first listed least significant; compared by value."""

    matrix: Matrix
    targets: tuple[int, ...]

    @property
    def support(self) -> int:
        """Bit mask of the qubits that it acts on."""
        return sum(1 << q for q in self.targets)

    def term(self) -> MatrixTerm:
        """Return what an engine sees."""
        return MatrixTerm(self.matrix, self.targets)

    def text(self, width: int | None) -> str:
        """Return how it was made, with the shape for the matrix."""
        rows, columns = self.matrix.shape
        return f"Hermitian(<{rows} x {columns}>, {self.targets})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Block)
            and self.targets == other.targets
            and np.array_equal(self.matrix, other.matrix)
        )

    def __hash__(self) -> int:
        return hash(self.targets)


@dataclass(frozen=True, eq=False)
class Sparse:
    """A Hermitian matrix on all qubits in compressed sparse rows; compared by value."""

    data: Matrix
    indices: NDArray[np.int64]
    indptr: NDArray[np.int64]

    @property
    def support(self) -> int:
        """Bit mask of all qubits."""
        return len(self.indptr) - 2

    def term(self) -> SparseTerm:
        """Return what an engine sees."""
        return SparseTerm(self.data, self.indices, self.indptr)

    def text(self, width: int | None) -> str:
        """Return how it was made, with shape and number of entries for the matrix."""
        rows = len(self.indptr) - 1
        return f"SparseHermitian(<{rows} x {rows}, {len(self.data)} entries>)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sparse)
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.data, other.data)
        )

    def __hash__(self) -> int:
        return hash((len(self.indptr), len(self.data)))


class Projector(Observable):
    """The projector on the basis states with given bits; its expectation is their probability.

    Args:
        bits: a string with the bit of the least significant qubit on the right, or a sequence of
            0 and 1 with that bit first.
        qubits: the qubits that the bits belong to, the first listed least significant; by default
            all of the circuit, ``q[n-1]...q[0]`` in a string, which then fixes the width.

    Raises:
        ObservableError: no bits, other characters than 0 and 1, not one bit a qubit.
        QubitError: repeated, negative or non-integer qubits.

    >>> Projector("01")  # qubit 0 in |1>, qubit 1 in |0>
    Projector('01')
    >>> Projector("01", (2, 5)) == Projector([1, 0], (2, 5))  # qubit 2 in |1>, qubit 5 in |0>
    True
    """

    def __init__(
        self, bits: str | Sequence[int], qubits: int | Sequence[int] | None = None
    ) -> None:
        values = _bit_values(bits)
        places = tuple(range(len(values))) if qubits is None else qubit_tuple(qubits)
        if len(places) != len(values):
            raise ObservableError(
                f"Projector needs one bit a qubit, got {len(values)} bits {bits!r} for qubits "
                f"{qubits!r}. Give as many bits as qubits."
            )
        mask = sum(1 << q for q in places)
        value = sum(bit << q for bit, q in zip(values, places, strict=True))
        self._set({Outcome(mask, value): 1.0}, len(values) if qubits is None else None)


class Hermitian(Observable):
    """A Hermitian matrix on chosen qubits. It is copied, and rounded to exactly Hermitian.

    Args:
        matrix: ``(2**k, 2**k)`` real or complex numbers, fixed.
        qubits: k qubits; the first listed is the least significant bit of the matrix index.

    Raises:
        ObservableError: not Hermitian, not finite, not numbers, another shape, or a Tensor that
            requires grad.
        QubitError: repeated, negative or non-integer qubits.

    >>> Hermitian([[1, 0], [0, -1]], 2)
    Hermitian(<2 x 2>, (2,))
    """

    def __init__(self, matrix: ArrayLike | Tensor, qubits: int | Sequence[int]) -> None:
        targets = qubit_tuple(qubits)
        given = _numbers(matrix, "Hermitian")
        dim = 1 << len(targets)
        if given.shape != (dim, dim):
            raise ObservableError(
                f"Hermitian needs a matrix of shape ({dim}, {dim}) on qubits {targets}, got shape "
                f"{given.shape}. Give one row a basis state of these qubits."
            )
        full = given.astype(np.complex128)
        symmetric, skew = (full + full.conj().T) / 2, (full - full.conj().T) / 2
        _check_hermitian(full, skew, given.dtype, "Hermitian")
        symmetric.flags.writeable = False
        self._set({Block(symmetric, targets): 1.0}, None)


class SparseHermitian(Observable):
    """A sparse Hermitian matrix on all qubits of a circuit, which fixes the width.

    It is copied, equal entries are added up, and it is rounded to exactly Hermitian.

    Args:
        matrix: ``(2**n, 2**n)``, a SciPy sparse matrix or array, or anything with ``tocsr``.

    Raises:
        ObservableError: no sparse matrix, not Hermitian, not finite, not square, or a dimension
            that is no power of two.
    """

    def __init__(self, matrix: Any) -> None:  # Any: SciPy is not imported here
        if not hasattr(matrix, "tocsr"):
            raise ObservableError(
                "SparseHermitian needs a sparse matrix with tocsr(), got "
                f"{type(matrix).__name__}. Use scipy.sparse.csr_array(matrix), or Hermitian."
            )
        rows = matrix.tocsr()
        dim = rows.shape[0]
        width = dim.bit_length() - 1
        if rows.shape != (1 << width, 1 << width) or width < 1:
            raise ObservableError(
                f"SparseHermitian needs shape (2**n, 2**n) for n qubits, n >= 1, got {rows.shape}. "
                "Pad or cut the matrix."
            )
        self._set({_hermitian_rows(rows, dim): 1.0}, width)


def _bit_values(bits: str | Sequence[int]) -> list[int]:
    """Return bits, least significant first."""
    try:
        values = (
            [int(b) for b in reversed(bits)] if isinstance(bits, str) else list(map(index, bits))
        )
    except (TypeError, ValueError):
        values = []
    if not values or not set(values) <= {0, 1}:
        raise ObservableError(
            f"Projector needs bits 0 and 1, got {bits!r}. "
            "Write '01', or [1, 0], for qubit 0 in |1> and qubit 1 in |0>."
        )
    return values


def _numbers(matrix: Any, kind: str) -> NDArray[Any]:  # Any: whatever the user gave
    """Return a finite numeric array, or refuse."""
    if isinstance(matrix, Tensor):
        if matrix.requires_grad:
            raise ObservableError(
                f"{kind} needs fixed numbers, got {matrix._label()} that requires grad. "
                "Detach it, or train coefficients of fixed matrices."
            )
        matrix = matrix.numpy()
    try:
        array = np.asarray(matrix)
    except ValueError as error:
        raise ObservableError(
            f"{kind} needs rows of equal length, got {reason(error)}. Give a square matrix."
        ) from error
    if array.dtype.kind not in "biufc" or not np.isfinite(array).all():
        raise ObservableError(
            f"{kind} needs finite numbers, got dtype {array.dtype}, shape {array.shape} with NaN, "
            "infinity or entries that are no numbers. Check how the matrix was computed."
        )
    return array


def _check_hermitian(full: Matrix, skew: Matrix, dtype: np.dtype[Any], kind: str) -> None:
    tolerance = _SINGLE if dtype in (np.float16, np.float32, np.complex64) else _DOUBLE
    deviation, largest = np.abs(skew).max(initial=0.0), np.abs(full).max(initial=0.0)
    if deviation > tolerance * largest:
        raise ObservableError(
            f"{kind} needs a Hermitian matrix, got one with |M - M^dagger| / 2 up to "
            f"{deviation:.3g} where |M| is up to {largest:.3g}. "
            "Use (M + M.conj().T) / 2 if that is meant."
        )


def _hermitian_rows(rows: Any, dim: int) -> Sparse:  # Any: SciPy is not imported here
    """Return (M + M^dagger) / 2 in compressed sparse rows, sorted, each entry once."""
    given = _numbers(rows.data, "SparseHermitian")
    data = given.astype(np.complex128)
    row = np.repeat(np.arange(dim, dtype=np.int64), np.diff(rows.indptr))
    column = rows.indices.astype(np.int64)
    # the entries of M, then those of M^dagger; equal places add up
    places, inverse = np.unique(
        np.concatenate([row * dim + column, column * dim + row]), return_inverse=True
    )

    def total(values: Matrix) -> Matrix:
        real = np.bincount(inverse, values.real, len(places))
        return real + 1j * np.bincount(inverse, values.imag, len(places))

    symmetric = total(np.concatenate([data, data.conj()])) / 2
    skew = total(np.concatenate([data, -data.conj()])) / 2
    _check_hermitian(symmetric + skew, skew, given.dtype, "SparseHermitian")
    indptr = np.searchsorted(places, np.arange(dim + 1, dtype=np.int64) * dim)
    made = Sparse(symmetric, places % dim, indptr.astype(np.int64))
    for array in (made.data, made.indices, made.indptr):
        array.flags.writeable = False
    return made
