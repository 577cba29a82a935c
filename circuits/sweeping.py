"""One reverse call of an engine, and the gradients that it gives, in one order for all ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autodiff import Tensor
from autodiff.dtypes import real_dtype
from autodiff.ieee import silent
from autodiff.node import Attrs, Meta, Op
from circuits.angle_table import wanted_slots
from circuits.engines.base import Gradients, Wanted
from circuits.first_order import refuse_second_order
from circuits.leading_axes import repeated, with_rows
from circuits.plan.steps import Plan
from circuits.plan.terms import Terms

# Any in this file: a backend's arrays.


def reverse_op(
    name: str,
    forward: Callable[..., Any],
    meta: Callable[..., Sequence[Meta]],
    prepare: Callable[[Sequence[Meta], Attrs], Attrs] | None = None,
) -> Op:
    """Return the row of an op's backward pass: it pulls rows back at once, but not twice.

    It is silent as all circuit ops are: the sine of an infinite angle is NaN on every engine, and
    NumPy alone would warn of it.
    """
    return Op(
        name,
        silent(forward),
        refuse_second_order,
        meta,
        outputs=None,
        per_sample=with_rows,
        prepare=prepare,
    )


def wanted_of(inputs: Sequence[Tensor]) -> Wanted:
    """Return which gradients a run needs of its state, angles, coefficients and matrices."""
    state, angles, coefficients, *matrices = inputs
    return Wanted(
        state._meta.requires_grad,
        wanted_slots(angles),
        any(m._meta.requires_grad for m in matrices) if matrices else False,
        coefficients._meta.requires_grad,
    )


def swept(
    xp: Any,
    run: Callable[..., Gradients],
    plan: Plan,
    final: Any,
    angles: Any,
    matrices: Sequence[Any],
    wanted: Wanted,
    rows: int | None,
    *,
    cotangent: Any = None,
    terms: Terms | None = None,
    coefficients: Any = None,
    weights: Any = None,
) -> list[Any]:
    """Run the adjoint sweep and return what is wanted: state, angles, coefficients, matrices.

    Args:
        xp: NumPy's module, or a backend's.
        run: an engine's ``reverse``.
        plan: what is undone.
        final: states (B, N), which all rows share.
        angles: (B or 1, S).
        matrices: (B or 1, d, d) each.
        wanted: which gradients.
        rows: of cotangents, R of them; None: one, without an axis.
        cotangent: (R B, N) of the final states; or the next three.
        terms: what was measured.
        coefficients: (B or 1, T).
        weights: (R B, K), the cotangent of the values.

    Returns:
        Arrays (R B, ...).
    """
    if rows is not None:
        angles = repeated(xp, angles, rows)
        matrices = [repeated(xp, m, rows) for m in matrices]
        if coefficients is not None:
            coefficients = repeated(xp, coefficients, rows)
    gradients = run(
        plan,
        final,
        angles,
        matrices,
        wanted,
        cotangent=cotangent,
        terms=terms,
        coefficients=coefficients,
        weights=weights,
    )
    parts: list[Any] = [gradients.state] if wanted.state else []
    if wanted.slots:
        parts.append(gradients.angles)
    if wanted.coefficients:
        parts.append(gradients.coefficients)
    if wanted.matrices:
        parts += gradients.matrices or ()
    if plan.partial:
        show_unseen(xp, angles, parts)
    return parts


def show_unseen(xp: Any, angles: Any, results: Sequence[Any]) -> None:
    """Make results (B, ...) NaN where a sample has an angle that is not finite.

    A partial plan does not read all angles; what is not a number would otherwise give one. The
    results are an engine's, who keeps nothing of them, and are changed where they are.
    """
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


def spread_all(parts: Sequence[Tensor], wanted: Wanted, inputs: int) -> list[Tensor | None]:
    """Give state, angles, coefficients and matrices, the inputs, their gradients."""
    found = iter(parts)
    state = next(found) if wanted.state else None
    angles = next(found) if wanted.slots else None
    coefficients = next(found) if wanted.coefficients else None
    matrices = found if wanted.matrices else [None] * (inputs - 3)
    return [state, angles, coefficients, *matrices]
