"""Diagonals and triangles of matrices."""

from __future__ import annotations

from typing import Any

from autodiff.dispatch import apply, lift
from autodiff.errors import ShapeError
from autodiff.node import Meta, Op
from autodiff.ops.declare import per_input, public, register, unchanged
from autodiff.ops.reduce import sum as total
from autodiff.ops.shape import moveaxis
from autodiff.tensors import Operand, Tensor

# Any in this file: a backend's module and arrays.


def _length(rows: int, columns: int, offset: int) -> int:
    """Return how many elements a diagonal has; offset 1 is the one above the main diagonal."""
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


def _diagonal_meta(x: Meta, offset: int) -> tuple[Meta, ...]:
    *before, rows, columns = x[0]
    return (((*before, _length(rows, columns, offset)), x[1]),)


def _diagonal_embed(xp: Any, x: Any, offset: int, rows: int, columns: int) -> Any:
    result = xp.zeros((*x.shape[:-1], rows, columns), x.dtype)
    places = xp.arange(x.shape[-1])
    result[..., places + max(-offset, 0), places + max(offset, 0)] = x
    return result


_DIAGONAL: Op = register(
    Op(
        "diagonal",
        lambda xp, x, offset: xp.diagonal(x, offset, -2, -1),
        per_input(
            lambda g, outs, x, offset: apply(
                _DIAGONAL_EMBED, g, offset=offset, rows=x.shape[-2], columns=x.shape[-1]
            )
        ),
        _diagonal_meta,
        view=True,
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(3, 3),), {"offset": 0}),
            ((draw(2, 2, 4),), {"offset": 1}),
            ((draw(3, 2),), {"offset": -2}),
            ((draw(2, 2),), {"offset": 3}),
            ((draw(0, 2),), {"offset": 0}),
        ],
        doc="Return a diagonal of the last two axes.",
    )
)

_DIAGONAL_EMBED: Op = register(
    Op(
        "diagonal_embed",
        _diagonal_embed,
        per_input(lambda g, outs, x, offset, rows, columns: apply(_DIAGONAL, g, offset=offset)),
        lambda meta, offset, rows, columns: (((*meta[0][:-1], rows, columns), meta[1]),),
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(2),), {"offset": 0, "rows": 2, "columns": 2}),
            ((draw(3, 2),), {"offset": -1, "rows": 3, "columns": 4}),
            ((draw(0),), {"offset": 0, "rows": 0, "columns": 2}),
        ],
        doc="Return zeros with x on a diagonal of two new last axes: the adjoint of diagonal.",
    )
)


@public()
def diagonal(x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return a diagonal of two axes, as the last axis. A view.

    Args:
        x: at least two axes.
        offset: 0 for the main diagonal, above it where positive.
        axis1: the axis of the rows.
        axis2: the axis of the columns.

    Raises:
        ShapeError: fewer than two axes.

    >>> diagonal([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [1.0, 4.0]
    """
    (tensor,) = lift((x,))
    _require_matrix("diagonal", tensor)
    result: Tensor = apply(_DIAGONAL, moveaxis(tensor, (axis1, axis2), (-2, -1)), offset=offset)
    return result


def _require_matrix(name: str, x: Tensor) -> None:
    if x.ndim < 2:
        raise ShapeError(
            f"{name} needs at least two axes, got shape {x.shape}. Use diag for a vector."
        )


@public()
def diag(x: Operand, k: int = 0) -> Tensor:
    """Return the matrix with a vector on its diagonal, or the diagonal of a matrix.

    Args:
        x: shape (n,) or (rows, columns).
        k: 0 for the main diagonal, above it where positive.

    Raises:
        ShapeError: neither one nor two axes.

    >>> diag([1.0, 2.0]).tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    (tensor,) = lift((x,))
    if tensor.ndim == 2:
        return diagonal(tensor, k)
    if tensor.ndim != 1:
        raise ShapeError(
            f"diag needs one or two axes, got shape {tensor.shape}. Use diagonal for more."
        )
    return diagonal_matrix(tensor, k)


def diagonal_matrix(x: Tensor, offset: int = 0) -> Tensor:
    """Return square matrices with the last axis of x on a diagonal."""
    size = x.shape[-1] + abs(offset)
    result: Tensor = apply(_DIAGONAL_EMBED, x, offset=offset, rows=size, columns=size)
    return result


@public()
def trace(x: Operand, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """Return the sum along a diagonal of two axes.

    >>> trace([[1.0, 2.0], [3.0, 4.0]]).item()
    5.0
    """
    return total(diagonal(x, offset, axis1, axis2), axis=-1)


def _triangle(name: str, doc: str) -> Op:
    """Declare a projection to a triangle: linear, and its own adjoint."""
    op = Op(
        name,
        lambda xp, x, k: getattr(xp, name)(x, k),
        per_input(lambda g, outs, x, k: apply(op, g, k=k)),
        lambda meta, k: (meta,),
        per_sample=unchanged,
        samples=lambda draw: [
            ((draw(3, 3),), {"k": 0}),
            ((draw(2, 2, 3),), {"k": -1}),
            ((draw(0, 2),), {"k": 1}),
        ],
        doc=doc,
    )
    return register(op)


_TRIL = _triangle("tril", "Return the elements on and below a diagonal, zeros above.")
_TRIU = _triangle("triu", "Return the elements on and above a diagonal, zeros below.")


@public()
def tril(x: Operand, k: int = 0) -> Tensor:
    """Return x with zeros above diagonal ``k`` of the last two axes.

    >>> tril([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 0.0], [3.0, 4.0]]
    """
    (tensor,) = lift((x,))
    _require_matrix("tril", tensor)
    return apply(_TRIL, tensor, k=k)


@public()
def triu(x: Operand, k: int = 0) -> Tensor:
    """Return x with zeros below diagonal ``k`` of the last two axes.

    >>> triu([[1.0, 2.0], [3.0, 4.0]]).tolist()
    [[1.0, 2.0], [0.0, 4.0]]
    """
    (tensor,) = lift((x,))
    _require_matrix("triu", tensor)
    return apply(_TRIU, tensor, k=k)
