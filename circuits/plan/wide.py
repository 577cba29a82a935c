"""Pass: a plan in pieces around steps that are too wide for kernels, and these steps in NumPy.

A kernel of the host reads a matrix as 4^k vectors of coefficients, and a permutation as up to 2^k
exchanges of basis states. From some width on that takes longer than the step itself, which is then
one product, or one gather, of the whole state by NumPy. A device's kernels need a matrix or an
exchange in one tile; see ``engines.cuda_wide``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from circuits.plan.linear import affine_part
from circuits.plan.steps import ComplexArray, Plan, Step, Structure

WIDE_MATRIX = 8
"""Targets from which on a matrix is wide: some 4 MiB of coefficients."""

WIDE_TABLE = 11
"""Targets from which on a diagonal is wide, and a permutation that is no linear map."""


def is_wide(step: Step) -> bool:
    """Return whether a step is left to NumPy. Functions of angles make matrices of few qubits."""
    if step.structure is Structure.DIAGONAL:
        return len(step.targets) >= WIDE_TABLE and step.function is None
    return mixes_more(step, WIDE_MATRIX - 1, WIDE_TABLE - 1)


def mixes_more(step: Step, matrix: int, permutation: int) -> bool:
    """Return whether a step is a given matrix on more qubits, or a permutation without CX on more.

    Args:
        step: to look at.
        matrix: how many qubits a matrix may have.
        permutation: how many a permutation may have that is no linear map.
    """
    size = len(step.targets)
    if step.structure is Structure.DENSE:
        return size > matrix and step.function is None
    if step.structure is Structure.PERMUTATION and size > permutation:
        assert step.permutation is not None
        return bool(step.controls) or affine_part(step.permutation) is None
    return False


def pieces(plan: Plan, wide: Callable[[Step], bool] = is_wide) -> tuple[Plan | Step, ...]:
    """Return a plan as plans without wide steps, and the wide steps between them.

    Args:
        plan: to part.
        wide: which steps are wide.

    >>> flip = Step(Structure.PERMUTATION, (0,), permutation=np.array([1, 0]))
    >>> unitary = Step(Structure.DENSE, tuple(range(9)), source=0)
    >>> [type(piece).__name__ for piece in pieces(Plan(9, (flip, unitary, flip), 0, 1))]
    ['Plan', 'Step', 'Plan']
    """
    out: list[Plan | Step] = []
    start = 0
    for k, step in enumerate(plan.steps):
        if wide(step):
            if start < k:
                out.append(replace(plan, steps=plan.steps[start:k], memo={}))
            out.append(step)
            start = k + 1
    if not out:
        return (plan,)
    if start < len(plan.steps):
        out.append(replace(plan, steps=plan.steps[start:], memo={}))
    return tuple(out)


def apply_wide(
    step: Step, states: ComplexArray, matrices: Sequence[ComplexArray], *, adjoint: bool = False
) -> ComplexArray:
    """Return a wide step, or its adjoint, applied to ``(B, 2**n)``.

    One state is every sample's, where a step's matrix has samples.
    """
    batch = max(len(states), 1 if step.source is None else len(matrices[step.source]))
    out = np.broadcast_to(states, (batch, states.shape[1])).copy()
    view = _selected(step, out)
    rows = view.reshape(batch, -1, 1 << len(step.targets))
    if step.permutation is not None:
        moved = np.empty_like(rows)
        if adjoint:
            moved[...] = rows[..., step.permutation]
        else:
            moved[..., step.permutation] = rows
    else:
        matrix = np.asarray(step.matrix if step.source is None else matrices[step.source])
        matrix = matrix.astype(states.dtype, copy=False)
        # The adjoint by conjugate rows: the matrix may be larger than all states.
        rows = rows.conj() if adjoint else rows
        if step.structure is Structure.DIAGONAL:
            moved = rows * matrix
        else:
            moved = rows @ (matrix if adjoint else matrix.swapaxes(-1, -2))
        moved = moved.conj() if adjoint else moved
    view[...] = moved.reshape(view.shape)
    return out


def wide_gradient(step: Step, before: ComplexArray, cotangent: ComplexArray) -> ComplexArray:
    """Return the gradient ``(B, d, d)`` of a wide step's matrix: sum of lambda_i conj(psi_j)."""
    shape = (len(before), -1, 1 << len(step.targets))
    psi = _selected(step, before).reshape(shape)
    lam = _selected(step, cotangent).reshape(shape)
    return lam.swapaxes(-1, -2) @ psi.conj()


def _selected(step: Step, states: ComplexArray) -> ComplexArray:
    """Return a view ``(B, 2, ..., 2)`` of what the controls select, the targets' axes last."""
    num_qubits = states.shape[1].bit_length() - 1
    index: list[slice | int] = [slice(None)] * (1 + num_qubits)
    for k, qubit in enumerate(step.controls):
        index[num_qubits - qubit] = (step.control_state >> k) & 1
    view = states.reshape(len(states), *(2,) * num_qubits)[tuple(index)]
    axes = [q for q in reversed(range(num_qubits)) if q not in step.controls]
    others = [k for k, q in enumerate(axes, start=1) if q not in step.targets]
    return view.transpose(0, *others, *[1 + axes.index(q) for q in reversed(step.targets)])
