"""Products of vectors and matrices, and the adjoint."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from autodiff.dispatch import apply, lift
from autodiff.errors import ShapeError
from autodiff.node import Meta, Op, Shape
from autodiff.ops.complex import conj
from autodiff.ops.declare import broadcast_shape, per_input, public, register, unchanged
from autodiff.ops.shape import ravel, reshape, some_axes, swapaxes, transpose
from autodiff.tensors import Operand, Tensor


@public()
def adjoint(x: Operand) -> Tensor:
    """Return the conjugate transpose of the last two axes (of real x: its transpose, a view).

    Raises:
        ShapeError: fewer than two axes.

    >>> adjoint([[1.0, 2j]]).tolist()
    [[(1-0j)], [-2j]]
    """
    (tensor,) = lift((x,))
    if tensor.ndim < 2:
        raise ShapeError(
            f"adjoint needs at least two axes, got shape {tensor.shape}. Use conj for a vector."
        )
    swapped = swapaxes(tensor, -1, -2)
    return conj(swapped) if tensor.dtype.kind == "c" else swapped


def _matmul_meta(x: Meta, y: Meta) -> tuple[Meta, ...]:
    shape: Shape = (*broadcast_shape(x[0][:-2], y[0][:-2]), x[0][-2], y[0][-1])
    return ((shape, np.result_type(x[1], y[1])),)


_MATMUL: Op = register(
    Op(
        "matmul",
        lambda xp, x, y: xp.matmul(x, y),
        per_input(
            lambda g, outs, x, y: apply(_MATMUL, g, adjoint(y)),
            lambda g, outs, x, y: apply(_MATMUL, adjoint(x), g),
        ),
        _matmul_meta,
        per_sample=unchanged,  # both operands have rank 2 or more, so further axes broadcast
        samples=lambda draw: [
            ((draw(2, 3), draw(3, 4)), {}),
            ((draw(2, 2, 3), draw(3, 1)), {}),
            ((draw(2, 0), draw(0, 3)), {}),
        ],
        doc="Return the matrix product over the last two axes.",
    )
)


@public()
def matmul(x: Operand, y: Operand) -> Tensor:
    """Return x @ y by NumPy's rules: vectors are promoted, leading axes broadcast.

    Raises:
        ShapeError: an operand without axes, or inner extents that differ.

    >>> matmul([[1.0, 2.0]], [3.0, 4.0]).tolist()
    [11.0]
    """
    a, b = lift((x, y))
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"matmul needs at least one axis, got {a.shape} and {b.shape}. Use x * y.")
    left = reshape(a, (1, a.shape[0])) if a.ndim == 1 else a
    right = reshape(b, (b.shape[0], 1)) if b.ndim == 1 else b
    if left.shape[-1] != right.shape[-2]:
        raise ShapeError(
            f"matmul needs matching inner extents, got {a.shape} and {b.shape}. Transpose one."
        )
    if left.ndim > 2 and right.ndim > 2:
        broadcast_shape(left.shape[:-2], right.shape[:-2])
    product = apply(_MATMUL, left, right)
    if a.ndim == 1:
        product = reshape(product, (*product.shape[:-2], product.shape[-1]))
    return reshape(product, product.shape[:-1]) if b.ndim == 1 else product


@public()
def tensordot(
    x: Operand, y: Operand, axes: int | tuple[int | Sequence[int], int | Sequence[int]] = 2
) -> Tensor:
    """Return the sum of products over axes of x paired with axes of y.

    Args:
        x: any tensor.
        y: any tensor.
        axes: how many last axes of x meet as many first ones of y, or the axes of x and those of y.

    Returns:
        The other axes of x, then those of y.

    Raises:
        ShapeError: paired axes of unequal number or extent.

    >>> tensordot([[1.0, 2.0]], [3.0, 4.0], 1).tolist()
    [11.0]
    """
    a, b = lift((x, y))
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise ShapeError(
                f"tensordot needs a number of axes from 0 to {min(a.ndim, b.ndim)} for shapes "
                f"{a.shape} and {b.shape}, got {axes}. Or name the axes of both."
            )
        axes = (range(a.ndim - axes, a.ndim), range(axes))
    left, right = some_axes(axes[0], a.ndim), some_axes(axes[1], b.ndim)
    summed = tuple(a.shape[k] for k in left)
    if summed != tuple(b.shape[k] for k in right):
        raise ShapeError(
            f"tensordot needs paired axes of equal extent, got axes {left} of shape {a.shape} and "
            f"{right} of shape {b.shape}. Name the axes in the same order."
        )
    if a.ndim == 0 or b.ndim == 0:
        return a * b  # a number fits operands on any device, its reshape does not
    rows = tuple(k for k in range(a.ndim) if k not in left)
    columns = tuple(k for k in range(b.ndim) if k not in right)
    before, behind = [a.shape[k] for k in rows], [b.shape[k] for k in columns]
    product = matmul(
        reshape(transpose(a, (*rows, *left)), (prod(before), prod(summed))),
        reshape(transpose(b, (*right, *columns)), (prod(summed), prod(behind))),
    )
    return reshape(product, (*before, *behind))


@public()
def dot(x: Operand, y: Operand) -> Tensor:
    """Return NumPy's dot: the sum over the last axis of x and the last but one of y.

    A vector y has its only axis summed; a scalar multiplies. Nothing is conjugated; ``vdot`` does.

    Raises:
        ShapeError: extents that differ.

    >>> dot([1.0, 2.0], [3.0, 4.0]).item()
    11.0
    """
    a, b = lift((x, y))
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return matmul(a, b)
    return tensordot(a, b, (-1, max(b.ndim - 2, 0)))


@public()
def vdot(x: Operand, y: Operand) -> Tensor:
    """Return <x, y> = sum conj(x) y over all elements in flat order.

    Raises:
        ShapeError: numbers of elements that differ.

    >>> vdot([1j, 2.0], [1.0, 1.0]).item()
    (2-1j)
    """
    a, b = lift((x, y))
    left = conj(a) if a.dtype.kind == "c" else a
    if (a.ndim == 0 or b.ndim == 0) and a.numel() == b.numel():
        return reshape(left * b, ())
    return matmul(ravel(left), ravel(b))


@public()
def outer(x: Operand, y: Operand) -> Tensor:
    """Return the matrix of products x_i y_j of all elements in flat order; nothing is conjugated.

    >>> outer([1.0, 2.0], [3.0, 4.0]).tolist()
    [[3.0, 4.0], [6.0, 8.0]]
    """
    a, b = lift((x, y))
    if a.ndim == 0 or b.ndim == 0:
        return reshape(a * b, (a.numel(), b.numel()))
    return reshape(a, (a.numel(), 1)) * ravel(b)


@public()
def kron(x: Operand, y: Operand) -> Tensor:
    """Return the Kronecker product: blocks x_ij y, over as many axes as the longer shape has.

    The right factor has the fastest index: ``kron(b, a)`` is a on qubit 0 and b on qubit 1.

    >>> kron([1.0, 2.0], [1.0, 10.0]).tolist()
    [1.0, 10.0, 2.0, 20.0]
    """
    a, b = lift((x, y))
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    rank = max(a.ndim, b.ndim)
    slow, fast = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    spread = [n for extent in slow for n in (extent, 1)]
    tiled = [n for extent in fast for n in (1, extent)]
    blocks = reshape(a, spread) * reshape(b, tiled)
    return reshape(blocks, tuple(m * n for m, n in zip(slow, fast, strict=True)))
