"""An engine that counts how many gates it applies to how many states."""

from __future__ import annotations

from typing import Any

from counting import CountingEngine

from circuits.engines.base import Engine, Gradients
from circuits.plan.steps import ComplexArray, Plan, RealArray


class GateCounter(CountingEngine):
    """``gates`` is the number of steps times states; a reverse sweep undoes two states a sample."""

    name = "gate counter"

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.gates = 0

    def forward(
        self, plan: Plan, state: ComplexArray, angles: RealArray, *args: Any, **kwargs: Any
    ) -> tuple[ComplexArray, RealArray | None]:
        self.gates += len(plan.steps) * max(len(state), len(angles))
        return super().forward(plan, state, angles, *args, **kwargs)

    def reverse(self, plan: Plan, final: ComplexArray, *args: Any, **kwargs: Any) -> Gradients:
        self.gates += 2 * len(plan.steps) * len(final)
        return super().reverse(plan, final, *args, **kwargs)
