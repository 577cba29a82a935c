"""The reference engine: plain NumPy, the slow and obvious definition of what is right.

A step acts on the basis states whose control bits hold the control value. They are listed in an
index array of shape ``(d, R)``: row j holds those whose target bits spell j, a column shares all
other bits. Applying a step is reading, multiplying and writing along that array; nothing is fused
or reordered.

The reverse sweep un-applies every step on psi and lambda (Jones and Gacon, 2020, arXiv:2009.02823;
Luo et al., 2020, arXiv:1912.10877). With psi before and lambda after the step, its environment is
E_ij = sum over columns conj(lambda_i) psi_j, and the gradient of an angle t of its matrix U is
d/dt Re <lambda|U psi> = Re sum_ij E_ij (dU/dt)_ij.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from autodiff.dtypes import real_dtype
from circuits.engines.base import (
    Engine,
    Gradients,
    Wanted,
    check_batch,
    own_states,
    swept_samples,
)
from circuits.plan.steps import ComplexArray, Plan, RealArray, Step, Structure
from circuits.plan.terms import MatrixTerm, PauliTerm, ProjectorTerm, Term, Terms

Indices = NDArray[np.int64]


def step_indices(step: Step, num_qubits: int) -> Indices:
    """Basis states that a step acts on, ``(2**len(targets), columns)``."""
    basis = np.arange(1 << num_qubits, dtype=np.int64)
    fixed = step.control_mask | sum(1 << q for q in step.targets)
    columns = basis[(basis & fixed) == step.control_value]
    offsets = np.zeros(1, dtype=np.int64)
    for qubit in step.targets:
        offsets = np.concatenate([offsets, offsets | (1 << qubit)])
    return offsets[:, None] | columns


def parity_signs(values: Indices) -> NDArray[np.int64]:
    """(-1)**(number of ones) of every entry."""
    return 1 - 2 * (np.bitwise_count(values).astype(np.int64) & 1)


def apply_word(x_mask: int, z_mask: int, state: ComplexArray) -> ComplexArray:
    """P psi for P |i> = i^{|x & z|} (-1)^{|i & z|} |i ^ x>, over the last axis."""
    source = np.arange(state.shape[-1], dtype=np.int64) ^ x_mask
    phase = (1, 1j, -1, -1j)[(x_mask & z_mask).bit_count() % 4]
    factors = (phase * parity_signs(source & z_mask)).astype(state.dtype)
    return factors * state[:, source]


def step_matrix(
    step: Step, angles: RealArray, matrices: Sequence[ComplexArray], dtype: np.dtype
) -> ComplexArray:
    """What a DENSE or DIAGONAL step multiplies by: ``(B or 1, d, d)`` or ``(B or 1, d)``."""
    if step.source is not None:
        return np.asarray(matrices[step.source], dtype)
    if step.function is not None:
        return step.function(angles[:, list(step.slots)]).astype(dtype)
    assert step.matrix is not None
    return step.matrix.astype(dtype)[None]


def apply_step(
    step: Step,
    state: ComplexArray,
    angles: RealArray,
    matrices: Sequence[ComplexArray],
    *,
    inverse: bool = False,
) -> ComplexArray:
    """State after one step, or before it with ``inverse``; ``state`` is not changed."""
    index = step_indices(step, state.shape[1].bit_length() - 1)
    out = state.copy()
    if step.structure is Structure.ROTATION:
        half = step.angle if step.angle is not None else angles[:, step.slots[0], None]
        half = np.asarray((-half if inverse else half) / 2, real_dtype(state.dtype))
        rotated = np.cos(half) * state - 1j * np.sin(half) * apply_word(
            step.x_mask, step.z_mask, state
        )
        out[:, index] = rotated[:, index]
    elif step.structure is Structure.PERMUTATION:
        if inverse:
            out[:, index] = state[:, index[step.permutation]]
        else:
            out[:, index[step.permutation]] = state[:, index]
    elif step.structure is Structure.DIAGONAL:
        diagonal = step_matrix(step, angles, matrices, state.dtype)
        out[:, index] *= (diagonal.conj() if inverse else diagonal)[:, :, None]
    else:
        matrix = step_matrix(step, angles, matrices, state.dtype)
        matrix = matrix.conj().swapaxes(-1, -2) if inverse else matrix
        out[:, index] = np.einsum("bij,bjr->bir", matrix, state[:, index])
    return out


def step_angle_gradient(
    step: Step,
    before: ComplexArray,
    after: ComplexArray,
    cotangent: ComplexArray,
    angles: RealArray,
) -> RealArray:
    """d/dt Re <cotangent|after> for every slot of a step, ``(B, len(slots))``."""
    index = step_indices(step, before.shape[1].bit_length() - 1)
    left = cotangent[:, index].conj()
    if step.structure is Structure.ROTATION:
        flipped = apply_word(step.x_mask, step.z_mask, after)[:, index]
        return 0.5 * np.einsum("bir,bir->b", left, flipped).imag[:, None]
    assert step.derivative is not None
    derivative = step.derivative(angles[:, list(step.slots)]).astype(before.dtype)
    if step.structure is Structure.DIAGONAL:
        environment = np.einsum("bir,bir->bi", left, before[:, index])
        return np.einsum("bi,bpi->bp", environment, derivative).real
    environment = np.einsum("bir,bjr->bij", left, before[:, index])
    return np.einsum("bij,bpij->bp", environment, derivative).real


def step_matrix_gradient(step: Step, before: ComplexArray, cotangent: ComplexArray) -> ComplexArray:
    """Gradient of a step's matrix, conj(E), ``(B, d, d)``."""
    index = step_indices(step, before.shape[1].bit_length() - 1)
    return np.einsum("bir,bjr->bij", cotangent[:, index], before[:, index].conj())


def apply_term(term: Term, state: ComplexArray) -> ComplexArray:
    """O_t psi, ``(B, 2**n)``."""
    if isinstance(term, PauliTerm):
        return apply_word(term.x_mask, term.z_mask, state)
    if isinstance(term, ProjectorTerm):
        basis = np.arange(state.shape[1], dtype=np.int64)
        return np.where((basis & term.mask) == term.value, state, 0)
    if isinstance(term, MatrixTerm):
        step = Step(Structure.DENSE, term.targets, matrix=term.matrix)
        return apply_step(step, state, np.zeros((1, 0)), ())
    out = np.zeros_like(state)
    rows = np.repeat(np.arange(state.shape[1]), np.diff(term.indptr))
    products = term.data.astype(state.dtype) * state[:, term.indices]
    np.add.at(out.T, rows, products.T)
    return out


def term_values(terms: Terms, state: ComplexArray) -> RealArray:
    """<psi|O_t|psi> of every term, ``(B, T)``."""
    values = np.empty((len(state), len(terms.terms)), real_dtype(state.dtype))
    for t, term in enumerate(terms.terms):
        values[:, t] = np.einsum("bi,bi->b", state.conj(), apply_term(term, state)).real
    return values


class ReferenceEngine(Engine):
    """The definition that every other engine is compared with; NumPy only, any width that fits."""

    name = "reference"

    def forward(
        self,
        plan: Plan,
        state: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray] = (),
        terms: Terms | None = None,
        coefficients: RealArray | None = None,
    ) -> tuple[ComplexArray, RealArray | None]:
        """Apply the steps one by one, then add up the terms of each row."""
        batch = check_batch([state, angles, *matrices, coefficients])
        psi = np.broadcast_to(state, (batch, state.shape[1])).copy()
        for step in plan.steps:
            psi = apply_step(step, psi, angles, matrices)
        if terms is None:
            return psi, None
        assert coefficients is not None
        values = np.zeros((len(psi), terms.num_rows), real_dtype(psi.dtype))
        weighted = coefficients * term_values(terms, psi)
        for t, row in enumerate(terms.rows):
            values[:, row] += weighted[:, t]
        return psi, values

    def reverse(
        self,
        plan: Plan,
        final: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray],
        wanted: Wanted,
        *,
        cotangent: ComplexArray | None = None,
        terms: Terms | None = None,
        coefficients: RealArray | None = None,
        weights: RealArray | None = None,
    ) -> Gradients:
        """Form the cotangent where terms are given, then un-apply the steps, last one first."""
        real = real_dtype(final.dtype)
        coefficient_gradient = None
        final = own_states(final, swept_samples(cotangent, weights))
        if cotangent is None:
            assert terms is not None
            assert coefficients is not None
            assert weights is not None
            factors = 2 * weights[:, terms.rows] * coefficients
            cotangent = np.zeros_like(final)
            for t, term in enumerate(terms.terms):
                cotangent += factors[:, t, None] * apply_term(term, final)
            if wanted.coefficients:
                coefficient_gradient = weights[:, terms.rows] * term_values(terms, final)
        psi, lam = final, cotangent.copy()
        angle_gradient = np.zeros((len(final), plan.num_slots), real)
        matrix_gradients = tuple(
            np.zeros((len(final), *m.shape[1:]), final.dtype) for m in matrices
        )
        for step in reversed(plan.steps):
            before = apply_step(step, psi, angles, matrices, inverse=True)
            if any(wanted.wants_slot(slot) for slot in step.slots):
                gradient = step_angle_gradient(step, before, psi, lam, angles)
                for k, slot in enumerate(step.slots):
                    angle_gradient[:, slot] += wanted.wants_slot(slot) * gradient[:, k]
            if wanted.matrices and step.source is not None:
                matrix_gradients[step.source][...] += step_matrix_gradient(step, before, lam)
            lam = apply_step(step, lam, angles, matrices, inverse=True)
            psi = before
        return Gradients(
            state=lam if wanted.state else None,
            angles=angle_gradient if wanted.angles else None,
            matrices=matrix_gradients if wanted.matrices else None,
            coefficients=coefficient_gradient,
        )
