"""The conformance suite fails engines that are a little wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import conformance
import numpy as np
import pytest
from counting import CountingEngine
from programs import Case

from circuits.engines.base import Gradients
from circuits.engines.reference import ReferenceEngine
from circuits.plan.steps import ComplexArray, Plan, RealArray, Step, Structure

CASE = Case(4, 3, np.complex128, seed=7)


class Altered(ReferenceEngine):
    """The reference engine on altered steps, with altered results."""

    def __init__(
        self,
        step: Callable[[Step], Step] = lambda step: step,
        gradients: Callable[[Gradients], Gradients] = lambda gradients: gradients,
        values: Callable[[Any], Any] = lambda values: values,
    ) -> None:
        self.step, self.gradients, self.values = step, gradients, values

    def _altered(self, plan: Plan) -> Plan:
        return replace(plan, steps=tuple(map(self.step, plan.steps)))

    def forward(
        self, plan: Plan, *args: Any, **kwargs: Any
    ) -> tuple[ComplexArray, RealArray | None]:
        final, values = super().forward(self._altered(plan), *args, **kwargs)
        return final, self.values(values)

    def reverse(self, plan: Plan, *args: Any, **kwargs: Any) -> Gradients:
        return self.gradients(super().reverse(self._altered(plan), *args, **kwargs))


def without_controls(step: Step) -> Step:
    return replace(step, controls=(), control_state=0)


def without_control_state(step: Step) -> Step:
    return replace(step, control_state=(1 << len(step.controls)) - 1)


def with_targets_reversed(step: Step) -> Step:
    return replace(step, targets=step.targets[::-1])


def with_permutation_inverted(step: Step) -> Step:
    if step.structure is not Structure.PERMUTATION:
        return step
    return replace(step, permutation=np.argsort(np.asarray(step.permutation)))


def scaled(name: str) -> Callable[[Gradients], Gradients]:
    """Results with one gradient 0.1 % too large."""

    def alter(gradients: Gradients) -> Gradients:
        array = getattr(gradients, name)
        return gradients if array is None else replace(gradients, **{name: 1.001 * array})

    return alter


def conjugated(gradients: Gradients) -> Gradients:
    matrices = gradients.matrices
    return replace(gradients, matrices=matrices and tuple(m.conj() for m in matrices))


@pytest.mark.parametrize(
    "engine",
    [
        Altered(step=without_controls),
        Altered(step=without_control_state),
        Altered(step=with_targets_reversed),
        Altered(step=with_permutation_inverted),
    ],
)
@pytest.mark.parametrize(
    "check",
    [
        conformance.check_final_state,
        conformance.check_cotangent_gradients,
        conformance.check_measured_gradients,
    ],
)
def test_wrong_steps_are_found(check: Callable[..., None], engine: Altered) -> None:
    with pytest.raises(AssertionError):
        check(engine, CASE)


@pytest.mark.parametrize(
    "alter",
    [scaled("state"), scaled("angles"), scaled("coefficients"), conjugated],
    ids=["state", "angles", "coefficients", "matrices"],
)
def test_wrong_gradients_are_found(alter: Callable[[Gradients], Gradients]) -> None:
    with pytest.raises(AssertionError):
        conformance.check_measured_gradients(Altered(gradients=alter), CASE)


def test_wrong_values_are_found() -> None:
    with pytest.raises(AssertionError):
        conformance.check_values(Altered(values=lambda values: values[:, ::-1]), CASE)


def test_unwanted_gradients_are_found() -> None:
    class Eager(ReferenceEngine):
        def reverse(self, *args: Any, **kwargs: Any) -> Gradients:
            gradients = super().reverse(*args, **kwargs)
            return gradients if gradients.state is not None else replace(gradients, state=args[1])

    with pytest.raises(AssertionError):
        conformance.check_wanted(Eager(), CASE)


def test_counting_engine_counts() -> None:
    engine = CountingEngine(ReferenceEngine())
    conformance.check_measured_gradients(engine, CASE)
    assert engine.calls == {"reverse": 1}
    conformance.check_final_state(engine, CASE)
    assert engine.calls == {"reverse": 1, "forward": 1}
