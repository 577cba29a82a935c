"""Plans with steps that are too wide for kernels: pieces for the kernels, NumPy between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from circuits.engines.base import Engine, Gradients, Wanted, own_states, swept_samples
from circuits.plan.forecast import Outline
from circuits.plan.steps import ComplexArray, Plan, RealArray, Step
from circuits.plan.terms import Terms
from circuits.plan.wide import apply_wide, wide_gradient

_WIDE_STATES = 7
"""States that a wide step has at a time besides those of its neighbours: rows, products, copies."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """A plan in pieces.

    Attributes:
        engine: runs the plans among them.
        parts: plans and wide steps, in order, and a plan last, which measures.
    """

    engine: Engine
    parts: tuple[Plan | Step, ...]

    @classmethod
    def build(cls, engine: Engine, plan: Plan, parts: tuple[Plan | Step, ...]) -> Pieces:
        """Give the pieces a last plan where they have none."""
        if isinstance(parts[-1], Step):
            parts = (*parts, replace(plan, steps=(), memo={}))
        return cls(engine, parts)

    def forward(
        self,
        state: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray],
        terms: Terms | None,
        coefficients: RealArray | None,
    ) -> tuple[ComplexArray, RealArray | None]:
        """Apply the pieces one after the other; the last one measures."""
        *first, last = self.parts
        assert isinstance(last, Plan)
        for part in first:
            if isinstance(part, Step):
                state = _spread(state, matrices, part)
                state = apply_wide(part, state, matrices)
            else:
                state, _ = self.engine.forward(part, state, angles, matrices)
        return self.engine.forward(last, state, angles, matrices, terms, coefficients)

    def reverse(
        self,
        final: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray],
        wanted: Wanted,
        cotangent: ComplexArray | None,
        terms: Terms | None,
        coefficients: RealArray | None,
        weights: RealArray | None,
    ) -> Gradients:
        """Undo the pieces, last one first.

        A piece gives lambda before it as the gradient of its state. psi before it is the same of
        the piece alone, with psi in the place of lambda.
        """
        start: dict[str, Any] = {"cotangent": cotangent, "terms": terms}
        start |= {"coefficients": coefficients, "weights": weights}
        inner = replace(wanted, state=True)
        plain = Wanted(state=True, angles=False)
        psi, found = own_states(final, swept_samples(cotangent, weights)), Gradients()
        for k, part in reversed(list(enumerate(self.parts))):
            if isinstance(part, Step):
                lam = start["cotangent"]
                psi = apply_wide(part, psi, matrices, adjoint=True)
                if wanted.matrices and part.source is not None:
                    assert found.matrices is not None
                    found.matrices[part.source][...] += wide_gradient(part, psi, lam)
                lam = apply_wide(part, lam, matrices, adjoint=True)
            else:
                more = self.engine.reverse(part, psi, angles, matrices, inner, **start)
                assert more.state is not None
                found, lam = _sum(found, more), more.state
                if k:
                    undone = self.engine.reverse(part, psi, angles, matrices, plain, cotangent=psi)
                    assert undone.state is not None
                    psi = undone.state
            start = {"cotangent": lam}
        return replace(found, state=lam if wanted.state else None)

    def outline(
        self, batch: int, dtype: np.dtype[np.complexfloating[Any]], terms: Terms | None
    ) -> Outline:
        """Say how the pieces would run."""
        plans = [part for part in self.parts if isinstance(part, Plan)]
        last = len(plans) - 1
        found = [
            self.engine.outline(plan, batch, dtype, terms if k == last else None)
            for k, plan in enumerate(plans)
        ]
        wide = len(self.parts) - len(plans)
        states = batch * dtype.itemsize << plans[0].num_qubits
        blocks = sum([Counter(o.blocks) for o in found], Counter({"wide": wide}))
        outlines = iter(found)
        stages = [(1,) if isinstance(p, Step) else next(outlines).stages for p in self.parts]
        return Outline(
            layout="pieces",
            reason=f"{wide} steps on many qubits are left to NumPy, between {found[0].layout}",
            blocks=dict(blocks.most_common()),
            stages=tuple([size for part in stages for size in part]),
            threads=max(o.threads for o in found),
            forward_bytes=max(o.forward_bytes for o in found) + _WIDE_STATES * states,
            reverse_bytes=max(o.reverse_bytes for o in found) + _WIDE_STATES * states,
            angle_bytes=max(o.angle_bytes for o in found),
        )


def _spread(state: ComplexArray, matrices: Sequence[ComplexArray], step: Step) -> ComplexArray:
    """Give every sample a state of its own where only a step's matrix has samples."""
    batch = 1 if step.source is None else len(matrices[step.source])
    if len(state) >= batch:
        return state
    return np.broadcast_to(state, (batch, state.shape[1]))


def _sum(found: Gradients, more: Gradients) -> Gradients:
    """Add the gradients of a piece; coefficients have one from the last piece only."""
    if found.angles is not None and more.angles is not None:
        more = replace(more, angles=found.angles + more.angles)
    if found.matrices is not None and more.matrices is not None:
        pairs = zip(found.matrices, more.matrices, strict=True)
        more = replace(more, matrices=tuple([a + b for a, b in pairs]))
    return more if found.coefficients is None else replace(more, coefficients=found.coefficients)
