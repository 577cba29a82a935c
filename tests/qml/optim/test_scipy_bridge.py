from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from optimizers import Problem, energy, parabola, rosenbrock

import qml
from autodiff import C64, F32, Parameter, ParameterError, Tensor
from qml.errors import SettingError
from qml.optim.scipy_bridge import GRADIENT_FREE

GRADIENT_BASED = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"]


def closure_of(problem: Problem) -> Callable[[], Tensor]:
    def closure() -> Tensor:
        for parameter in problem.parameters:
            parameter.zero_grad()
        loss = problem.loss()
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("method", GRADIENT_BASED)
def test_methods_with_derivatives_find_the_minimum(method: str) -> None:
    problem = rosenbrock()
    limit = {"maxfun" if method == "TNC" else "maxiter": 300}
    qml.minimize(closure_of(problem), problem.parameters, method, options=limit)
    assert [p.item() for p in problem.parameters] == pytest.approx([1, 1], abs=1e-3)


@pytest.mark.parametrize("method", GRADIENT_FREE)
def test_methods_without_derivatives_find_the_minimum(method: str) -> None:
    problem = energy()
    qml.minimize(problem.loss, problem.parameters, method, tol=1e-6)
    assert problem.loss().item() == pytest.approx(-2, abs=1e-3)


def test_result_is_scipys_and_the_gradient_ours() -> None:
    """SciPy, called by hand with a gradient worked out by hand, takes the same path."""
    from scipy import optimize

    seen: list[list[float]] = []
    problem = rosenbrock()
    ours = qml.minimize(
        closure_of(problem),
        problem.parameters,
        "BFGS",
        callback=lambda intermediate_result: seen.append(intermediate_result.x.tolist()),
    )

    def by_hand(v: Sequence[float]) -> tuple[float, np.ndarray]:
        x, y = v
        inner = y - x**2
        slopes = np.array([-2 * (1 - x) - 400 * x * inner, 200 * inner])
        return (1 - x) ** 2 + 100 * inner**2, slopes

    wanted: list[list[float]] = []
    theirs = optimize.minimize(
        by_hand,
        [0.0, 0.5],
        jac=True,
        method="BFGS",
        callback=lambda intermediate_result: wanted.append(intermediate_result.x.tolist()),
    )
    np.testing.assert_allclose(seen[:20], wanted[:20], rtol=0, atol=1e-9)
    assert ours.success
    assert ours.nfev == theirs.nfev
    assert ours.x.tolist() == [p.item() for p in problem.parameters]


def test_complex_single_precision_and_frozen_parameters() -> None:
    z, s, still = Parameter([0j, 1j], dtype=C64), Parameter(0.0, dtype=F32), Parameter(5.0)
    still.freeze()
    problem = parabola(z, s, still, target=2.0)
    result = qml.minimize(closure_of(problem), problem.parameters)
    assert result.x.shape == (5,)
    np.testing.assert_allclose(z.numpy(), [2.0, 2.0], rtol=1e-4, atol=1e-4)
    assert (z.dtype, s.dtype, still.item()) == (C64, F32, 5.0)


def test_closure_that_raises_leaves_the_parameters_where_they_were() -> None:
    problem, calls = rosenbrock(), []
    closure = closure_of(problem)

    def broken() -> Tensor:
        calls.append(1)
        if len(calls) == 4:
            raise ZeroDivisionError
        return closure()

    with pytest.raises(ZeroDivisionError):
        qml.minimize(broken, problem.parameters)
    assert [p.item() for p in problem.parameters] == [0.0, 0.5]


def test_bounds_reach_scipy() -> None:
    p = Parameter([0.0, 0.0])
    qml.minimize(closure_of(parabola(p)), [p], bounds=[(-1, 1), (-3, 3)])
    assert p.tolist() == pytest.approx([1.0, 2.0])


def test_what_the_bridge_cannot_do_is_refused() -> None:
    problem = rosenbrock()
    closure = closure_of(problem)
    with pytest.raises(SettingError, match="minimize needs a closure"):
        qml.minimize(None, problem.parameters)
    with pytest.raises(SettingError, match=r"no \['fun', 'jac', 'x0'\], .* and \['jac'\]"):
        qml.minimize(closure, problem.parameters, jac=None)
    with pytest.raises(SettingError, match="needs the name of a method"):
        qml.minimize(closure, problem.parameters, method=print)
    with pytest.raises(ParameterError, match="minimize needs at least one Parameter"):
        qml.minimize(closure, [])
    for parameter in problem.parameters:
        parameter.freeze()
    with pytest.raises(SettingError, match="needs a trainable Parameter"):
        qml.minimize(closure, problem.parameters)
