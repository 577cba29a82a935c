"""Where the numbers of functions and given matrices stand in a call, and their results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from circuits.plan.blocks import Fused
from circuits.plan.steps import ComplexArray

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


def turn_gradients(
    found: NDArray[np.floating],
    values: ComplexArray,
    derived: ComplexArray,
    controlled: NDArray[np.bool_],
    dot: NDArray[np.floating],
) -> NDArray[np.floating]:
    """Return gradients ``(B, G, p)`` of one-qubit matrices U, or of phases.

    dU U^dagger = i a - i/2 n.sigma gives n.E / 2 - a D, where D is Im <lambda|psi> of what the
    controls select, or of the whole state.
    """
    phases = np.where(controlled, found[..., 3], dot)[..., None]
    if values.shape[-1] == 1:
        return -(derived * values.conj()[:, :, None]).imag[..., 0] * phases
    U, dU = as_matrices(values)[:, :, None], as_matrices(derived)
    generators = dU @ U.conj().swapaxes(-1, -2)
    a = np.trace(generators, axis1=-2, axis2=-1).imag / 2
    n = -np.einsum("kij,bgpji->bgpk", _PAULI, generators).imag
    return 0.5 * np.einsum("bgpk,bgk->bgp", n, found[..., :3]) - a * phases
