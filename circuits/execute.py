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

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from autodiff import Tensor
from autodiff.dispatch import apply
from autodiff.ieee import silent
from autodiff.node import Attrs, Meta, Op
from autodiff.ops.declare import unchanged
from circuits.angle_table import wanted_slots
from circuits.engines.base import Engine, Wanted
from circuits.leading_axes import (
    as_batch,
    cotangent_rows,
    lead,
    lead_shape,
    row_metas,
    shaped,
    value_meta,
    values_of,
    weights_of,
)
from circuits.plan.memory import recomputed_blocks
from circuits.plan.steps import Plan
from circuits.plan.terms import Terms
from circuits.recomputing import expectation_in_blocks
from circuits.sweeping import (
    gradient_metas,
    reverse_op,
    show_unseen,
    spread,
    spread_all,
    swept,
    wanted_of,
)

# Any in this file: forwards take a backend's arrays.


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
    """Return ``expect(evolve(state))`` in one forward and one reverse engine call.

    Final states that take more than a quarter of the free memory are not kept for the reverse
    call: then the run goes in blocks of samples, see ``recomputing``.
    """
    attrs: dict[str, Any] = {"plan": plan, "terms": terms, "engine": engine, "single": single}
    cell, turns = state._cell, angles._cell.shape
    batch = turns[0] if len(turns) == 2 else cell.shape[0] if len(cell.shape) == 2 else 1
    size = cell.shape[-1] * cell.dtype.itemsize
    blocks = recomputed_blocks(batch, size, engine.available_memory)
    if blocks:
        operands = (state, angles, coefficients, matrices)
        return expectation_in_blocks(*operands, blocks=blocks, **attrs)
    return apply(_EXPECTATION, state, angles, coefficients, *matrices, **attrs)


def apply_observable(state: Tensor, coefficients: Tensor, terms: Terms, engine: Engine) -> Tensor:
    """Return sum_t c_t O_t |psi> for one observable with fixed coefficients."""
    return apply(_APPLY, state, coefficients, terms=terms, engine=engine)


# -- evolve ----------------------------------------------------------------------------------------


def _evolve(xp: Any, state: Any, angles: Any, *matrices: Any, plan: Plan, engine: Engine) -> Any:
    rows, angles, batched = as_batch(state, angles)
    final, _ = engine.forward(plan, rows, angles, [lead(m, 2) for m in matrices])
    return final if batched else final[0]


def _evolve_vjp(
    xp: Any,
    g: Any,
    final: Any,
    angles: Any,
    *matrices: Any,
    plan: Plan,
    engine: Engine,
    wanted: Wanted,
    ranks: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    batched = final.ndim == 2
    g, rows = cotangent_rows(g, (final, angles, *matrices), ranks)
    parts = swept(
        xp,
        engine.reverse,
        plan,
        lead(final, 1),
        lead(angles, 1),
        [lead(m, 2) for m in matrices],
        wanted,
        rows,
        cotangent=lead(g, 1) if rows is None else g.reshape((-1, g.shape[-1])),
    )
    return shaped(parts, batched, rows)


def _evolve_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    state, angles, *matrices = inputs
    wanted = Wanted(
        state.requires_grad, wanted_slots(angles), any(m.requires_grad for m in matrices)
    )
    parts = apply(_EVOLVE_VJP, gs[0], outs[0], angles, *matrices, wanted=wanted, **attrs)
    return spread(parts, [wanted.state, wanted.slots, *[wanted.matrices] * len(matrices)])


def _evolve_meta(state: Meta, angles: Meta, *matrices: Meta, **attrs: Any) -> tuple[Meta, ...]:
    return (((*lead_shape(state, angles), state[0][-1]), state[1]),)


def _evolve_vjp_meta(
    g: Meta,
    final: Meta,
    angles: Meta,
    *matrices: Meta,
    wanted: Wanted,
    ranks: tuple[int, ...] | None = None,
    **_: Any,
) -> tuple[Meta, ...]:
    return row_metas(gradient_metas(wanted, final, angles, matrices=matrices), g, ranks)


_EVOLVE = Op("evolve", silent(_evolve), _evolve_rule, _evolve_meta, reads_outputs=True)
_EVOLVE_VJP = reverse_op("evolve_vjp", _evolve_vjp, _evolve_vjp_meta)


# -- expect ----------------------------------------------------------------------------------------


def _expect(
    xp: Any, state: Any, coefficients: Any, terms: Terms, engine: Engine, single: bool
) -> Any:
    rows, angles, batched = as_batch(state, xp.empty((0,)))
    nothing = Plan(terms.num_qubits, (), 0)
    operands = (rows, angles, (), terms, lead(coefficients, 1))
    _, values = engine.forward(nothing, *operands)
    return values_of(values, batched, single)


def _expect_vjp(
    xp: Any,
    g: Any,
    state: Any,
    coefficients: Any,
    terms: Terms,
    engine: Engine,
    single: bool,
    wanted: Wanted,
    ranks: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    return _expectation_vjp(
        xp,
        g,
        state,
        xp.empty((0,)),
        coefficients,
        plan=Plan(terms.num_qubits, (), 0),
        terms=terms,
        engine=engine,
        single=single,
        wanted=wanted,
        ranks=ranks,
    )


def _expect_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    state, coefficients = inputs
    wanted = Wanted(state.requires_grad, False, False, coefficients.requires_grad)
    parts = apply(_EXPECT_VJP, gs[0], state, coefficients, wanted=wanted, **attrs)
    return spread(parts, [wanted.state, wanted.coefficients])


def _expect_meta(
    state: Meta, coefficients: Meta, terms: Terms, engine: Engine, single: bool
) -> tuple[Meta, ...]:
    return (value_meta(state[0][:-1], state[1], terms, single),)


def _expect_vjp_meta(
    g: Meta,
    state: Meta,
    coefficients: Meta,
    wanted: Wanted,
    ranks: tuple[int, ...] | None = None,
    **_: Any,
) -> tuple[Meta, ...]:
    metas = gradient_metas(wanted, state, ((0,), state[1]), coefficients)
    return row_metas(metas, g, ranks)


_EXPECT = Op("expect", silent(_expect), _expect_rule, _expect_meta)
_EXPECT_VJP = reverse_op("expect_vjp", _expect_vjp, _expect_vjp_meta)


# -- their fused composition -----------------------------------------------------------------------


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
    run: Callable[..., Any] | None = None,
) -> tuple[Any, Any]:
    rows, angles, batched = as_batch(state, angles)
    given = [lead(m, 2) for m in matrices] if matrices else ()
    operands = (rows, angles, given, terms, lead(coefficients, 1))
    final, values = (run or engine.forward)(plan, *operands)
    if plan.partial:
        show_unseen(xp, angles, [values])
    return values_of(values, batched, single), final


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
    ranks: tuple[int, ...] | None = None,
    run: Callable[..., Any] | None = None,
) -> tuple[Any, ...]:
    g, rows = cotangent_rows(g, (final, angles, coefficients, *matrices), ranks)
    batched = g.ndim - (rows is not None) == 2 - single
    parts = swept(
        xp,
        run or engine.reverse,
        plan,
        lead(final, 1),
        lead(angles, 1),
        [lead(m, 2) for m in matrices] if matrices else (),
        wanted,
        rows,
        terms=terms,
        coefficients=lead(coefficients, 1),
        weights=weights_of(g, single),
    )
    return shaped(parts, batched, rows)


def _expectation_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    wanted = wanted_of(inputs)
    parts = apply(_EXPECTATION_VJP, gs[0], outs[0], *inputs[1:], wanted=wanted, **attrs)
    return spread_all(parts, wanted, len(inputs))


def _expectation_meta(
    state: Meta,
    angles: Meta,
    coefficients: Meta,
    *matrices: Meta,
    terms: Terms,
    single: bool,
    **_: Any,
) -> tuple[Meta, ...]:
    axes, (shape, dtype) = lead_shape(state, angles), state
    return value_meta(axes, dtype, terms, single), ((*(axes or (1,)), shape[-1]), dtype)


def _expectation_vjp_meta(
    g: Meta,
    final: Meta,
    angles: Meta,
    coefficients: Meta,
    *matrices: Meta,
    single: bool,
    wanted: Wanted,
    ranks: tuple[int, ...] | None = None,
    **_: Any,
) -> tuple[Meta, ...]:
    if (ranks[0] if ranks else len(g[0])) == 1 - single:
        final = final[0][1:], final[1]
    metas = gradient_metas(wanted, final, angles, coefficients, matrices)
    return row_metas(metas, g, ranks)


def _prepare_expectation(metas: Sequence[Meta], attrs: Attrs) -> Attrs:
    state, angles, *_ = metas
    batch = prod(lead_shape(state, angles))
    run = attrs["engine"].prepared_forward(attrs["plan"], batch, state[1], attrs["terms"])
    return {**attrs, "run": run}


def _prepare_expectation_vjp(metas: Sequence[Meta], attrs: Attrs) -> Attrs:
    g, final = metas[:2]
    if attrs.get("ranks"):
        return attrs
    batch = prod(g[0]) // (1 if attrs["single"] else g[0][-1])
    plan, terms, wanted = attrs["plan"], attrs["terms"], attrs["wanted"]
    run = attrs["engine"].prepared_reverse(plan, batch, final[1], terms, wanted)
    return {**attrs, "run": run}


_EXPECTATION = Op(
    "expectation",
    silent(_expectation),
    _expectation_rule,
    _expectation_meta,
    reads_outputs=True,
    reads_from=1,  # the final states
    prepare=_prepare_expectation,
)
_EXPECTATION_VJP = reverse_op(
    "expectation_vjp", _expectation_vjp, _expectation_vjp_meta, _prepare_expectation_vjp
)


# -- an observable applied to a state --------------------------------------------------------------


def _apply(xp: Any, state: Any, coefficients: Any, terms: Terms, engine: Engine) -> Any:
    rows = state.reshape((-1, state.shape[-1]))
    gradients = engine.reverse(
        Plan(terms.num_qubits, (), 0),
        rows,
        xp.empty((1, 0)),
        (),
        Wanted(state=True, angles=False),
        terms=terms,
        coefficients=lead(coefficients, 1),
        weights=xp.full((rows.shape[0], terms.num_rows), 0.5),
    )
    assert gradients.state is not None
    return gradients.state if state.ndim == 2 else gradients.state.reshape(state.shape)


def _apply_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    # A Hermitian operator is its own adjoint.
    return [apply(_APPLY, gs[0], inputs[1], **attrs), None]


_APPLY = Op(
    "apply_observable",
    silent(_apply),
    _apply_rule,
    lambda state, coefficients, **_: (state,),
    per_sample=unchanged,  # states may have any axes in front
)
