"""evolve, expect and their fused composition: gradients of everything, engine calls, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dense
import numpy as np
import pytest
from counting import CountingEngine
from differences import central
from numpy.typing import NDArray
from programs import random_hermitian, random_state, random_unitary
from random_circuits import random_case

import autodiff as ad
from autodiff import Parameter, Tensor, no_grad
from circuits import (
    Circuit,
    Hermitian,
    Input,
    PauliSum,
    Projector,
    X,
    Z,
    expectation,
    fidelity,
    overlap,
    statevector,
)
from circuits.engines.registry import get_engine
from circuits.run_methods import variance_of

ENGINES = ("reference", "numba")
every_engine = pytest.mark.parametrize("engine", ENGINES)
Loss = Callable[..., Tensor]


def ansatz(p: Parameter, x: Input) -> Circuit:
    circuit = Circuit(3).h(0).ry(p[0], 1).crx(2 * p[1] + x[0], 0, 2).u(p[2], p[0], x[1], 0)
    return circuit.rzz(p[1] * p[2], 0, 1).xx_plus_yy(p[3], x[0], 1, 2).p(p[3], 2).cx(2, 0)


# -- any cotangent ---------------------------------------------------------------------------------

OTHER = random_state(np.random.default_rng(7), 1, 8)[0]
LOSSES: list[Loss] = [
    lambda c, **o: (c.probabilities(**o) * np.arange(8.0)).sum(),
    lambda c, **o: ad.log(c.probabilities([2, 0], **o)).sum(),
    lambda c, **o: (c.marginal([1], **o) ** 3).sum(),
    lambda c, **o: fidelity(c.statevector(**o), Tensor(OTHER)).sum(),
    lambda c, **o: ad.angle(overlap(Tensor(OTHER), c.statevector(**o))).sum(),
    lambda c, **o: (c.purity([0], **o) + c.purity([1, 2], **o)).sum(),
    lambda c, **o: c.entropy([0], **o).sum(),
    lambda c, **o: (c.bloch_vector(1, **o) * np.array([1.0, 2.0, 3.0])).sum(),
    lambda c, **o: (ad.abs(c.density_matrix([2, 1], **o)) ** 3).sum(),
    lambda c, **o: (c.statevector(**o) ** 3).real.sum(),
    lambda c, **o: (ad.sin(c.statevector(**o).imag) * c.statevector(**o).real).sum(),
    lambda c, **o: c.variance(PauliSum({"ZXI": 0.5, "IYZ": 1.0}), **o).sum(),
    lambda c, **o: ad.exp(c.expectation([Z(0), X(1) @ Z(2)], **o)).sum(),
]


@every_engine
@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_reach_parameters_and_inputs(loss: Loss, batch: int | None, engine: str) -> None:
    rng = np.random.default_rng(0)
    p, x = Parameter(rng.normal(size=4)), Input("x", 2)
    data = Tensor(rng.normal(size=(2,) if batch is None else (batch, 2)), requires_grad=True)
    circuit = ansatz(p, x)
    options: dict[str, Any] = {"engine": engine}
    loss(circuit, inputs={"x": data}, **options).backward()
    assert p.grad is not None
    assert data.grad is not None

    def by_values(values: NDArray[Any]) -> float:
        return float(loss(circuit, inputs={"x": data.numpy()}, values=values, **options))

    def by_inputs(given: NDArray[Any]) -> float:
        return float(loss(circuit, inputs={"x": given}, **options))

    with no_grad():
        np.testing.assert_allclose(
            p.grad.numpy(), central(by_values, p.numpy()), rtol=1e-8, atol=1e-8
        )
        np.testing.assert_allclose(
            data.grad.numpy(), central(by_inputs, data.numpy()), rtol=1e-8, atol=1e-8
        )


HERMITIAN = Hermitian(random_hermitian(np.random.default_rng(1), 4), [2, 0])


@every_engine
@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize(
    "loss",
    [
        lambda c, **o: c.expectation([Z(0), X(1)], **o).sum(),
        lambda c, **o: (c.statevector(**o) ** 3).real.sum(),
        # not c.variance, which refuses the amplitudes of a difference quotient: their norm is not 1
        lambda c, **o: variance_of(c.statevector(**o), HERMITIAN, get_engine(o["engine"])).sum(),
    ],
)
def test_gradient_of_initial_states(loss: Loss, batch: int | None, engine: str) -> None:
    rng = np.random.default_rng(0)
    given = random_state(rng, batch or 1, 8)
    start = Tensor(given if batch else given[0], requires_grad=True)
    circuit = ansatz(Parameter(rng.normal(size=4)), Input("x", 2))
    inputs = {"x": [0.3, 0.4]}
    loss(circuit, initial_state=start, inputs=inputs, engine=engine).backward()
    assert start.grad is not None

    def value(state: NDArray[Any]) -> float:
        return float(loss(circuit, initial_state=state, inputs=inputs, engine=engine))

    with no_grad():
        numeric = central(value, start.numpy())
    np.testing.assert_allclose(start.grad.numpy(), numeric, rtol=0, atol=1e-10)


RNG = np.random.default_rng


@every_engine
def test_gradient_of_matrix_entries(engine: str) -> None:
    """As plain entries: against the value, which is defined for any matrix, of dense algebra."""
    rng = RNG(3)
    u, v = Parameter(random_unitary(rng, 4)), Tensor(random_unitary(rng, 2), requires_grad=True)
    circuit = Circuit(3).h([0, 1, 2]).unitary(u, [2, 0]).ry(0.3, 1).unitary(v, 1)
    circuit.unitary(u, [0, 1], controls=2, ctrl_state=0).cx(0, 1).compose(
        Circuit(3).unitary(v, 2).inverse()
    )
    observable = PauliSum({"ZXI": 0.5, "IYZ": 1.0, "XXX": -0.3})
    circuit.expectation(observable, engine=engine).backward()
    assert u.grad is not None
    assert v.grad is not None
    assert (u.grad.dtype, u.grad.shape) == (np.complex128, (4, 4))
    matrix = observable.matrix(3)

    def dense_value(first: NDArray[Any], second: NDArray[Any]) -> float:
        psi = np.ones(8) / np.sqrt(8)
        turn = np.array([[np.cos(0.15), -np.sin(0.15)], [np.sin(0.15), np.cos(0.15)]])
        cx = dense.embed(np.array([[0, 1], [1, 0]]), [1], 3, [0], 1)
        for full in (
            dense.embed(first, [2, 0], 3),
            dense.embed(turn, [1], 3),
            dense.embed(second, [1], 3),
            dense.embed(first, [0, 1], 3, [2], 0),
            cx,
            dense.embed(second.conj().T, [2], 3),
        ):
            psi = full @ psi
        return float(np.vdot(psi, matrix @ psi).real)

    by_u = central(lambda m: dense_value(m, v.numpy()), u.numpy())
    by_v = central(lambda m: dense_value(u.numpy(), m), v.numpy())
    np.testing.assert_allclose(u.grad.numpy(), by_u, rtol=0, atol=1e-10)
    np.testing.assert_allclose(v.grad.numpy(), by_v, rtol=0, atol=1e-10)


@every_engine
def test_gradient_of_a_matrix_along_unitary_directions(engine: str) -> None:
    """U(t) = exp(-i t G) U: the chain rule through matrix functions of tensors."""
    generator = random_hermitian(RNG(1), 2)
    fixed = random_unitary(RNG(2), 2)
    t = Parameter(0.4)

    def circuit(angle: Any) -> Circuit:
        return Circuit(2).h(0).unitary(ad.expm(-1j * angle * generator) @ fixed, 1).cx(1, 0)

    circuit(t).expectation(X(0) @ Z(1), engine=engine).backward()
    values, vectors = np.linalg.eigh(generator)

    def value(angle: NDArray[Any]) -> float:
        turn = vectors * np.exp(-1j * angle * values) @ vectors.conj().T
        made = Circuit(2).h(0).unitary(turn @ fixed, 1).cx(1, 0)
        return float(made.expectation(X(0) @ Z(1), engine=engine))

    assert t.grad is not None
    assert t.grad.item() == pytest.approx(central(value, np.array(0.4)).item(), abs=1e-11)


@every_engine
def test_gradient_of_coefficients(engine: str) -> None:
    c, d = Parameter(0.7, name="c"), Parameter([0.2])
    circuit = Circuit(2).ry(0.4, 0).cx(0, 1).rx(0.3, 1)
    observables = [c * Z(0) + 2 * (d[0] * X(1)), (c * d[0]) * Z(1), Z(0)]
    e = circuit.expectation(observables, engine=engine)
    (e * np.array([1.0, 2.0, 3.0])).sum().backward()
    with no_grad():
        z0, x1, z1 = circuit.expectation([Z(0), X(1), Z(1)], engine=engine).tolist()
    assert e.tolist() == pytest.approx([0.7 * z0 + 0.4 * x1, 0.14 * z1, z0])
    assert c.grad is not None
    assert d.grad is not None
    assert c.grad.item() == pytest.approx(z0 + 2 * 0.2 * z1)
    assert d.grad.tolist() == pytest.approx([2 * x1 + 2 * 0.7 * z1])


# -- the fused op ----------------------------------------------------------------------------------


@every_engine
@pytest.mark.parametrize("seed", range(24))
def test_fused_expectation_is_evolve_then_expect(seed: int, engine: str) -> None:
    case = random_case(seed)
    results = []
    for fused in (True, False):
        given = None if case.inputs is None else Tensor(case.inputs, requires_grad=True)
        options: dict[str, Any] = {"inputs": None if given is None else {"x": given}}
        for p in case.parameters:
            p.zero_grad()
        if fused:
            values = case.circuit.expectation(case.observables, engine=engine, **options)
        else:
            state = statevector(case.circuit, engine=engine, **options)
            values = expectation(state, case.observables, engine=engine)
        (values * values).sum().backward()
        grads = [
            p.grad.numpy() if p.grad is not None else np.zeros(p.shape) for p in case.parameters
        ]
        results.append([values.numpy(), *grads, *([] if given is None else [given.grad.numpy()])])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@every_engine
@pytest.mark.parametrize("batch", [None, 1, 17])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_one_engine_call_each_way(batch: int | None, count: int, engine: str) -> None:
    counting = CountingEngine(get_engine(engine))
    p, x = Parameter([0.1, 0.2, 0.3, 0.4]), Input("x", 2)
    data = np.zeros(2) if batch is None else np.zeros((batch, 2))
    observables = [Z(0), X(1), Projector("101"), Z(0) @ Z(2), Hermitian(np.eye(2), 1)][:count]
    values = ansatz(p, x).expectation(observables, inputs={"x": data}, engine=counting)
    assert values.shape == (*(() if batch is None else (batch,)), count)
    assert counting.calls == {"forward": 1}
    values.sum().backward()
    assert counting.calls == {"forward": 1, "reverse": 1}


@pytest.mark.parametrize("run", ["statevector", "probabilities", "expectation"])
def test_nothing_is_swept_back_without_a_gradient(run: str) -> None:
    counting = CountingEngine(get_engine("reference"))
    circuit = Circuit(1).rx(Parameter(0.1), 0)
    arguments = (Z(0),) if run == "expectation" else ()
    with no_grad():
        result = getattr(circuit, run)(*arguments, engine=counting)
    assert not result.requires_grad
    fixed = getattr(Circuit(1).rx(0.1, 0), run)(*arguments, engine=counting)
    assert not fixed.requires_grad
    assert counting.calls == {"forward": 2}


@pytest.mark.parametrize(
    ("observable", "batch", "shape"),
    [
        (Z(0), None, ()),
        ([Z(0)], None, (1,)),
        ([Z(0), X(1)], None, (2,)),
        (Z(0), 1, (1,)),
        ([Z(0)], 1, (1, 1)),
        (Z(0), 3, (3,)),
        ([Z(0), X(1)], 3, (3, 2)),
        ((Z(0), X(1)), 3, (3, 2)),
    ],
)
def test_shapes(observable: Any, batch: int | None, shape: tuple[int, ...]) -> None:
    circuit = Circuit(2).rx(Input("x", 1)[0], 0)
    data = np.zeros(1) if batch is None else np.zeros((batch, 1))
    values = circuit.expectation(observable, inputs={"x": data}, engine="reference")
    assert values.shape == shape
    assert circuit.statevector(inputs={"x": data}, engine="reference").shape == (
        *((batch,) if batch else ()),
        4,
    )


def test_no_circuit_op_warns_of_what_is_not_finite() -> None:
    angle, big = Parameter(1e308), Parameter(np.inf)
    circuit = Circuit(1).rx(10 * angle, 0).ry(big, 0)
    value = circuit.expectation(Z(0) + X(0), engine="reference")
    value.backward()
    assert np.isnan(value.item())
    assert np.isnan(circuit.statevector(engine="reference").numpy()).all()
