"""Whole circuits as dense matrices, built by Kronecker products: what engines are compared with.

Everything here is exact linear algebra in complex128 on ``(2**n, 2**n)`` matrices, shares no code
with any engine and is meant for n <= 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from circuits.plan.steps import Plan, Step, Structure
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, Term, Terms

Matrix = NDArray[np.complex128]
Vector = NDArray[np.complex128]

PAULI: dict[str, Matrix] = {
    "I": np.eye(2, dtype=complex),
    "X": np.array([[0, 1], [1, 0]], dtype=complex),
    "Y": np.array([[0, -1j], [1j, 0]]),
    "Z": np.diag([1, -1]).astype(complex),
}


def kron(factors: Sequence[Matrix]) -> Matrix:
    """Kronecker product with ``factors[0]`` on the least significant qubit."""
    return reduce(lambda low, high: np.kron(high, low), factors, np.eye(1, dtype=complex))


def embed(
    local: Matrix,
    targets: Sequence[int],
    num_qubits: int,
    controls: Sequence[int] = (),
    control_state: int = 0,
    *,
    outside: float = 1.0,
) -> Matrix:
    """Matrix on all qubits of ``local`` on ``targets``, ``outside`` times I where controls fail.

    ``outside=0`` gives the derivative of a controlled gate from the derivative of its base.
    """
    rows = [control_state | (k << len(controls)) for k in range(len(local))]
    block = outside * np.eye(len(local) << len(controls), dtype=complex)
    block[np.ix_(rows, rows)] = local
    order = [*controls, *targets]
    order += [q for q in range(num_qubits) if q not in order]
    packed = np.kron(np.eye((1 << num_qubits) // len(block)), block)
    basis = np.arange(1 << num_qubits)
    index = sum(((basis >> q) & 1) << k for k, q in enumerate(order)) + 0 * basis
    return packed[np.ix_(index, index)]


def local_matrix(step: Step, angles: NDArray[np.float64], matrices: Sequence[Matrix]) -> Matrix:
    """Matrix of a step on its targets. ``angles`` is ``(S,)``, each matrix ``(d, d)``."""
    if step.structure is Structure.ROTATION:
        angle = step.angle if step.angle is not None else angles[step.slots[0]]
        word = kron([PAULI[letter] for letter in step.word or ""])
        return np.cos(angle / 2) * np.eye(len(word)) - 1j * np.sin(angle / 2) * word
    if step.structure is Structure.PERMUTATION:
        assert step.permutation is not None
        return np.eye(len(step.permutation), dtype=complex)[:, step.permutation]
    if step.source is not None:
        return np.asarray(matrices[step.source], complex)
    value = step.matrix if step.function is None else step.function(angles[list(step.slots)])
    assert value is not None
    return np.diag(value) if step.structure is Structure.DIAGONAL else np.asarray(value, complex)


def local_derivatives(step: Step, angles: NDArray[np.float64]) -> list[Matrix]:
    """Derivative of a step's local matrix with respect to each of its slots."""
    if not step.slots:
        return []
    if step.structure is Structure.ROTATION:
        word = kron([PAULI[letter] for letter in step.word or ""])
        return [-0.5j * word @ local_matrix(step, angles, ())]
    assert step.derivative is not None
    values = step.derivative(angles[list(step.slots)])
    return [np.diag(v) if step.structure is Structure.DIAGONAL else v for v in values]


def embed_step(step: Step, local: Matrix, num_qubits: int, outside: float = 1.0) -> Matrix:
    """``embed`` on a step's targets and controls."""
    return embed(
        local, step.targets, num_qubits, step.controls, step.control_state, outside=outside
    )


def step_matrices(
    plan: Plan, angles: NDArray[np.float64], matrices: Sequence[Matrix]
) -> list[Matrix]:
    """Full matrices of all steps for one sample."""
    n = plan.num_qubits
    return [embed_step(step, local_matrix(step, angles, matrices), n) for step in plan.steps]


def plan_matrix(plan: Plan, angles: NDArray[np.float64], matrices: Sequence[Matrix] = ()) -> Matrix:
    """Unitary of the whole plan for one sample."""
    identity = np.eye(1 << plan.num_qubits, dtype=complex)
    return reduce(lambda u, step: step @ u, step_matrices(plan, angles, matrices), identity)


def term_matrix(term: Term, num_qubits: int) -> Matrix:
    """Full matrix of an observable's term."""
    if isinstance(term, PauliTerm):
        letters = [
            "IXZY"[((term.x_mask >> q) & 1) | ((term.z_mask >> q) & 1) << 1]
            for q in range(num_qubits)
        ]
        return kron([PAULI[letter] for letter in letters])
    if isinstance(term, ProjectorTerm):
        bit = [np.diag([1, 0]).astype(complex), np.diag([0, 1]).astype(complex)]
        factors = [
            bit[(term.value >> q) & 1] if (term.mask >> q) & 1 else PAULI["I"]
            for q in range(num_qubits)
        ]
        return kron(factors)
    if isinstance(term, MatrixTerm):
        return embed(np.asarray(term.matrix, complex), term.targets, num_qubits)
    full = np.zeros((1 << num_qubits, 1 << num_qubits), dtype=complex)
    for row in range(1 << num_qubits):
        for k in range(term.indptr[row], term.indptr[row + 1]):
            full[row, term.indices[k]] += term.data[k]
    return full


@dataclass(frozen=True)
class DenseGradients:
    """Exact gradients of one sample: ``(N,)``, ``(S,)``, one ``(d, d)`` a matrix."""

    state: Vector
    angles: NDArray[np.float64]
    matrices: tuple[Matrix, ...]


def gradients(
    plan: Plan,
    state: Vector,
    angles: NDArray[np.float64],
    matrices: Sequence[Matrix],
    cotangent: Vector,
) -> DenseGradients:
    """Gradients of Re <cotangent| U |state> for one sample, by the product rule."""
    steps = step_matrices(plan, angles, matrices)
    angle_gradient = np.zeros(plan.num_slots)
    matrix_gradients = [np.zeros(np.shape(m), complex) for m in matrices]
    before = [np.asarray(state, complex)]
    for matrix in steps:
        before.append(matrix @ before[-1])
    after = np.asarray(cotangent, complex)
    for k in reversed(range(len(steps))):
        step = plan.steps[k]
        for slot, local in zip(step.slots, local_derivatives(step, angles), strict=True):
            full = embed_step(step, local, plan.num_qubits, outside=0.0)
            angle_gradient[slot] += np.vdot(after, full @ before[k]).real
        if step.source is not None:
            for i, j in np.ndindex(matrix_gradients[step.source].shape):
                unit = np.zeros(matrix_gradients[step.source].shape, complex)
                unit[i, j] = 1
                full = embed_step(step, unit, plan.num_qubits, outside=0.0)
                matrix_gradients[step.source][i, j] += np.vdot(after, full @ before[k]).conj()
        after = steps[k].conj().T @ after
    return DenseGradients(after, angle_gradient, tuple(matrix_gradients))


def term_values(terms: Terms, final: Vector) -> NDArray[np.float64]:
    """<psi|O_t|psi> of every term, ``(T,)``."""
    full = [term_matrix(term, terms.num_qubits) for term in terms.terms]
    return np.array([np.vdot(final, matrix @ final).real for matrix in full])


def row_values(
    terms: Terms, final: Vector, coefficients: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Value of every observable of one sample, ``(K,)``."""
    weighted = coefficients * term_values(terms, final)
    return np.array([weighted[terms.rows == k].sum() for k in range(terms.num_rows)])


def terms_cotangent(
    terms: Terms, final: Vector, coefficients: NDArray[np.float64], weights: NDArray[np.float64]
) -> Vector:
    """Cotangent of the final state of sum_k w_k <O_k>: sum_t 2 w[rows[t]] c_t O_t psi."""
    factors = 2 * weights[terms.rows] * coefficients
    out = np.zeros(len(final), complex)
    for factor, term in zip(factors, terms.terms, strict=True):
        out += factor * (term_matrix(term, terms.num_qubits) @ final)
    return out
