"""Plans with steps that are too wide for an engine's kernels: pieces, and these steps between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from circuits.engines.base import Engine, Gradients, Wanted, own_states, swept_samples
from circuits.plan.forecast import Outline
from circuits.plan.steps import ComplexArray, Plan, RealArray, Step
from circuits.plan.terms import Terms
from circuits.plan.wide import apply_wide, wide_gradient


@dataclass(frozen=True)
class WideSteps:
    """How an engine runs wide steps; see ``plan.wide`` for the two functions.

    Attributes:
        apply: ``apply(step, states, matrices, adjoint=False)``: the states after the step.
        gradient: ``gradient(step, before, cotangent)``: of the step's matrix.
        how: in words.
        states: that a wide step has at a time besides those of its neighbours.
    """

    apply: Callable[..., ComplexArray]
    gradient: Callable[[Step, ComplexArray, ComplexArray], ComplexArray]
    how: str
    states: int


NUMPY = WideSteps(apply_wide, wide_gradient, "in NumPy", 7)
"""On the host: rows, products, copies."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """A plan in pieces.

    Attributes:
        engine: runs the plans among them.
        parts: plans and wide steps, in order, and a plan last, which measures.
        wide: runs the steps.
    """

    engine: Engine
    parts: tuple[Plan | Step, ...]
    wide: WideSteps

    @classmethod
    def build(
        cls, engine: Engine, plan: Plan, parts: tuple[Plan | Step, ...], wide: WideSteps = NUMPY
    ) -> Pieces:
        """Give the pieces a last plan where they have none."""
        if isinstance(parts[-1], Step):
            parts = (*parts, replace(plan, steps=(), memo={}))
        return cls(engine, parts, wide)

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
                state = self.wide.apply(part, state, matrices)
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
        plain = Wanted(state=True, angles=False)
        psi, found = own_states(final, swept_samples(cotangent, weights)), Gradients()
        for k, part in reversed(list(enumerate(self.parts))):
            if isinstance(part, Step):
                lam = start["cotangent"]
                source = part.source if wanted.matrices else None
                if k or source is not None:
                    psi = self.wide.apply(part, psi, matrices, adjoint=True)
                if source is not None:
                    assert found.matrices is not None
                    found.matrices[source][...] += self.wide.gradient(part, psi, lam)
                if k or wanted.state:
                    lam = self.wide.apply(part, lam, matrices, adjoint=True)
            else:
                inner = wanted._replace(state=wanted.state or k > 0)
                more = self.engine.reverse(part, psi, angles, matrices, inner, **start)
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
            reason=f"steps on many qubits ({wide}) run {self.wide.how}, between {found[0].layout}",
            blocks=dict(blocks.most_common()),
            stages=tuple([size for part in stages for size in part]),
            threads=max(o.threads for o in found),
            forward_bytes=max(o.forward_bytes for o in found) + self.wide.states * states,
            reverse_bytes=max(o.reverse_bytes for o in found) + self.wide.states * states,
            angle_bytes=max(o.angle_bytes for o in found),
        )


def _sum(found: Gradients, more: Gradients) -> Gradients:
    """Add the gradients of a piece; coefficients have one from the last piece only."""
    if found.angles is not None and more.angles is not None:
        more = replace(more, angles=found.angles + more.angles)
    if found.matrices is not None and more.matrices is not None:
        pairs = zip(found.matrices, more.matrices, strict=True)
        more = replace(more, matrices=tuple([a + b for a, b in pairs]))
    return more if found.coefficients is None else replace(more, coefficients=found.coefficients)
