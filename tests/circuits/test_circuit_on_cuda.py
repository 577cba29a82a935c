"""Every question to a circuit, on ``"cuda"`` as on the CPU; here on a stand-in for CuPy, by g++."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import fake_cupy
import numpy as np
import pytest

from autodiff import Parameter, stats
from circuits import Circuit, Hermitian, Projector, X, Y, Z, fidelity

# Any in this file: Tensors, or arrays of samples.

HERMITIAN = Hermitian(np.array([[1, 1j], [-1j, 2]]), [1])


@pytest.fixture(autouse=True)
def _cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cupy.install(monkeypatch)


def circuit() -> Circuit:
    t = Parameter(0.3, name="t")
    return Circuit(3).h(0).ry(2 * t, 0).cx(0, 1).rz(t + 0.1, 1).crx(0.4, 0, 2).rx(t * t, 2)


QUESTIONS: dict[str, Callable[[Circuit, dict[str, str]], Any]] = {
    "state": lambda c, on: c.statevector(**on),
    "probabilities": lambda c, on: c.probabilities(**on),
    "marginal": lambda c, on: c.probabilities([2, 0], **on),
    "samples": lambda c, on: c.sample(50, seed=1, **on),
    "expectations": lambda c, on: c.expectation([Z(0), X(1) @ Y(2)], **on),
    "estimate": lambda c, on: c.expectation(Z(0), shots=100, seed=1, **on),
    "Hermitian matrix": lambda c, on: c.expectation(HERMITIAN, **on),
    "projector": lambda c, on: c.expectation(Projector("01", [0, 1]), **on),
    "variance": lambda c, on: c.variance(Z(0) @ X(1), **on),
    "batch": lambda c, on: c.expectation(Z(0), values=np.array([[0.1], [0.2]]), **on),
    "fidelity": lambda c, on: fidelity(c.statevector(**on), c.inverse().statevector(**on)),
    "entropy": lambda c, on: c.entropy([0], **on),
    "unitary": lambda c, on: c.unitary(**on),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_answer_is_that_of_the_cpu(name: str) -> None:
    made = QUESTIONS[name](circuit(), {"device": "cuda"})
    expected = QUESTIONS[name](circuit(), {})
    assert stats("cuda").kernels > 0
    made, expected = (x if isinstance(x, np.ndarray) else x.numpy() for x in (made, expected))
    np.testing.assert_allclose(made, expected, rtol=0, atol=1e-12)


LOSSES: dict[str, Callable[[Circuit, dict[str, str]], Any]] = {
    "expectation": lambda c, on: c.expectation(Z(0) @ X(1), **on),
    "state": lambda c, on: (c.statevector(**on).imag ** 2).sum(),
    "coefficient": lambda c, on: c.expectation(Parameter(0.5, name="c") * Z(2), **on) ** 2,
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_that_of_the_cpu(name: str) -> None:
    gradients = []
    for on in ({"device": "cuda"}, {}):
        asked = circuit()
        LOSSES[name](asked, on).backward()
        (parameter,) = asked.parameters()
        assert parameter.grad is not None
        gradients.append(parameter.grad.numpy())
    np.testing.assert_allclose(*gradients, rtol=1e-11)


def test_large_start_is_made_on_the_device() -> None:
    assert Circuit(15).h(0).expectation(Z(1), device="cuda").item() == 1.0
    assert stats("cuda").upload_bytes < (16 << 15) / 8
