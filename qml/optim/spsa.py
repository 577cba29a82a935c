"""SPSA: two evaluations a step, whatever the number of Parameters, and no gradient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from autodiff import Parameter
from qml.optim.base import Closure, Optimizer, StepCounts, required_closure
from qml.optim.real_vector import RealVector
from qml.settings import Check, above, real, whole
from qml.state_forms import check_form, checked_generator

# Any in this file: settings and state, as in ``base``.


class SPSA(Optimizer):
    """Simultaneous perturbation stochastic approximation, for losses known from shots only.

        c_k = perturbation / (k + 1)^gamma,    a_k = lr / (k + 1 + stability)^alpha
        h = random signs, one an element
        p <- p - a_k (loss(p + c_k h) - loss(p - c_k h)) / (2 c_k) h,    k = 0, 1, ...

    Complex Parameters count as real and imaginary part. PyTorch has no such optimizer; gains and
    their defaults are Spall's.

    Args:
        params: Parameters; see ``Optimizer``.
        lr: a in Spall's words, at least 0.
        seed: of the signs; equal seeds give equal steps.
        perturbation: c, above 0: about the standard deviation of the loss's noise.
        alpha: exponent of the step's gain, at least 0.
        gamma: exponent of the perturbation's, at least 0.
        stability: A, at least 0: about a tenth of the number of steps.

    Raises:
        ParameterError: no Parameters, something else among them, or one of them twice.
        SettingError: a setting outside its range.

    Example:
        >>> p = Parameter(1.0)
        >>> SPSA([p], lr=0.1, seed=0).step(lambda: p * p).updated, round(p.item(), 6)
        (1, 0.8)

    Reference:
        Spall (1998), "Implementation of the simultaneous perturbation algorithm for stochastic
        optimization", IEEE Transactions on Aerospace and Electronic Systems 34, 817.
    """

    checks: ClassVar[Mapping[str, Check]] = {
        "lr": real(0.0),
        "seed": whole(0),
        "perturbation": above(0.0),
        "alpha": real(0.0),
        "gamma": real(0.0),
        "stability": real(0.0),
    }

    def __init__(
        self,
        params: Iterable[Parameter],
        lr: float = 0.2,
        *,
        seed: int,
        perturbation: float = 0.1,
        alpha: float = 0.602,
        gamma: float = 0.101,
        stability: float = 0.0,
    ) -> None:
        settings = {
            "lr": lr,
            "seed": seed,
            "perturbation": perturbation,
            "alpha": alpha,
            "gamma": gamma,
            "stability": stability,
        }
        super().__init__(params, settings)
        self._generator = np.random.default_rng(self._settings["seed"])
        self._steps = 0

    def step(self, closure: Closure | None = None) -> StepCounts:
        """Evaluate the loss at two points and move. If the closure raises, nothing is changed.

        Args:
            closure: computes the loss and returns it; called twice, in the caller's grad mode. A
                backward pass in it is not needed and does no harm.

        Returns:
            How many Parameters were updated and skipped, and the mean of the two losses.
        """
        closure = required_closure("SPSA", closure)
        settings, k = self._settings, self._steps
        moving = [p for p in self.parameters if p.trainable]
        vector = RealVector(moving)
        generator_state = self._generator.bit_generator.state
        signs = 2.0 * self._generator.integers(0, 2, vector.size) - 1
        distance = settings["perturbation"] / (k + 1) ** settings["gamma"]
        gain = settings["lr"] / (k + 1 + settings["stability"]) ** settings["alpha"]
        start, finished = vector.values(), False
        try:
            vector.set_values(start + distance * signs)
            above_start = closure().detach()
            vector.set_values(start - distance * signs)
            below_start = closure().detach()
            slope = (above_start - below_start).item() / (2 * distance)
            vector.set_values(start - gain * slope * signs)
            self._steps += 1
            finished = True
        finally:
            if not finished:
                vector.set_values(start)
                self._generator.bit_generator.state = generator_state
        frozen = len(self.parameters) - len(moving)
        return StepCounts(len(moving), frozen, 0, (above_start + below_start) / 2)

    def _state(self) -> dict[str, Any]:
        return {"steps": self._steps, "generator": self._generator.bit_generator.state}

    def _set_state(self, saved: Any) -> None:
        what = "SPSA: the state"
        check_form(what, saved, self._state())
        generator = checked_generator(f"{what}['generator']", saved["generator"], self._generator)
        steps = whole(0)(f"{what}['steps']", saved["steps"])
        self._generator, self._steps = generator, steps
