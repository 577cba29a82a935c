"""Functions of the spectrum: eigenvalues and vectors of Hermitian matrices, the exponential."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, comb, isfinite, log2, perm
from typing import Any

import numpy as np

from autodiff.dispatch import apply
from autodiff.dtypes import real_dtype
from autodiff.errors import GradientError
from autodiff.node import Cotangents, Meta, Op
from autodiff.ops.algebra import adjoint, matmul
from autodiff.ops.complex import imag, real
from autodiff.ops.declare import per_input, public, register, unchanged
from autodiff.ops.diagonals import diagonal, diagonal_matrix
from autodiff.ops.index import getitem
from autodiff.ops.join import concatenate
from autodiff.ops.piecewise import where, zero_like
from autodiff.ops.reduce import sum as total
from autodiff.ops.shape import expand_dims
from autodiff.ops.systems import lapack, square
from autodiff.tensors import Operand, Tensor

# Any in this file: a backend's module and arrays.


def _largest(sizes: Any, **axes: Any) -> Any:
    """Return the largest of numbers >= 0, of none 0: CuPy's max has no ``initial``."""
    return (sizes.max if sizes.size else sizes.sum)(**axes)


def _eigh(xp: Any, x: Any) -> tuple[Any, ...]:
    """Return values, vectors, where the gauge is fixed, and which pairs of values are equal."""
    values, vectors = lapack("eigh", xp.linalg.eigh, (x + xp.conj(x).swapaxes(-1, -2)) / 2)
    large = xp.abs(vectors)
    large = large >= _largest(large, axis=-2, keepdims=True) / 2
    anchor = large & (xp.cumsum(large, axis=-2) == 1)
    reference = (vectors * anchor).sum(axis=-2, keepdims=True)
    vectors = vectors * (xp.conj(reference) / xp.abs(reference))
    gaps = xp.abs(values[..., None, :] - values[..., :, None])
    scale = _largest(xp.abs(values), axis=-1)[..., None, None]
    return values, vectors, anchor, gaps <= x.shape[-1] * np.finfo(values.dtype).eps * scale


def _same_for_all_bases(xp: Any, overlaps: Any, equal: Any) -> Any:
    """Refuse a cotangent of vectors that depends on the basis chosen in an eigenspace.

    Another basis V exp(A), A^H = -A between vectors of equal eigenvalues, changes the loss by
    Re tr(g^H V A): so there the skew part of V^H g has to be 0.
    """
    skew = xp.abs(overlaps - xp.conj(overlaps).swapaxes(-1, -2)) * equal
    largest = _largest(xp.abs(overlaps), axis=(-2, -1), keepdims=True)
    eps = np.finfo(skew.dtype).eps
    if bool((skew > np.sqrt(eps) * largest + overlaps.shape[-1] * eps).any()):
        raise GradientError(
            "the gradient of eigh needs distinct eigenvalues, or a loss that is the same for every "
            "basis of an eigenspace, got one of single eigenvectors where eigenvalues are equal. "
            "Use the projector V V^H on all vectors of the eigenspace, or only the eigenvalues."
        )
    return overlaps


_SAME_FOR_ALL_BASES = register(
    Op(
        "same_for_all_bases",
        _same_for_all_bases,
        per_input(lambda g, outs, overlaps, equal: g, lambda g, outs, overlaps, equal: None),
        lambda overlaps, equal: (overlaps,),
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(3, 3), np.zeros((3, 3), bool)), {}),
            ((draw(0, 2, 2), np.zeros((0, 2, 2), bool)), {}),
        ],
        doc="Return V^H g for the cotangent g of eigenvectors V, if a basis does not matter to it.",
    )
)


def _eigh_vjp(
    gs: Sequence[Tensor | None], outs: Sequence[Tensor], inputs: Sequence[Tensor]
) -> Cotangents:
    """Return V (diag(g_w) + F * (V^H g_V)) V^H, with F_ij = 1/(w_j - w_i), and 0 for equal values.

    The gauge adds to dV = V (F * V^H dx V) the phase V diag(i p) that keeps the anchor of each
    column real; g_V takes it in.
    """
    by_values, by_vectors, *_ = gs
    values, vectors, anchor, equal = outs
    inner: Operand = 0.0
    if by_vectors is not None:
        overlaps = matmul(adjoint(vectors), by_vectors)
        if vectors.dtype.kind == "c":
            phases = imag(diagonal(overlaps, 0, -2, -1)) / total(real(vectors) * anchor, axis=-2)
            by_vectors = by_vectors - anchor * expand_dims(phases, -2) * 1j
            overlaps = matmul(adjoint(vectors), by_vectors)
        overlaps = apply(_SAME_FOR_ALL_BASES, overlaps, equal)
        gaps = expand_dims(values, -2) - expand_dims(values, -1)
        inner = where(equal, 0, 1 / where(equal, 1, gaps)) * overlaps
    if by_values is not None:
        inner = inner + diagonal_matrix(by_values)
    g = matmul(matmul(vectors, inner), adjoint(vectors))
    return [(g + adjoint(g)) * 0.5]


def _eigh_meta(x: Meta) -> tuple[Meta, ...]:
    shape, dtype = x
    mask = (shape, np.dtype(bool))
    return ((shape[:-1], real_dtype(dtype)), x, mask, mask)


_EIGH = register(
    Op(
        "eigh",
        _eigh,
        _eigh_vjp,
        _eigh_meta,
        outputs=4,  # the rule needs the two masks
        reads_outputs=True,
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(3, 3),), {}),
            ((draw(2, 2, 2),), {}),
            ((draw(0, 0),), {}),
            ((draw(0, 2, 2),), {}),
        ],
        doc="Return eigenvalues and eigenvectors of the Hermitian part of the last two axes, and "
        "masks: which element of a vector is made positive, which pairs of values are equal.",
    )
)


@public()
def eigh(x: Operand) -> tuple[Tensor, Tensor]:
    """Return eigenvalues (ascending) and eigenvectors of Hermitian matrices.

    Only the Hermitian part (x + x^H)/2 counts, and the gradient is Hermitian. Each vector's phase
    is fixed: the first of its elements of at least half the largest modulus is real and positive,
    so that every function of the vectors has a gradient.

    Where eigenvalues are equal (to n eps max|w|), the terms with 1/(w_j - w_i) are left out:
    gradients of symmetric functions of the equal eigenvalues, and of functions of the vectors that
    do not depend on the basis chosen in that eigenspace, stay right and finite. Others do not
    exist: a loss of the vectors that changes with the basis, to first order at the one found, is
    refused; a gradient of single equal eigenvalues is finite but means nothing.

    Args:
        x: shape (..., n, n).

    Returns:
        Real eigenvalues (..., n), and vectors (..., n, n) in columns: x v[:, k] = w[k] v[:, k].

    Raises:
        ShapeError: not square.
        LinearAlgebraError: LAPACK's iteration did not converge.
        GradientError: (in backward) equal eigenvalues, and a loss of single vectors of theirs.

    >>> eigh([[0.0, 1.0], [1.0, 0.0]])[0].tolist()
    [-1.0, 1.0]
    """
    values, vectors, _, _ = apply(_EIGH, square("eigh", x))
    return values, vectors


@public()
def eigvalsh(x: Operand) -> Tensor:
    """Return the eigenvalues (ascending) of Hermitian matrices; see ``eigh``.

    >>> eigvalsh([[2.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 2.0]
    """
    return eigh(x)[0]


# -- exponential ---------------------------------------------------------------------------------

#: Numerator of the [13/13] Padé approximant of exp, lowest order first, and the 1-norm up to which
#: it is exact to double precision (N. J. Higham, "The scaling and squaring method for the matrix
#: exponential revisited", SIAM J. Matrix Anal. Appl. 26, 1179 (2005), table 2.3).
_PADE = tuple(comb(13, k) / perm(26, k) for k in range(14))
_PADE_RADIUS = 5.371920351148152


def _expm(xp: Any, x: Any) -> Any:
    norm = float(_largest(xp.abs(x).sum(axis=-2)))
    squarings = ceil(log2(norm / _PADE_RADIUS)) if norm > _PADE_RADIUS and isfinite(norm) else 0
    a = x * 2.0**-squarings
    one = xp.eye(x.shape[-1], dtype=x.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    b = _PADE
    odd = a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2)
    odd = a @ (odd + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2)
    even = even + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    result = lapack("expm", xp.linalg.solve, even - odd, even + odd)
    for _ in range(squarings):
        result = result @ result
    return result


def _expm_rule(g: Tensor, outs: Sequence[Tensor], x: Tensor) -> Tensor:
    """Return the Fréchet derivative at x^H towards g: a block of exp([[x^H, g], [0, x^H]])."""
    n = x.shape[-1]
    a = adjoint(x)
    upper = concatenate([a, g], -1)
    lower = concatenate([zero_like(a), a], -1)
    return getitem(apply(_EXPM, concatenate([upper, lower], -2)), (..., slice(n), slice(n, None)))


_EXPM = register(
    Op(
        "expm",
        _expm,
        per_input(_expm_rule),
        lambda meta: (meta,),
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(2, 2),), {}),
            ((draw(2, 3, 3) * draw(1).dtype.type(3),), {}),
            ((draw(0, 0),), {}),
            ((draw(0, 2, 2),), {}),
        ],
        doc="Return the matrix exponential of the last two axes.",
    )
)


@public("matrix_exp")
def expm(x: Operand) -> Tensor:
    """Return the matrix exponentials, by scaling and squaring.

    Args:
        x: shape (..., n, n). A stack is scaled as its largest matrix needs it.

    Raises:
        ShapeError: not square.

    Reference:
        N. J. Higham, SIAM J. Matrix Anal. Appl. 26, 1179 (2005); for the gradient, R. Mathias, SIAM
        J. Matrix Anal. Appl. 17, 610 (1996).

    >>> expm([[0.0, 1.0], [0.0, 0.0]]).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    result: Tensor = apply(_EXPM, square("expm", x))
    return result
