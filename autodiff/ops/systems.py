"""Linear systems and determinants, over the last two axes.

Cotangents after M. B. Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), with the transpose replaced by the conjugate transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.dtypes import real_dtype
from autodiff.errors import AutodiffError, ShapeError
from autodiff.node import Cotangents, Meta, Op
from autodiff.ops.algebra import adjoint, matmul
from autodiff.ops.cast import as_inexact
from autodiff.ops.complex import imag
from autodiff.ops.declare import broadcast_shape, conj_of, per_input, public, register, unchanged
from autodiff.ops.reduce import sum as total
from autodiff.ops.shape import reshape
from autodiff.tensors import Operand, Tensor

# Any in this file: a backend's module and arrays, and the samples of the table test.
Draw = Callable[..., Any]


class LinearAlgebraError(AutodiffError, np.linalg.LinAlgError):
    """A matrix for which the result does not exist: singular, or not finite."""


def square(name: str, x: Operand) -> Tensor:
    """Return x as a stack of square matrices of a floating dtype, or refuse it."""
    (tensor,) = lift((x,))
    if tensor.ndim < 2 or tensor.shape[-1] != tensor.shape[-2]:
        raise ShapeError(
            f"{name} needs square matrices over the last two axes, got shape {tensor.shape}. "
            "Give shape (..., n, n)."
        )
    return as_inexact(name, tensor)


def lapack(name: str, function: Callable[..., Any], *arrays: Any) -> Any:
    """Call a function of ``linalg``, and say in this project's words if it fails."""
    try:
        return function(*arrays)
    except np.linalg.LinAlgError as error:
        raise LinearAlgebraError(
            f"{name} needs finite matrices, and invertible ones where it divides by them, got "
            f"shape {arrays[0].shape} with one that is not: {error}. Check its conditioning, or "
            "add a multiple of the identity."
        ) from error


def _regular(draw: Draw, *shape: int) -> Any:
    """Matrices that are well away from singular ones."""
    return draw(*shape) + 5 * np.eye(shape[-1], dtype=draw(1).dtype)


def _square_samples(draw: Draw) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    return [
        ((_regular(draw, 3, 3),), {}),
        ((_regular(draw, 2, 2, 2),), {}),
        ((draw(0, 0),), {}),
        ((draw(0, 2, 2),), {}),
    ]


# -- inverse and solution ------------------------------------------------------------------------


_INV = register(
    Op(
        "inv",
        lambda xp, x: lapack("inv", xp.linalg.inv, x),
        per_input(lambda g, outs, x: -matmul(matmul(adjoint(outs[0]), g), adjoint(outs[0]))),
        lambda meta: (meta,),
        reads_outputs=True,
        per_sample=unchanged,
        samples=_square_samples,
        doc="Return the inverse of the last two axes.",
    )
)


@public("inverse")
def inv(x: Operand) -> Tensor:
    """Return the inverse matrices. To solve equations, ``solve`` is faster and more accurate.

    Args:
        x: shape (..., n, n).

    Raises:
        ShapeError: not square.
        LinearAlgebraError: singular.

    >>> inv([[2.0, 0.0], [0.0, 4.0]]).tolist()
    [[0.5, 0.0], [0.0, 0.25]]
    """
    result: Tensor = apply(_INV, square("inv", x))
    return result


def _solve_vjp(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor]
) -> Cotangents:
    a, b = inputs
    adjoint_solution = apply(_SOLVE, adjoint(a), gs[0])
    by_matrix = -matmul(adjoint_solution, adjoint(outs[0])) if a.requires_grad else None
    return by_matrix, adjoint_solution if b.requires_grad else None


def _solve_meta(a: Meta, b: Meta) -> tuple[Meta, ...]:
    shape = (*broadcast_shape(a[0][:-2], b[0][:-2]), *b[0][-2:])
    return ((shape, np.result_type(a[1], b[1])),)


_SOLVE = register(
    Op(
        "solve",
        lambda xp, a, b: lapack("solve", xp.linalg.solve, a, b),
        _solve_vjp,
        _solve_meta,
        reads_outputs=True,
        per_sample=unchanged,  # both operands have rank 2 or more, so further axes broadcast
        samples=lambda draw: [
            ((_regular(draw, 3, 3), draw(3, 2)), {}),
            ((_regular(draw, 2, 2, 2), draw(2, 1)), {}),
            ((_regular(draw, 2, 2), draw(3, 2, 1)), {}),
            ((draw(0, 0), draw(0, 2)), {}),
        ],
        doc="Return the solution x of a x = b.",
    )
)


@public()
def solve(a: Operand, b: Operand) -> Tensor:
    """Return the solution x of a x = b.

    Args:
        a: shape (..., n, n).
        b: shape (n,), or (..., n, k) for k right-hand sides at once.

    Raises:
        ShapeError: a is not square, or b does not fit it.
        LinearAlgebraError: a is singular.

    >>> solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 2.0]).tolist()
    [1.0, 0.5]
    """
    matrix = square("solve", a)
    (right,) = lift((b,))
    right = as_inexact("solve", right)
    columns = reshape(right, (*right.shape, 1)) if right.ndim == 1 else right
    if right.ndim == 0 or columns.shape[-2] != matrix.shape[-1]:
        raise ShapeError(
            f"solve needs right-hand sides of shape ({matrix.shape[-1]},) or "
            f"(..., {matrix.shape[-1]}, k) for a of shape {matrix.shape}, got shape {right.shape}. "
            "Put the right-hand sides into columns."
        )
    broadcast_shape(matrix.shape[:-2], columns.shape[:-2])
    result: Tensor = apply(_SOLVE, matrix, columns)
    return reshape(result, result.shape[:-1]) if right.ndim == 1 else result


# -- determinants --------------------------------------------------------------------------------


def _by_matrix(g: Tensor, x: Tensor) -> Tensor:
    """Return g x for one number g a matrix."""
    return reshape(g, (*g.shape, 1, 1)) * x


def _adjugate(xp: Any, x: Any) -> Any:
    """With x = U diag(s) V^H it is det(U) det(V^H) V diag(products of the other s) U^H."""
    if not x.size:
        return xp.zeros(x.shape, x.dtype)
    u, s, v = lapack("the gradient of det", xp.linalg.svd, x)
    others = xp.where(xp.eye(x.shape[-1], dtype=bool), 1, s[..., None, :]).prod(axis=-1)
    phase = xp.linalg.det(u) * xp.linalg.det(v)
    scaled = xp.conj(v).swapaxes(-1, -2) * (phase[..., None] * others)[..., None, :]
    return scaled @ xp.conj(u).swapaxes(-1, -2)


def _adjugate_rule(g: Tensor, outs: Sequence[Tensor], x: Tensor) -> Tensor:
    """From adj x = det(x) x^-1; of the second derivatives of det only this needs an inverse."""
    inverse = adjoint(inv(x))
    along = _by_matrix(total(g * conj_of(outs[0]), axis=(-2, -1)), inverse)
    return along - matmul(matmul(adjoint(outs[0]), g), inverse)


_ADJUGATE = register(
    Op(
        "adjugate",
        _adjugate,
        per_input(_adjugate_rule),
        lambda meta: (meta,),
        reads_outputs=True,
        per_sample=unchanged,
        samples=_square_samples,
        doc="Return the transposed cofactors of the last two axes: det(x) x^-1, singular or not.",
    )
)

_DET = register(
    Op(
        "det",
        lambda xp, x: xp.linalg.det(x),
        per_input(lambda g, outs, x: _by_matrix(g, adjoint(apply(_ADJUGATE, x)))),
        lambda meta: ((meta[0][:-2], meta[1]),),
        per_sample=unchanged,
        samples=_square_samples,
        doc="Return the determinant of the last two axes.",
    )
)


@public()
def det(x: Operand) -> Tensor:
    """Return the determinants. The gradient, the cofactors, exists for singular matrices too.

    Only the second derivative needs an invertible matrix.

    Args:
        x: shape (..., n, n).

    Raises:
        ShapeError: not square.

    >>> det([[0.0, 1.0], [1.0, 0.0]]).item()
    -1.0
    """
    result: Tensor = apply(_DET, square("det", x))
    return result


def _slogdet_vjp(
    gs: Sequence[Tensor | None], outs: Sequence[Tensor], inputs: Sequence[Tensor]
) -> Cotangents:
    """With log det x = log|det x| + i t, the sign is exp(i t), and d sign = i sign dt.

    d log det x = tr(x^-1 dx) gives x^-H.
    """
    by_sign, by_log = gs
    (x,) = inputs
    if by_sign is None or x.dtype.kind != "c":  # a real sign is piecewise constant
        return [None if by_log is None else _by_matrix(by_log, adjoint(inv(x)))]
    by_phase = imag(by_sign * conj_of(outs[0])) * 1j
    g = by_phase if by_log is None else by_log + by_phase
    return [_by_matrix(g, adjoint(inv(x)))]


_SLOGDET = register(
    Op(
        "slogdet",
        lambda xp, x: tuple(xp.linalg.slogdet(x)),
        _slogdet_vjp,
        lambda meta: ((meta[0][:-2], meta[1]), (meta[0][:-2], real_dtype(meta[1]))),
        outputs=2,
        reads_outputs=True,
        per_sample=unchanged,
        samples=_square_samples,
        doc="Return sign and logarithm of the modulus of the determinant of the last two axes.",
    )
)


@public()
def slogdet(x: Operand) -> tuple[Tensor, Tensor]:
    """Return (sign, log|det x|), which neither over- nor underflows; det x = sign exp(log|det x|).

    Of complex x the sign is a phase factor, with a gradient; of a real one it is -1, 0 or 1. The
    gradient needs an invertible matrix.

    Args:
        x: shape (..., n, n).

    Raises:
        ShapeError: not square.

    >>> [y.item() for y in slogdet([[1.0, 0.0], [0.0, -1.0]])]
    [-1.0, 0.0]
    """
    sign, log_modulus = apply(_SLOGDET, square("slogdet", x))
    return sign, log_modulus
