"""This project once more, without the tape: a step that was traced once and is run prepared."""

from __future__ import annotations

import qml
from autodiff import Program, Runtime, value_and_grad
from benchmarks.cases import Case, RealArray
from benchmarks.libraries import Evaluation
from benchmarks.ours import Ours


class PreparedStep(Evaluation):
    """Value and gradient of a case's loss as a program: parameters, and data if it has some.

    Args:
        case: what to build.
        engine: by name, as the run methods take it.
    """

    def __init__(self, case: Case, engine: str = "numba") -> None:
        ours = Ours(case, engine)
        self.data = [] if ours.data is None else [qml.Tensor(ours.data)]

        def step(theta: qml.Tensor, *data: qml.Tensor) -> tuple[qml.Tensor, ...]:
            value, gradient = value_and_grad(lambda theta: ours.loss(theta, *data))(theta)
            return value, gradient

        inputs = [qml.Tensor(case.parameters(0)), *self.data]
        program = Program.trace(step, *[(x.shape, x.dtype) for x in inputs])
        self.runtime = Runtime(["cpu"])
        self.prepared = self.runtime.prepare(program, inputs)

    def __call__(self, parameters: RealArray) -> tuple[float, RealArray]:
        """Return the loss and its gradient ``(P,)``."""
        inputs = [qml.Tensor(parameters), *self.data]
        value, gradient = self.runtime.run_prepared(self.prepared, inputs)
        return value.item(), gradient.numpy()


def build(case: Case) -> PreparedStep:
    """Build a case."""
    return PreparedStep(case)
