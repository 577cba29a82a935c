"""Lists of ops as a program would have them, with the values that NumPy gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.host_modules import ORDERS, Schedule
from autodiff.backends.tensor_graph import TensorGraph
from autodiff.backends.tensor_launches import make_plan
from autodiff.backends.tensor_plan import Step, TensorPlan
from autodiff.table import OPS

# Any in this file: arrays of every dtype, and attrs.


class Listing:
    """Ops are added one by one and are computed by NumPy at once.

    Args:
        leaves: the given values, numbered from 0.
    """

    def __init__(self, *leaves: Any) -> None:
        self.values = {k: np.asarray(leaf) for k, leaf in enumerate(leaves)}
        self.leaves = list(self.values)
        self.steps: list[Step] = []

    def add(self, name: str, *operands: int, **attrs: Any) -> int:
        """Add an op and return the number of its result."""
        op, result = OPS[name], len(self.values)
        arrays = [self.values[x] for x in operands]
        self.values[result] = np.asarray(op.forward(np, *arrays, **attrs))
        view = op.forward if op.view else None
        self.steps.append(Step(name, attrs, tuple(operands), result, view))
        return result

    def plan(self, *outputs: int) -> TensorPlan | None:
        """The plan, if there is one."""
        metas = {k: (x.shape, x.dtype) for k, x in self.values.items()}
        return make_plan(self.steps, metas, self.leaves, outputs)

    def planned(self, *outputs: int) -> TensorPlan:
        """The plan."""
        plan = self.plan(*outputs)
        assert plan is not None
        return plan

    def check(self, *outputs: int) -> None:
        """Every thread order gives NumPy's values."""
        for order in ORDERS:
            backend = EmulatedBackend()
            backend.kernels.schedule = Schedule(order, seed=3)
            graph = TensorGraph(backend, self.planned(*outputs))
            self.compare(outputs, graph(np, *[self.values[k] for k in self.leaves]))

    def compare(
        self, outputs: Sequence[int], made: Sequence[Any], tolerance: float = 1e-12
    ) -> None:
        """Compare with NumPy's values, up to rounding."""
        for k, value in zip(outputs, made, strict=True):
            expected = self.values[k]
            assert (value.shape, value.dtype) == (expected.shape, expected.dtype)
            bound = tolerance if expected.dtype != np.float32 else 1e7 * tolerance
            np.testing.assert_allclose(value, expected, rtol=bound, atol=bound)
