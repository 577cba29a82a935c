"""The rules that refuse, seen from the transforms that ask for second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autodiff as ad
from autodiff import GradientError, Parameter, Tensor
from circuits import Circuit, Z

CIRCUIT = Circuit(1).rx(Parameter(0.0), 0).ry(Parameter(0.0), 0)


def energy(t: Tensor) -> Tensor:
    return CIRCUIT.expectation(Z(0), values=t, engine="reference")


POINT = Tensor([0.3, 0.4])


@pytest.mark.parametrize(
    "second", [lambda: ad.hessian(energy, POINT), lambda: ad.hvp(energy, (POINT,), (POINT,))]
)
def test_hessians_through_a_circuit_are_refused(second: Callable[[], Any]) -> None:
    with pytest.raises(GradientError, match="Take central differences of the first gradient"):
        second()


def test_first_derivatives_by_every_transform() -> None:
    expected = [-np.sin(0.3) * np.cos(0.4), -np.cos(0.3) * np.sin(0.4)]
    value, gradient = ad.value_and_grad(energy)(POINT)
    assert value.item() == pytest.approx(np.cos(0.3) * np.cos(0.4))
    np.testing.assert_allclose(gradient.numpy(), expected)
    np.testing.assert_allclose(ad.jacobian(energy, POINT).numpy(), expected)
    _, pullback = ad.vjp(energy, POINT)
    np.testing.assert_allclose(pullback(Tensor(2.0)).numpy(), np.multiply(2, expected))
    ad.gradcheck(energy, POINT)


def test_second_derivatives_beside_a_circuit_work() -> None:
    x = Tensor(0.5, requires_grad=True)
    y = x**3 + Circuit(1).rx(0.3, 0).expectation(Z(0), engine="reference")
    first = ad.grad(y, x, create_graph=True)
    assert isinstance(first, Tensor)
    second = ad.grad(first, x)
    assert isinstance(second, Tensor)
    assert second.item() == pytest.approx(3.0)
