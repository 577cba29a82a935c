"""Random programs: plans of every structure with terms and operands, for any engine test."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff.dtypes import real_dtype
from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, SparseTerm, Term, Terms


@dataclass(frozen=True)
class Case:
    """Width, batch size, precision and seed of a random program."""

    num_qubits: int
    batch: int
    dtype: type[np.complexfloating]
    seed: int = 0
    num_steps: int = 24

    def __str__(self) -> str:
        return f"n{self.num_qubits}-b{self.batch}-{np.dtype(self.dtype).name}"

    @property
    def tolerance(self) -> float:
        """Accepted absolute error of amplitudes, values and gradients of order one."""
        return 1e-12 if self.dtype is np.complex128 else 3e-5


@dataclass(frozen=True, eq=False)
class Program:
    """A plan with all arrays of a call, in the precision of its case."""

    plan: Plan
    terms: Terms
    state: NDArray[Any]
    angles: NDArray[Any]
    matrices: tuple[NDArray[Any], ...]
    coefficients: NDArray[Any]
    weights: NDArray[Any]
    cotangent: NDArray[Any]


class Spectral(ABC):
    """A matrix function of p angles with at most three equidistant frequencies W_k each.

    Attributes:
        values: W_k of every row, ``(p, dim)``.
    """

    def __init__(self, rng: np.random.Generator, dim: int, num_angles: int) -> None:
        drawn = rng.uniform(-1, 1, (num_angles, dim))
        self.values = drawn[:, :1] + drawn[:, -1:] * (np.arange(dim) % 3)

    @abstractmethod
    def __call__(self, angles: NDArray[Any]) -> NDArray[Any]:
        """Return the matrices, or the diagonals, at angles ``(..., p)``."""

    @abstractmethod
    def derivative(self, angles: NDArray[Any]) -> NDArray[Any]:
        """Return their derivatives by every angle, ``(..., p, ...)``."""

    @property
    def spectra(self) -> tuple[tuple[float, ...], ...]:
        return tuple(tuple(dict.fromkeys(row)) for row in self.values.tolist())

    @property
    def fields(self) -> dict[str, Any]:
        """Of a step that it makes."""
        return {"function": self, "derivative": self.derivative, "spectra": self.spectra}


class SpectralMatrix(Spectral):
    """Dense unitary of p angles: product over k of V_k exp(i a_k W_k) V_k^dagger, vectorised."""

    def __init__(self, rng: np.random.Generator, dim: int, num_angles: int) -> None:
        self.vectors = [random_unitary(rng, dim) for _ in range(num_angles)]
        super().__init__(rng, dim, num_angles)

    def _factor(self, angle: NDArray[Any], k: int, derive: bool) -> NDArray[Any]:
        phases = np.exp(1j * angle[..., None] * self.values[k])
        phases = phases * (1j * self.values[k] if derive else 1)
        return (self.vectors[k] * phases[..., None, :]) @ self.vectors[k].conj().T

    def _product(self, angles: NDArray[Any], derived: int) -> NDArray[Any]:
        out = np.eye(self.values.shape[1], dtype=complex)
        for k in range(len(self.values)):
            out = out @ self._factor(angles[..., k], k, derive=k == derived)
        return out

    def __call__(self, angles: NDArray[Any]) -> NDArray[Any]:
        return self._product(angles, -1)

    def derivative(self, angles: NDArray[Any]) -> NDArray[Any]:
        return np.stack([self._product(angles, k) for k in range(len(self.values))], axis=-3)


class SpectralDiagonal(Spectral):
    """Diagonal unitary of p angles: exp(i sum_k a_k W_k), vectorised."""

    def __call__(self, angles: NDArray[Any]) -> NDArray[Any]:
        return np.exp(1j * angles @ self.values)

    def derivative(self, angles: NDArray[Any]) -> NDArray[Any]:
        return 1j * self.values * self(angles)[..., None, :]


def random_unitary(rng: np.random.Generator, dim: int) -> NDArray[np.complex128]:
    """Orthogonal factor of a Gaussian matrix."""
    gaussian = rng.normal(size=(dim, dim)) + 1j * rng.normal(size=(dim, dim))
    return np.linalg.qr(gaussian)[0]


def random_hermitian(rng: np.random.Generator, dim: int) -> NDArray[np.complex128]:
    """Hermitian matrix with eigenvalues of order one."""
    basis = random_unitary(rng, dim)
    return (basis * rng.uniform(-1, 1, dim)) @ basis.conj().T


def _rotation(rng: np.random.Generator, size: int, slots: NDArray[np.int64]) -> dict[str, Any]:
    word = "".join(rng.choice(list("XYZI"), size, p=[0.3, 0.3, 0.3, 0.1]))
    if rng.random() < 0.3:
        return {"structure": Structure.ROTATION, "word": word, "angle": float(rng.normal())}
    return {"structure": Structure.ROTATION, "word": word, "slots": (int(slots[0]),)}


def _diagonal(rng: np.random.Generator, size: int, slots: NDArray[np.int64]) -> dict[str, Any]:
    if rng.random() < 0.4:
        matrix = np.exp(1j * rng.normal(size=1 << size))
        return {"structure": Structure.DIAGONAL, "matrix": matrix}
    used = tuple(int(s) for s in slots[: rng.integers(1, 3)])
    function = SpectralDiagonal(rng, 1 << size, len(used))
    return {"structure": Structure.DIAGONAL, "slots": used, **function.fields}


def _permutation(rng: np.random.Generator, size: int, slots: NDArray[np.int64]) -> dict[str, Any]:
    permutation = rng.permutation(1 << size).astype(np.int64)
    return {"structure": Structure.PERMUTATION, "permutation": permutation}


def _dense(rng: np.random.Generator, size: int, slots: NDArray[np.int64]) -> dict[str, Any]:
    if rng.random() < 0.4:
        return {"structure": Structure.DENSE, "matrix": random_unitary(rng, 1 << size)}
    used = tuple(int(s) for s in slots[: rng.integers(1, 4)])
    function = SpectralMatrix(rng, 1 << size, len(used))
    return {"structure": Structure.DENSE, "slots": used, **function.fields}


def _source(rng: np.random.Generator, size: int, slots: NDArray[np.int64]) -> dict[str, Any]:
    return {"structure": Structure.DENSE, "source": size - 1}


# Step maker, smallest and largest number of targets. Run-time matrix s acts on s + 1 qubits.
_MAKERS: list[tuple[Callable[..., dict[str, Any]], int, int]] = [
    (_rotation, 1, 1),
    (_rotation, 1, 4),
    (_diagonal, 0, 3),
    (_permutation, 1, 3),
    (_dense, 1, 1),
    (_dense, 1, 3),
    (_source, 1, 2),
]


def random_plan(rng: np.random.Generator, num_qubits: int, num_steps: int) -> Plan:
    """Steps of every structure, with and without controls, on shuffled qubits, slots repeated."""
    num_slots = max(3, num_steps // 2)
    steps = []
    for position in range(num_steps):
        maker, low, high = _MAKERS[position % len(_MAKERS)]
        size = int(rng.integers(low, min(high, num_qubits) + 1))
        qubits = [int(q) for q in rng.permutation(num_qubits)]
        count = int(rng.integers(0, num_qubits - size + 1)) if rng.random() < 0.5 else 0
        step = Step(
            targets=tuple(qubits[:size]),
            controls=tuple(qubits[size : size + count]),
            control_state=int(rng.integers(0, 1 << count)),
            position=position,
            **maker(rng, size, rng.integers(0, num_slots, 3)),
        )
        steps.append(step)
    return Plan(num_qubits, tuple(steps), num_slots, num_matrices=min(2, num_qubits))


def rotations(num_qubits: int, num_slots: int) -> Plan:
    """Rotations about words of all kinds, a slot each; every fourth has a control."""
    rng, steps = np.random.default_rng(num_slots), []
    words = ("X", "Y", "Z", "Y", "ZZ", "XY") if num_qubits > 2 else ("X", "Y", "Z")
    for slot in range(num_slots):
        word = words[slot % len(words)]
        qubits = tuple(int(q) for q in rng.permutation(num_qubits))
        end = len(word) + (slot % 4 == 3 and len(word) < num_qubits)
        step = Step(
            Structure.ROTATION,
            qubits[: len(word)],
            qubits[len(word) : end],
            control_state=end - len(word),
            slots=(slot,),
            word=word,
        )
        steps.append(step)
    return Plan(num_qubits, tuple(steps), num_slots)


def sparse_term(matrix: NDArray[np.complex128]) -> SparseTerm:
    """Compressed sparse rows of a dense matrix."""
    rows, columns = np.nonzero(matrix)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(matrix)))])
    return SparseTerm(matrix[rows, columns], columns.astype(np.int64), indptr.astype(np.int64))


def random_terms(rng: np.random.Generator, num_qubits: int) -> Terms:
    """Terms of every kind, in mixed order, spread over three observables."""
    dim = 1 << num_qubits
    terms: list[Term] = [PauliTerm(0, 0), ProjectorTerm(0, 0)]
    for _ in range(6):
        x, z = (int(m) for m in rng.integers(0, dim, 2))
        terms += [PauliTerm(x, z), PauliTerm(0, z)]
    for _ in range(3):
        mask = int(rng.integers(0, dim))
        terms.append(ProjectorTerm(mask, mask & int(rng.integers(0, dim))))
    for size in range(1, min(3, num_qubits) + 1):
        targets = tuple(int(q) for q in rng.permutation(num_qubits)[:size])
        terms.append(MatrixTerm(random_hermitian(rng, 1 << size), targets))
    sparse = random_hermitian(rng, dim)
    keep = rng.random((dim, dim)) < 0.3
    terms.append(sparse_term(np.where(keep | keep.T, sparse, 0)))
    order = rng.permutation(len(terms))
    rows = rng.integers(0, 3, len(terms)).astype(np.int64)
    return Terms(num_qubits, tuple(terms[k] for k in order), rows, 3)


def random_state(rng: np.random.Generator, batch: int, dim: int) -> NDArray[np.complex128]:
    """Normalised Gaussian vectors, ``(batch, dim)``."""
    state = rng.normal(size=(batch, dim)) + 1j * rng.normal(size=(batch, dim))
    return state / np.linalg.norm(state, axis=1, keepdims=True)


def random_program(case: Case, plan: Plan | None = None, *, shared: bool = False) -> Program:
    """Everything for one call; with ``shared`` angles, matrices and coefficients have batch 1."""
    rng = np.random.default_rng(case.seed)
    plan = plan or random_plan(rng, case.num_qubits, case.num_steps)
    terms = random_terms(rng, case.num_qubits)
    dim, batch, real = 1 << case.num_qubits, case.batch, real_dtype(np.dtype(case.dtype))
    few = 1 if shared else batch
    matrices = [
        np.stack([random_unitary(rng, 2 << k) for _ in range(few)])
        for k in range(plan.num_matrices)
    ]
    return Program(
        plan=plan,
        terms=terms,
        state=random_state(rng, batch, dim).astype(case.dtype),
        angles=rng.normal(size=(few, plan.num_slots)).astype(real),
        matrices=tuple(m.astype(case.dtype) for m in matrices),
        coefficients=rng.normal(size=(few, len(terms.terms))).astype(real),
        weights=rng.normal(size=(batch, terms.num_rows)).astype(real),
        cotangent=random_state(rng, batch, dim).astype(case.dtype),
    )


def wide_program(num_qubits: int, dtype: type[np.complexfloating]) -> Program:
    """More instructions than a block has threads, on any pair of the qubits, and a few terms.

    Unlike a random program it has no matrix of the whole state.
    """
    n, rng, real = num_qubits, np.random.default_rng(2), real_dtype(np.dtype(dtype))
    pairs = [(k % n, (k + 1 + k // n % (n - 1)) % n) for k in range(260)]
    steps = [
        Step(Structure.ROTATION, pair, slots=(k,), word=("YZ", "ZX", "XY")[k % 3])
        for k, pair in enumerate(pairs)
    ]
    steps.append(Step(Structure.DENSE, (n - 1, 3, 0), matrix=random_unitary(rng, 8)))
    high, states = 1 << (n - 1), np.arange(1 << n)
    entries = rng.normal(size=high)[states % high].astype(complex)
    terms = (
        *(PauliTerm(high | 1, 2), PauliTerm(0, high), ProjectorTerm(high | 4, high)),
        SparseTerm(entries, states ^ high, np.arange((1 << n) + 1)),
    )
    return Program(
        plan=Plan(n, tuple(steps), len(pairs)),
        terms=Terms(n, terms, np.array([0, 1, 0, 1]), 2),
        state=random_state(rng, 1, 1 << n).astype(dtype),
        angles=rng.normal(size=(1, len(pairs))).astype(real),
        matrices=(),
        coefficients=rng.normal(size=(1, 4)).astype(real),
        weights=rng.normal(size=(1, 2)).astype(real),
        cotangent=random_state(rng, 1, 1 << n).astype(dtype),
    )
