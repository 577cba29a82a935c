"""Leading axes of the circuit ops' operands: samples, and in front of them rows of cotangents.

Operands come with or without a batch axis; engines want one. A Jacobian pulls R cotangents back at
once: such a cotangent has R rows in front (``ranks`` among a row's attrs says so), and so have the
gradients. An engine gets R x B samples, row by row, that take the B final states in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from autodiff.dtypes import DType, real_dtype
from autodiff.errors import TraceError
from autodiff.node import Attrs, Meta, Shape
from circuits.plan.terms import Terms

# Any in this file: a backend's arrays.
_first = itemgetter(0)


def lead(array: Any, rank: int) -> Any:
    """Give an array of ``rank`` axes a batch axis of length 1."""
    return array[None] if array.ndim == rank else array


def as_batch(state: Any, angles: Any) -> tuple[Any, Any, bool]:
    """Return states (B or 1, N), angles (B or 1, S), and whether there is a batch axis at all."""
    if state.ndim == angles.ndim == 1:
        return state[None], angles[None], False
    return lead(state, 1), lead(angles, 1), True


def values_of(values: Any, batched: bool, single: bool) -> Any:
    """Drop the axes that the caller did not ask for from values (B, K)."""
    if batched:
        return values[:, 0] if single else values
    return values[0, 0] if single else values[0]


def weights_of(g: Any, single: bool) -> Any:
    """Undo ``values_of`` on a cotangent, with or without rows: (R B, K)."""
    return g.reshape((-1, 1 if single else g.shape[-1]))


def lead_shape(state: Meta, angles: Meta) -> Shape:
    """Return the batch axis that operands have together, if any."""
    return (state[0] if len(state[0]) == 2 else angles[0])[:-1]


def value_meta(axes: Shape, dtype: DType, terms: Terms, single: bool) -> Meta:
    """Shape and dtype of expectation values behind leading axes."""
    return (*axes, *(() if single else (terms.num_rows,))), real_dtype(dtype)


# -- rows of cotangents ----------------------------------------------------------------------------


def with_rows(attrs: Attrs, ranks: Sequence[int]) -> Attrs:
    """``per_sample`` of a reverse op: its cotangent, the first operand, gets rows in front."""
    return {**attrs, "ranks": tuple(ranks)}


def cotangent_rows(
    g: Any, others: Sequence[Any], ranks: tuple[int, ...] | None
) -> tuple[Any, int | None]:
    """Return a cotangent without padding behind its rows, and how many rows it has, if any.

    Raises:
        TraceError: another operand is evaluated per sample, too.
    """
    if ranks is None:
        return g, None
    top = max(ranks)
    if any(x.ndim > top for x in others):
        raise TraceError(
            "the reverse sweep of a circuit needs rows of cotangents of one run, got runs for "
            "every row. Give the circuit a batch: values= or inputs= with samples in front."
        )
    return g.reshape((len(g), *g.shape[g.ndim - ranks[0] :])), len(g)


def shaped(parts: Sequence[Any], batched: bool, rows: int | None) -> tuple[Any, ...]:
    """Return an engine's gradients (R B, ...) with the axes that the operands had."""
    if not batched:
        return tuple(map(_first, parts) if rows is None else parts)
    if rows is None:
        return tuple(parts)
    return tuple([x.reshape((rows, len(x) // rows, *x.shape[1:])) for x in parts])


def repeated(xp: Any, array: Any, rows: int | None) -> Any:
    """Repeat what samples (B, ...) have for every row; what all of them share stays as it is."""
    if rows is None or len(array) == 1:
        return array
    return xp.tile(array, (rows, *[1] * (array.ndim - 1)))


def row_metas(metas: Sequence[Meta], g: Meta, ranks: tuple[int, ...] | None) -> tuple[Meta, ...]:
    """Put the cotangent's rows in front of its gradients' shapes."""
    return tuple(metas if ranks is None else [((g[0][0], *shape), kind) for shape, kind in metas])
