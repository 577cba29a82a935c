"""One reverse call of an engine, and the gradients that it gives, in one order for all ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from autodiff import Tensor
from autodiff.dtypes import real_dtype
from autodiff.ieee import silent
from autodiff.node import Meta, Op
from circuits.angle_table import wanted_slots
from circuits.engines.base import Engine, Wanted
from circuits.first_order import refuse_second_order
from circuits.leading_axes import repeated, with_rows
from circuits.plan.steps import Plan

# Any in this file: a backend's arrays.

NAN_IS_A_RESULT = silent
"""The sine of an infinite angle is NaN on every engine; NumPy alone would warn of it."""


def reverse_op(name: str, forward: Callable[..., Any], meta: Callable[..., Sequence[Meta]]) -> Op:
    """Return the row of an op's backward pass: it pulls rows back at once, but not twice."""
    return Op(name, forward, refuse_second_order, meta, outputs=None, per_sample=with_rows)


_wanted = lru_cache(maxsize=128)(Wanted)


def wanted_of(
    state: Tensor, angles: Tensor, coefficients: Tensor, matrices: Sequence[Tensor]
) -> Wanted:
    """Return which gradients a run's operands need."""
    return _wanted(
        state._meta.requires_grad,
        wanted_slots(angles),
        any(m.requires_grad for m in matrices),
        coefficients._meta.requires_grad,
    )


def swept(
    xp: Any,
    engine: Engine,
    plan: Plan,
    final: Any,
    angles: Any,
    matrices: Sequence[Any],
    wanted: Wanted,
    rows: int | None,
    **start: Any,
) -> list[Any]:
    """Run the adjoint sweep and return what is wanted: state, angles, coefficients, matrices.

    Args:
        xp: NumPy's module, or a backend's.
        engine: runs it.
        plan: what is undone.
        final: states (B, N), which all rows share.
        angles: (B or 1, S).
        matrices: (B or 1, d, d) each.
        wanted: which gradients.
        rows: of cotangents, R of them; None: one, without an axis.
        start: ``cotangent`` (R B, N); or ``terms``, ``coefficients`` (B or 1, T) and ``weights``
            (R B, K).

    Returns:
        Arrays (R B, ...).
    """
    if rows is not None:
        angles = repeated(xp, angles, rows)
        matrices = [repeated(xp, m, rows) for m in matrices]
        if "coefficients" in start:
            start["coefficients"] = repeated(xp, start["coefficients"], rows)
    gradients = engine.reverse(plan, final, angles, matrices, wanted, **start)
    parts: list[Any] = [gradients.state] if wanted.state else []
    parts += [gradients.angles] if wanted.slots else []
    parts += [gradients.coefficients] if wanted.coefficients else []
    parts += list(gradients.matrices or ()) if wanted.matrices else []
    show_unseen(plan, angles, parts)
    return parts


def show_unseen(plan: Plan, angles: Any, results: Sequence[Any]) -> None:
    """Make results (B, ...) NaN where a sample has an angle that is not finite.

    A partial plan does not read all angles; what is not a number would otherwise give one. The
    results are an engine's, who keeps nothing of them, and are changed where they are.
    """
    if not plan.partial:
        return
    flaw = (angles * 0).sum(axis=-1)
    for x in results:
        if x.size:
            x += flaw.reshape((-1, *[1] * (x.ndim - 1)))


def gradient_metas(
    wanted: Wanted,
    state: Meta,
    angles: Meta,
    coefficients: Meta | None = None,
    matrices: Sequence[Meta] = (),
) -> list[Meta]:
    """Shape rule of a reverse call: what is wanted, per sample, in the order of ``swept``."""
    axes, real = state[0][:-1], real_dtype(state[1])
    metas = [state] if wanted.state else []
    metas += [((*axes, angles[0][-1]), real)] if wanted.slots else []
    if wanted.coefficients:
        assert coefficients is not None
        metas.append(((*axes, coefficients[0][-1]), real))
    if wanted.matrices:
        metas += [((*axes, *shape[-2:]), state[1]) for shape, _ in matrices]
    return metas


def spread(parts: Sequence[Tensor], asked: Sequence[bool]) -> list[Tensor | None]:
    """Give every input its gradient, None where none was asked for."""
    found = iter(parts)
    return [next(found) if flag else None for flag in asked]


def spread_all(parts: Sequence[Tensor], wanted: Wanted, matrices: int) -> list[Tensor | None]:
    """Give state, angles, coefficients and matrices their gradients."""
    asked = (wanted.state, wanted.slots, wanted.coefficients)
    return spread(parts, asked + (wanted.matrices,) * matrices)
