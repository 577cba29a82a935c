"""The natural gradient: steps that are short in the space of states, not of angles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from autodiff import Parameter
from circuits import Circuit
from circuits.engines.base import Engine
from qml.optim.base import Closure, Optimizer, StepCounts, loss_of
from qml.optim.circuit_angles import checked_circuit
from qml.optim.metric import checked_approximation, metric_tensor
from qml.optim.real_vector import RealVector
from qml.settings import Check, above, real

# Any in this file: settings, state and inputs, as in ``base`` and in Circuit's methods.


class QuantumNaturalGradient(Optimizer):
    """Gradient descent with the Fubini-Study metric g of the circuit's state.

        (g + regularization 1) d = gradient,    p <- p - lr d

    g is exact: see ``metric_tensor``. It is solved for the trainable Parameters that have a
    gradient. PyTorch has no such optimizer. One step costs P evolutions of the circuit beside the
    gradient, and the solution of P linear equations on the host.

    Args:
        params: Parameters of the circuit; see ``Optimizer``.
        circuit: whose state they are Parameters of.
        lr: learning rate, at least 0.
        approximation: ``"full"``, ``"block-diagonal"`` (layer by layer) or ``"diagonal"``.
        regularization: above 0, in units of g, which is at most 1/4 for a rotation. g is singular
            where Parameters do the same, or nothing.
        inputs: features by Input name, ``(size,)`` each.
        engine: that the metric is computed with; see ``Circuit.expectation``.

    Raises:
        ParameterError: no Parameters, one of them twice, or one that is not the circuit's.
        SettingError: no circuit, or a setting outside its range.

    Example:
        >>> from circuits import Z
        >>> p = Parameter(0.3)
        >>> circuit = Circuit(1).ry(p, 0)
        >>> circuit.expectation(Z(0)).backward()
        >>> optimizer = QuantumNaturalGradient([p], circuit, lr=0.1, regularization=1e-9)
        >>> optimizer.step().updated, round(p.item(), 6)  # 0.3 + 0.1 sin(0.3) / (1/4)
        (1, 0.418208)

    Reference:
        Stokes, Izaac, Killoran, Carleo (2020), arXiv:1909.02108.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": real(0.0),
        "approximation": checked_approximation,
        "regularization": above(0.0),
    }

    def __init__(
        self,
        params: Iterable[Parameter],
        circuit: Circuit,
        lr: float = 1e-2,
        approximation: str = "full",
        regularization: float = 1e-3,
        *,
        inputs: Mapping[str, Any] | None = None,
        engine: str | Engine | None = None,
    ) -> None:
        settings = {"lr": lr, "approximation": approximation, "regularization": regularization}
        super().__init__(params, settings)
        checked_circuit("QuantumNaturalGradient", circuit, self.parameters)
        self._circuit, self._inputs, self._engine = circuit, inputs, engine

    def step(self, closure: Closure | None = None) -> StepCounts:
        """Update every trainable Parameter that has a gradient.

        Args:
            closure: clears the gradients, computes the loss, calls backward and returns the loss;
                called once, before the update.

        Returns:
            How many Parameters were updated and skipped, and the closure's loss.
        """
        loss = loss_of(closure)
        moving = [p for p in self.parameters if p.trainable and p.grad is not None]
        if moving:
            vector = RealVector(moving)
            values, gradient = vector.values(), vector.gradients()
            metric = self._metric(moving)
            metric[np.diag_indices(vector.size)] += self._settings["regularization"]
            vector.set_values(values - self.lr * np.linalg.solve(metric, gradient))
        frozen = sum(not p.trainable for p in self.parameters)
        still = len(self.parameters) - frozen - len(moving)
        return StepCounts(len(moving), frozen, still, loss)

    def _metric(self, moving: list[Parameter]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The metric of some Parameters, in their order."""
        metric = metric_tensor(
            self._circuit,
            self._settings["approximation"],
            inputs=self._inputs,
            engine=self._engine,
        )
        places: dict[int, range] = {}
        start = 0
        for p in self._circuit.parameters():
            places[id(p._meta)] = range(start, start + p.numel())
            start += p.numel()
        chosen = [place for p in moving for place in places[id(p._meta)]]
        return metric[np.ix_(chosen, chosen)]
