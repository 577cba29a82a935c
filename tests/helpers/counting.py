"""An engine that counts its calls."""

from __future__ import annotations

from collections import Counter
from typing import Any

from circuits.engines.base import Engine, Gradients
from circuits.plan.steps import ComplexArray, RealArray


class CountingEngine(Engine):
    """Passes calls on to another engine; ``calls["forward"]`` and ``calls["reverse"]`` count."""

    name = "counting"

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.calls: Counter[str] = Counter()

    def forward(self, *args: Any, **kwargs: Any) -> tuple[ComplexArray, RealArray | None]:
        self.calls["forward"] += 1
        return self.engine.forward(*args, **kwargs)

    def reverse(self, *args: Any, **kwargs: Any) -> Gradients:
        self.calls["reverse"] += 1
        return self.engine.reverse(*args, **kwargs)
