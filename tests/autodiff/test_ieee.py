"""Ops follow IEEE 754 and say nothing: warnings are errors in tests, so a leak fails here."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from autodiff import F32, Parameter, Tensor, grad, where
from autodiff.ieee import SILENT, silenced, silent

CASES: dict[str, tuple[Callable[[Tensor], Tensor], list[float], list[float]]] = {
    "log": (lambda x: x.log(), [-np.inf, 0.0, np.nan], [np.inf, 1.0, -1.0]),
    "log2": (lambda x: x.log2(), [-np.inf, 0.0, np.nan], [np.inf, 1 / np.log(2), -1 / np.log(2)]),
    "sqrt": (lambda x: x.sqrt(), [0.0, 1.0, np.nan], [np.inf, 0.5, np.nan]),
    "divide": (lambda x: 1 / x, [np.inf, 1.0, -1.0], [-np.inf, -1.0, -1.0]),
    "zero by zero": (lambda x: x / (x - x), [np.nan, np.inf, -np.inf], [np.nan] * 3),
    "where": (lambda x: where(x > 0, x.sqrt(), x), [0.0, 1.0, -1.0], [np.nan, 0.5, np.nan]),
    "overflow": (lambda x: (x * 1e200) ** 2, [0.0, np.inf, np.inf], [0.0, np.inf, -np.inf]),
    "sum": (lambda x: (x * 1e308 * 10).sum() + 0 * x, [np.nan] * 3, [np.inf] * 3),
}


@pytest.mark.parametrize("device", ["cpu", "emulated"])
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient_are_those_of_ieee(name: str, device: str) -> None:
    function, value, gradient = CASES[name]
    x = Tensor([0.0, 1.0, -1.0], device=device, requires_grad=True)
    y = function(x)
    np.testing.assert_allclose(y.numpy(), value)
    np.testing.assert_allclose(grad(y.sum(), x).numpy(), gradient)


def test_power_of_a_negative_base() -> None:
    x, p = Parameter(-2.0), Parameter(1.5)
    y = x**p
    assert np.isnan(y.item())
    assert all(np.isnan(g.item()) for g in grad(y, [x, p]))


def test_narrowing_overflows_to_infinity() -> None:
    assert Tensor(1e300).astype(F32).item() == np.inf


def test_other_code_is_warned_as_before() -> None:
    Tensor(0.0).log()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.log(np.zeros(1))


def test_threads_are_silent_at_the_same_time() -> None:
    inside = threading.Barrier(2)
    found: list[float] = []

    def forward(xp: object, x: np.ndarray) -> np.ndarray:
        inside.wait(10)
        return np.log(x)

    def work() -> None:
        with warnings.catch_warnings():
            found.append(float(silent(forward, 1)(np, np.zeros(1))[0]))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [-np.inf] * 2


@pytest.mark.parametrize("operands", [1, 2, None])
def test_silent_forward_says_what_it_is_made_of(operands: int | None) -> None:
    def forward(xp: object, *arrays: np.ndarray) -> np.ndarray:
        return np.log(arrays[0])

    made = silent(forward, operands)
    assert (silenced(made), silenced(forward)) == (forward, None)
    given = (np, *[np.zeros(1)] * (operands or 3))
    assert made(*given) == SILENT.copy().run(forward, *given) == -np.inf
