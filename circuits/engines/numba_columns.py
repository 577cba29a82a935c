"""Where the numbers of functions and given matrices stand in a call, and their results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from circuits.plan.blocks import Fused, split_unitaries
from circuits.plan.steps import ComplexArray, RealArray

_PAULI = np.array([[[0, 1], [1, 0]], [[0, -1j], [1j, 0]], [[1, 0], [0, -1]]])


@dataclass(frozen=True, eq=False)
class Columns:
    """Where functions and given matrices stand among the columns of a call, and of its results.

    Attributes:
        starts: first column of every function's members.
        outs: first result of every function's members.
        given: first column of every given matrix, by source.
        given_outs: its first result.
        width: columns.
        out_width: results besides those by angle.
    """

    starts: tuple[int, ...]
    outs: tuple[int, ...]
    given: dict[int, int]
    given_outs: dict[int, int]
    width: int
    out_width: int

    @classmethod
    def place(cls, fused: Fused) -> Columns:
        """Give everything its columns; the first two are the global phase."""
        at, out, starts, outs = 2, 0, [], []
        for function in fused.functions:
            starts.append(at)
            outs.append(out)
            at += len(function.slots) * member_columns(function.size, function.diagonal)
            out += len(function.slots) * member_results(function.size, function.diagonal)
        given, given_outs = {}, {}
        for source, size in fused.matrices.items():
            given[source], given_outs[source] = at, out
            at += 2 * size * size
            out += 2 * size * size
        return cls(tuple(starts), tuple(outs), given, given_outs, at, out)


def member_columns(size: int, diagonal: bool) -> int:
    """Numbers that one member of a function gives: (cos, sin), a quaternion and a phase, or all."""
    return {1: 2, 2: 6}.get(size, 2 * size if diagonal else 2 * size * size)


def member_results(size: int, diagonal: bool) -> int:
    """Results of one member: three environments and a phase's, or all entries."""
    return 4 if size <= 2 else 2 * size if diagonal else 2 * size * size


def as_matrices(values: ComplexArray) -> ComplexArray:
    """Return diagonals ``(..., 2)`` or flat matrices ``(..., 4)`` as ``(..., 2, 2)``."""
    if values.shape[-1] == 4:
        return values.reshape(*values.shape[:-1], 2, 2)
    return values[..., None] * np.eye(2)


def fill_functions(
    fused: Fused, place: Columns, angles: RealArray, out: NDArray[np.floating]
) -> tuple[list[ComplexArray], NDArray[np.floating]]:
    """Write the columns of what functions make; return that, and their global phases ``(A,)``."""
    phase = np.zeros(len(angles), angles.dtype)
    made: list[ComplexArray] = []
    for start, function in zip(place.starts, fused.functions, strict=True):
        slots, count = np.array(function.slots, np.int64), len(function.slots)
        values = np.asarray(function.function(angles[:, slots])).reshape(len(angles), count, -1)
        made.append(values)
        width = member_columns(function.size, function.diagonal)
        block = out[:, start : start + count * width].reshape(len(out), count, width)
        if function.is_turn:
            phases = _fill_turns(block, values, function.size)
            phase = phase + np.where(function.controlled, 0, phases).sum(axis=1)
        else:
            block[..., 0::2], block[..., 1::2] = values.real, values.imag
        out[:, start : start + count * width] = block.reshape(len(out), -1)
    return made, phase


def _fill_turns(
    block: NDArray[np.floating], values: ComplexArray, size: int
) -> NDArray[np.floating]:
    """Write quaternions and phases of one-qubit matrices, or phases alone; return these."""
    if size == 1:
        phases: NDArray[np.floating] = np.angle(values[..., 0])
    else:
        quaternions, phases = split_unitaries(as_matrices(values))
        block[..., :4] = quaternions
    block[..., -2], block[..., -1] = np.cos(phases), np.sin(phases)
    return phases


def turn_jacobian(values: ComplexArray, derived: ComplexArray) -> NDArray[np.floating]:
    """Return what a member's environments and phase are multiplied by, ``(B, G, p, 4)``.

    dU U^dagger = i a - i/2 n.sigma for one-qubit matrices, or i a for phases: n / 2 and -a.
    """
    out = np.zeros((*derived.shape[:3], 4), values.real.dtype)
    if values.shape[-1] == 1:
        out[..., 3] = -(derived * values.conj()[:, :, None]).imag[..., 0]
        return out
    U, dU = as_matrices(values)[:, :, None], as_matrices(derived)
    generators = dU @ U.conj().swapaxes(-1, -2)
    out[..., :3] = -0.5 * np.einsum("kij,bgpji->bgpk", _PAULI, generators).imag
    out[..., 3] = -0.5 * np.trace(generators, axis1=-2, axis2=-1).imag
    return out


def turn_gradients(
    found: NDArray[np.floating],
    values: ComplexArray,
    derived: ComplexArray,
    controlled: NDArray[np.bool_],
    dot: NDArray[np.floating],
) -> NDArray[np.floating]:
    """Return gradients ``(B, G, p)`` of one-qubit matrices U, or of phases.

    They are n.E / 2 - a D, where D is Im <lambda|psi> of what the controls select, or of the whole
    state.
    """
    jacobian = turn_jacobian(values, derived)
    phases = np.where(controlled, found[..., 3], dot)[..., None]
    environments = np.einsum("bgpk,bgk->bgp", jacobian[..., :3], found[..., :3])
    return environments + jacobian[..., 3] * phases
