"""Expectation values whose final states are not kept: each block of samples is run again.

    expectation_in_blocks(state, angles, coefficients, *matrices) -> values

The same values and per-sample gradients, bit for bit, as ``expectation``, which keeps the final
states of all samples between forward and backward; only a block of one sample may be laid out
otherwise than a batch, and differ in the last bits. Here the samples are run in blocks, and the
backward pass runs a block forward again before it sweeps it back: one forward call a block, and for
the gradient another one and one reverse call. In memory are one block's states, whatever the batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autodiff import Tensor
from autodiff.dispatch import apply
from autodiff.dtypes import real_dtype
from autodiff.ieee import silent
from autodiff.node import Meta, Op
from circuits.engines.base import Engine, Wanted
from circuits.leading_axes import (
    as_batch,
    cotangent_rows,
    lead,
    lead_shape,
    row_metas,
    value_meta,
    values_of,
    weights_of,
)
from circuits.plan.memory import block_slices
from circuits.plan.steps import Plan
from circuits.plan.terms import Terms
from circuits.sweeping import (
    gradient_metas,
    reverse_op,
    show_unseen,
    spread_all,
    swept,
    wanted_of,
)

# Any in this file: forwards take a backend's arrays.


def expectation_in_blocks(
    state: Tensor,
    angles: Tensor,
    coefficients: Tensor,
    matrices: Sequence[Tensor],
    **attrs: Any,
) -> Tensor:
    """Return ``execute.expectation_of`` in ``blocks`` blocks of samples; attrs are the row's."""
    return apply(_IN_BLOCKS, state, angles, coefficients, *matrices, **attrs)


def _of(part: slice, array: Any) -> Any:
    """Return what a block has of an operand with samples in front; or what all samples share."""
    return array if len(array) == 1 else array[part]


def _in_blocks(
    xp: Any,
    state: Any,
    angles: Any,
    coefficients: Any,
    *matrices: Any,
    plan: Plan,
    terms: Terms,
    engine: Engine,
    single: bool,
    blocks: int,
) -> Any:
    states, angles, batched = as_batch(state, angles)
    coefficients, given = lead(coefficients, 1), [lead(m, 2) for m in matrices]
    samples = max(len(states), len(angles))
    values = xp.empty((samples, terms.num_rows), real_dtype(state.dtype))
    for part in block_slices(samples, blocks):
        few, factors = [_of(part, m) for m in given], _of(part, coefficients)
        # Nothing here holds a block's final states while the next block runs.
        operands = (_of(part, states), _of(part, angles), few, terms, factors)
        values[part] = engine.forward(plan, *operands)[1]
    if plan.partial:
        show_unseen(xp, angles, [values])
    return values_of(values, batched, single)


def _in_blocks_vjp(
    xp: Any,
    g: Any,
    state: Any,
    angles: Any,
    coefficients: Any,
    *matrices: Any,
    plan: Plan,
    terms: Terms,
    engine: Engine,
    single: bool,
    blocks: int,
    wanted: Wanted,
    ranks: tuple[int, ...] | None = None,
) -> tuple[Any, ...]:
    g, rows = cotangent_rows(g, (state, angles, coefficients, *matrices), ranks)
    states, turns, batched = as_batch(state, angles)
    factors, given = lead(coefficients, 1), [lead(m, 2) for m in matrices]
    weights = weights_of(g, single)
    samples = max(len(states), len(turns))
    weights = weights.reshape((rows or 1, samples, terms.num_rows))
    shared = _shared(wanted, state, matrices)
    totals: list[Any] = [None] * len(shared)
    for part in block_slices(samples, blocks):
        found = _of_block(
            xp,
            engine,
            plan,
            (_of(part, states), _of(part, turns), [_of(part, m) for m in given]),
            wanted,
            rows,
            terms=terms,
            coefficients=_of(part, factors),
            weights=weights[:, part].reshape((-1, terms.num_rows)),
        )
        _gather(xp, totals, found, shared, part, samples)
        del found  # nothing of a block is there while the next one runs
    dropped = [x if flag or batched else x[:, 0] for x, flag in zip(totals, shared, strict=True)]
    return tuple(dropped if rows is not None else [x[0] for x in dropped])


def _of_block(
    xp: Any,
    engine: Engine,
    plan: Plan,
    operands: tuple[Any, Any, list[Any]],
    wanted: Wanted,
    rows: int | None,
    **start: Any,
) -> list[Any]:
    """Run a block of b samples forward and back; return the gradients (R, b, ...)."""
    states, angles, matrices = operands
    final = engine.forward(plan, states, angles, matrices)[0]
    found = swept(xp, engine.reverse, plan, final, angles, matrices, wanted, rows, **start)
    return [x.reshape((rows or 1, len(final), *x.shape[1:])) for x in found]


def _shared(wanted: Wanted, state: Any, matrices: Sequence[Any]) -> list[bool]:
    """Return, of every gradient of ``swept``, whether all samples share what it belongs to.

    Of angles and coefficients, which are small, the gradients stay per sample, so that their sums
    are the same bits for any number of blocks.
    """
    flags = [state.ndim == 1] if wanted.state else []
    flags += [False] * (bool(wanted.slots) + wanted.coefficients)
    return flags + [m.ndim == 2 for m in matrices] if wanted.matrices else flags


def _gather(
    xp: Any, totals: list[Any], found: Sequence[Any], shared: Sequence[bool], part: slice, size: int
) -> None:
    """Write a block's gradients (R, b, ...) into (R, B, ...), or add them up where shared.

    Sums go sample by sample, as one sum over all of them would.
    """
    for k, (x, flag) in enumerate(zip(found, shared, strict=True)):
        if flag:
            if totals[k] is not None:
                x[:, 0] += totals[k]
            totals[k] = x.sum(axis=1)
            continue
        if totals[k] is None:
            totals[k] = xp.empty((x.shape[0], size, *x.shape[2:]), x.dtype)
        totals[k][:, part] = x


def _rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor | None]:
    wanted = wanted_of(inputs)
    parts = apply(_IN_BLOCKS_VJP, gs[0], *inputs, wanted=wanted, **attrs)
    return spread_all(parts, wanted, len(inputs))


def _meta(
    state: Meta,
    angles: Meta,
    coefficients: Meta,
    *matrices: Meta,
    terms: Terms,
    single: bool,
    **_: Any,
) -> tuple[Meta, ...]:
    return (value_meta(lead_shape(state, angles), state[1], terms, single),)


def _vjp_meta(
    g: Meta,
    state: Meta,
    angles: Meta,
    coefficients: Meta,
    *matrices: Meta,
    wanted: Wanted,
    ranks: tuple[int, ...] | None = None,
    **_: Any,
) -> tuple[Meta, ...]:
    final = (*lead_shape(state, angles), state[0][-1]), state[1]
    metas = gradient_metas(
        wanted._replace(state=False, matrices=False), final, angles, coefficients
    )
    if wanted.state:
        metas.insert(0, state)
    if wanted.matrices:
        metas += [(shape, state[1]) for shape, _ in matrices]
    return row_metas(metas, g, ranks)


_IN_BLOCKS = Op("expectation_in_blocks", silent(_in_blocks), _rule, _meta)
_IN_BLOCKS_VJP = reverse_op("expectation_in_blocks_vjp", _in_blocks_vjp, _vjp_meta)
