"""The differentiable ops of circuits: evolve, expect, and their fused composition.

    evolve(state, angles, *matrices) -> state          adjoint sweep for any cotangent state
    expect(state, coefficients) -> values              values[k] = sum_t c_t <psi|O_t|psi>
    expectation(state, angles, coefficients, *matrices) -> values

Shapes: a state is (2**n,) or (B, 2**n), angles (S,) or (B, S), a matrix (d, d), coefficients (T,);
values are () or (K,), with B in front where the state or the angles have it. Every op makes one
engine call, forward or reverse, for any batch and any number of observables.

Reference: Jones and Gacon (2020), arXiv:2009.02823, for the adjoint sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff import Tensor
from autodiff.dispatch import apply
from autodiff.dtypes import DType, real_dtype
from autodiff.node import Meta, Op, Shape
from circuits.angle_table import wanted_slots
from circuits.engines.base import Engine, Wanted
from circuits.first_order import refuse_second_order
from circuits.plan.steps import Plan
from circuits.plan.terms import Terms

# Any in this file: forwards take a backend's arrays.

_NAN_IS_A_RESULT = np.errstate(invalid="ignore")
"""The sine of an infinite angle is NaN on every engine; NumPy alone would warn of it."""


def evolve(
    state: Tensor, angles: Tensor, matrices: Sequence[Tensor], plan: Plan, engine: Engine
) -> Tensor:
    """Return the state after the plan."""
    return apply(_EVOLVE, state, angles, *matrices, plan=plan, engine=engine)


def expect(
    state: Tensor, coefficients: Tensor, terms: Terms, engine: Engine, *, single: bool
) -> Tensor:
    """Return the values of observables in a state; ``single`` drops the observables' axis."""
    return apply(_EXPECT, state, coefficients, terms=terms, engine=engine, single=single)


def expectation_of(
    state: Tensor,
    angles: Tensor,
    coefficients: Tensor,
    matrices: Sequence[Tensor],
    plan: Plan,
    terms: Terms,
    engine: Engine,
    *,
    single: bool,
) -> Tensor:
    """Return ``expect(evolve(state))`` in one forward and one reverse engine call."""
    attrs = {"plan": plan, "terms": terms, "engine": engine, "single": single}
    return apply(_EXPECTATION, state, angles, coefficients, *matrices, **attrs)


def apply_observable(state: Tensor, coefficients: Tensor, terms: Terms, engine: Engine) -> Tensor:
    """Return sum_t c_t O_t |psi> for one observable with fixed coefficients."""
    return apply(_APPLY, state, coefficients, terms=terms, engine=engine)


# -- leading axes ----------------------------------------------------------------------------------


def _lead(array: Any, rank: int) -> Any:
    """Give an array of ``rank`` axes a batch axis of length 1."""
    return array[None] if array.ndim == rank else array


def _batch(xp: Any, state: Any, angles: Any) -> tuple[Any, Any, bool]:
    """Return states (B, N), angles (B or 1, S), and whether there is a batch axis at all."""
    batched = state.ndim == 2 or angles.ndim == 2
    rows, angles = _lead(state, 1), _lead(angles, 1)
    size = max(rows.shape[0], angles.shape[0])
    if rows.shape[0] != size:
        rows = xp.broadcast_to(rows, (size, rows.shape[1]))
    return rows, angles, batched


def _values(values: Any, batched: bool, single: bool) -> Any:
    """Drop the axes that the caller did not ask for from values (B, K)."""
    values = values[:, 0] if single else values
    return values if batched else values[0]


def _weights(g: Any, batched: bool, single: bool) -> Any:
    """Undo ``_values`` on a cotangent."""
    g = g if batched else g[None]
    return g[:, None] if single else g


def _lead_shape(state: Meta, angles: Meta) -> Shape:
    return (state[0] if len(state[0]) == 2 else angles[0])[:-1]


def _value_meta(lead: Shape, dtype: DType, terms: Terms, single: bool) -> Meta:
    return (*lead, *(() if single else (terms.num_rows,))), real_dtype(dtype)


# -- evolve ----------------------------------------------------------------------------------------


@_NAN_IS_A_RESULT
def _evolve(xp: Any, state: Any, angles: Any, *matrices: Any, plan: Plan, engine: Engine) -> Any:
    rows, angles, batched = _batch(xp, state, angles)
    final, _ = engine.forward(plan, rows, angles, [_lead(m, 2) for m in matrices])
    return final if batched else final[0]


@_NAN_IS_A_RESULT
def _evolve_vjp(
    xp: Any,
    g: Any,
    final: Any,
    angles: Any,
    *matrices: Any,
    plan: Plan,
    engine: Engine,
    wanted: Wanted,
) -> tuple[Any, ...]:
    batched = final.ndim == 2
    gradients = engine.reverse(
        plan,
        _lead(final, 1),
        _lead(angles, 1),
        [_lead(m, 2) for m in matrices],
        wanted,
        cotangent=_lead(g, 1),
    )
    parts = _wanted_parts(gradients, wanted)
    return tuple(parts if batched else [part[0] for part in parts])


def _wanted_parts(gradients: Any, wanted: Wanted) -> list[Any]:
    """Return what was asked for, in the order state, angles, coefficients, matrices."""
    parts = [gradients.state] if wanted.state else []
    parts += [gradients.angles] if wanted.slots else []
    parts += [gradients.coefficients] if wanted.coefficients else []
    return parts + (list(gradients.matrices) if wanted.matrices else [])


def _gradient_metas(
    wanted: Wanted,
    state: Meta,
    angles: Meta,
    coefficients: Meta | None = None,
    matrices: Sequence[Meta] = (),
) -> tuple[Meta, ...]:
    """Shape rule of a reverse call: what is wanted, per sample, in the order of _wanted_parts."""
    lead, real = state[0][:-1], real_dtype(state[1])
    metas = [state] if wanted.state else []
    metas += [((*lead, angles[0][-1]), real)] if wanted.slots else []
    if wanted.coefficients:
        assert coefficients is not None
        metas.append(((*lead, coefficients[0][-1]), real))
    if wanted.matrices:
        metas += [((*lead, *shape[-2:]), state[1]) for shape, _ in matrices]
    return tuple(metas)


def _spread(parts: Sequence[Tensor], asked: Sequence[bool]) -> list[Tensor | None]:
    """Give every input its gradient, None where none was asked for."""
    found = iter(parts)
    return [next(found) if flag else None for flag in asked]


def _evolve_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    state, angles, *matrices = inputs
    wanted = Wanted(
        state.requires_grad, wanted_slots(angles), any(m.requires_grad for m in matrices)
    )
    parts = apply(_EVOLVE_VJP, gs[0], outs[0], angles, *matrices, wanted=wanted, **attrs)
    return _spread(parts, [wanted.state, wanted.slots, *[wanted.matrices] * len(matrices)])


def _evolve_meta(state: Meta, angles: Meta, *matrices: Meta, **attrs: Any) -> tuple[Meta, ...]:
    return (((*_lead_shape(state, angles), state[0][-1]), state[1]),)


def _evolve_vjp_meta(
    g: Meta, final: Meta, angles: Meta, *matrices: Meta, wanted: Wanted, **_: Any
) -> tuple[Meta, ...]:
    return _gradient_metas(wanted, final, angles, matrices=matrices)


_EVOLVE = Op("evolve", _evolve, _evolve_rule, _evolve_meta, reads_outputs=True)
_EVOLVE_VJP = Op("evolve_vjp", _evolve_vjp, refuse_second_order, _evolve_vjp_meta, outputs=None)


# -- expect ----------------------------------------------------------------------------------------


@_NAN_IS_A_RESULT
def _expect(
    xp: Any, state: Any, coefficients: Any, terms: Terms, engine: Engine, single: bool
) -> Any:
    rows, angles, batched = _batch(xp, state, xp.empty((0,)))
    nothing = Plan(terms.num_qubits, (), 0)
    _, values = engine.forward(nothing, rows, angles, (), terms, _lead(coefficients, 1))
    return _values(values, batched, single)


def _expect_vjp(
    xp: Any,
    g: Any,
    state: Any,
    coefficients: Any,
    terms: Terms,
    engine: Engine,
    single: bool,
    wanted: Wanted,
) -> tuple[Any, ...]:
    return _expectation_vjp(
        xp,
        g,
        state,
        xp.empty((1, 0)),
        coefficients,
        plan=Plan(terms.num_qubits, (), 0),
        terms=terms,
        engine=engine,
        single=single,
        wanted=wanted,
    )


def _expect_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    state, coefficients = inputs
    wanted = Wanted(state.requires_grad, False, False, coefficients.requires_grad)
    parts = apply(_EXPECT_VJP, gs[0], state, coefficients, wanted=wanted, **attrs)
    return _spread(parts, [wanted.state, wanted.coefficients])


def _expect_meta(
    state: Meta, coefficients: Meta, terms: Terms, engine: Engine, single: bool
) -> tuple[Meta, ...]:
    return (_value_meta(state[0][:-1], state[1], terms, single),)


def _expect_vjp_meta(
    g: Meta, state: Meta, coefficients: Meta, wanted: Wanted, **_: Any
) -> tuple[Meta, ...]:
    return _gradient_metas(wanted, state, ((0,), state[1]), coefficients)


_EXPECT = Op("expect", _expect, _expect_rule, _expect_meta)
_EXPECT_VJP = Op("expect_vjp", _expect_vjp, refuse_second_order, _expect_vjp_meta, outputs=None)


# -- their fused composition -----------------------------------------------------------------------


@_NAN_IS_A_RESULT
def _expectation(
    xp: Any,
    state: Any,
    angles: Any,
    coefficients: Any,
    *matrices: Any,
    plan: Plan,
    terms: Terms,
    engine: Engine,
    single: bool,
) -> tuple[Any, Any]:
    rows, angles, batched = _batch(xp, state, angles)
    final, values = engine.forward(
        plan, rows, angles, [_lead(m, 2) for m in matrices], terms, _lead(coefficients, 1)
    )
    return _values(values, batched, single), final if batched else final[0]


@_NAN_IS_A_RESULT
def _expectation_vjp(
    xp: Any,
    g: Any,
    final: Any,
    angles: Any,
    coefficients: Any,
    *matrices: Any,
    plan: Plan,
    terms: Terms,
    engine: Engine,
    single: bool,
    wanted: Wanted,
) -> tuple[Any, ...]:
    batched = final.ndim == 2
    gradients = engine.reverse(
        plan,
        _lead(final, 1),
        _lead(angles, 1),
        [_lead(m, 2) for m in matrices],
        wanted,
        terms=terms,
        coefficients=_lead(coefficients, 1),
        weights=_weights(g, batched, single),
    )
    parts = _wanted_parts(gradients, wanted)
    return tuple(parts if batched else [part[0] for part in parts])


def _expectation_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    state, angles, coefficients, *matrices = inputs
    wanted = Wanted(
        state.requires_grad,
        wanted_slots(angles),
        any(m.requires_grad for m in matrices),
        coefficients.requires_grad,
    )
    operands = (gs[0], outs[1], angles, coefficients, *matrices)
    parts = apply(_EXPECTATION_VJP, *operands, wanted=wanted, **attrs)
    asked = [wanted.state, wanted.slots, wanted.coefficients]
    return _spread(parts, [*asked, *[wanted.matrices] * len(matrices)])


def _expectation_meta(
    state: Meta,
    angles: Meta,
    coefficients: Meta,
    *matrices: Meta,
    terms: Terms,
    single: bool,
    **_: Any,
) -> tuple[Meta, ...]:
    lead = _lead_shape(state, angles)
    final = (*lead, state[0][-1]), state[1]
    return _value_meta(lead, state[1], terms, single), final


def _expectation_vjp_meta(
    g: Meta,
    final: Meta,
    angles: Meta,
    coefficients: Meta,
    *matrices: Meta,
    wanted: Wanted,
    **_: Any,
) -> tuple[Meta, ...]:
    return _gradient_metas(wanted, final, angles, coefficients, matrices)


_EXPECTATION = Op(
    "expectation", _expectation, _expectation_rule, _expectation_meta, reads_outputs=True
)
_EXPECTATION_VJP = Op(
    "expectation_vjp", _expectation_vjp, refuse_second_order, _expectation_vjp_meta, outputs=None
)


# -- an observable applied to a state --------------------------------------------------------------


def _apply(xp: Any, state: Any, coefficients: Any, terms: Terms, engine: Engine) -> Any:
    rows = _lead(state, 1)
    gradients = engine.reverse(
        Plan(terms.num_qubits, (), 0),
        rows,
        xp.empty((1, 0)),
        (),
        Wanted(state=True, angles=False),
        terms=terms,
        coefficients=_lead(coefficients, 1),
        weights=xp.full((rows.shape[0], terms.num_rows), 0.5),
    )
    assert gradients.state is not None
    return gradients.state if state.ndim == 2 else gradients.state[0]


def _apply_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    # A Hermitian operator is its own adjoint.
    return [apply(_APPLY, gs[0], inputs[1], **attrs), None]


_APPLY = Op("apply_observable", _apply, _apply_rule, lambda state, coefficients, **_: (state,))
