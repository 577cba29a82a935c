"""Circuit.jacobian, and autodiff.jacobian through circuits: one engine call each way, any rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from counting import CountingEngine
from peak_memory import memory_of
from programs import random_hermitian, random_state, random_unitary
from scipy.sparse import csr_array

import autodiff as ad
from autodiff import GradientError, Parameter, Tensor, jacobian, local_graph_mode, transforms
from circuits import (
    Circuit,
    Hermitian,
    Input,
    Projector,
    SparseHermitian,
    X,
    Z,
    expectation,
    statevector,
)
from circuits.engines.registry import get_engine
from circuits.errors import BindingError
from circuits.plan import memory

every_engine = pytest.mark.parametrize("engine", ["reference", "numba"])
every_batch = pytest.mark.parametrize("batch", [None, 1, 5])

RNG = np.random.default_rng(11)
OBSERVABLES = [
    Z(0),
    X(1) @ Z(2) + 0.5 * Z(1),
    Projector("101"),
    Hermitian(random_hermitian(RNG, 4), [2, 0]),
    SparseHermitian(csr_array(random_hermitian(RNG, 8))),
]
UNITARY = random_unitary(RNG, 4)


def ansatz(p: Parameter, x: Input, matrix: Any = UNITARY) -> Circuit:
    circuit = Circuit(3).h(0).ry(p[0], 1).crx(2 * p[1] + x[0], 0, 2).u(p[2], p[0], x[1], 0)
    circuit.rzz(p[1] * p[2], 0, 1).unitary(matrix, [2, 1])
    return circuit.xx_plus_yy(p[3], x[0], 1, 2).p(p[3], 2).cx(2, 0)


def drawn(batch: int | None, *shape: int) -> Any:
    return np.random.default_rng(2).normal(size=(*(() if batch is None else (batch,)), *shape))


def rows_of(out: Tensor, leaves: list[Tensor]) -> list[Any]:
    """Jacobians by one backward pass an element, in a loop."""
    flat = out.reshape((-1,))
    found = [
        [g.numpy() for g in ad.grad(flat[k], leaves, retain_graph=True)]
        for k in range(flat.numel())
    ]
    return [
        np.stack(rows).reshape(out.shape + x.shape)
        for rows, x in zip(zip(*found, strict=True), leaves, strict=True)
    ]


# -- Circuit.jacobian ------------------------------------------------------------------------------


@every_engine
@every_batch
@pytest.mark.parametrize("given", [None, "shared", "batched"])
def test_rows_are_gradients_by_each_samples_values(
    given: str | None, batch: int | None, engine: str
) -> None:
    circuit = ansatz(Parameter(drawn(None, 4)), Input("x", 2))
    data = drawn(batch, 2)
    values = None if given is None else drawn(batch if given == "batched" else None, 4) + 0.1
    counting = CountingEngine(get_engine(engine))
    options: dict[str, Any] = {"inputs": {"x": data}, "values": values}
    found = circuit.jacobian(OBSERVABLES, engine=counting, **options)
    assert counting.calls == {"forward": 1, "reverse": 1}
    assert found.shape == (*(() if batch is None else (batch,)), 5, 4)
    assert not found.requires_grad
    table = drawn(None, 4) if values is None else values
    for b in range(batch or 1):
        own = table[b] if table.ndim == 2 else table
        leaf = Tensor(own, requires_grad=True)
        sample = data if batch is None else data[b]
        out = circuit.expectation(OBSERVABLES, inputs={"x": sample}, values=leaf, engine=engine)
        (expected,) = rows_of(out, [leaf])
        got = found.numpy() if batch is None else found.numpy()[b]
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)


@every_engine
@every_batch
def test_one_observable_has_no_axis(batch: int | None, engine: str) -> None:
    circuit = ansatz(Parameter(drawn(None, 4)), Input("x", 2))
    options: dict[str, Any] = {"inputs": {"x": drawn(batch, 2)}, "engine": engine}
    one, several = circuit.jacobian(Z(0), **options), circuit.jacobian([Z(0)], **options)
    assert one.shape == (*(() if batch is None else (batch,)), 4)
    np.testing.assert_allclose(several.numpy()[..., 0, :], one.numpy(), rtol=0, atol=1e-15)


def test_batch_of_initial_states_counts() -> None:
    circuit = Circuit(2).ry(Parameter(0.3), 0).cx(0, 1).rx(Parameter(0.4), 1)
    start = random_state(np.random.default_rng(0), 3, 4)
    found = circuit.jacobian([Z(0), X(1)], initial_state=start, engine="reference").numpy()
    for b in range(3):
        one = circuit.jacobian([Z(0), X(1)], initial_state=start[b], engine="reference")
        np.testing.assert_allclose(found[b], one.numpy(), rtol=0, atol=1e-14)


@pytest.mark.parametrize("engine", ["reference", "numba"])
def test_parameters_that_no_gate_reads_have_zeros_for_every_state(engine: str) -> None:
    circuit = Circuit(2).register(Parameter(0.3)).h(0)
    start = random_state(np.random.default_rng(0), 3, 4)
    found = circuit.jacobian([Z(0), X(1)], initial_state=start, engine=engine)
    np.testing.assert_array_equal(found.numpy(), np.zeros((3, 2, 1)))


def test_several_parameters_and_whole_numbers_as_values() -> None:
    circuit = Circuit(1).rx(Parameter(0.1), 0).ry(Parameter([0.2, 0.3])[1], 0)
    found = circuit.jacobian(Z(0), values=[1, 2, 3], engine="reference")
    expected = [-np.sin(1) * np.cos(3), 0, -np.cos(1) * np.sin(3)]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-14)


def test_no_gradient_is_touched_and_grad_mode_does_not_matter() -> None:
    p = Parameter(0.3)
    circuit = Circuit(1).rx(p, 0)
    with ad.no_grad():
        found = circuit.jacobian(Z(0), engine="reference")
    assert found.tolist() == pytest.approx([-np.sin(0.3)])
    assert p.grad is None


def test_bad_calls_are_refused() -> None:
    circuit = Circuit(1).rx(Parameter(0.3, name="t"), 0)
    with pytest.raises(GradientError, match="a circuit with Parameters, got none"):
        Circuit(1).x(0).jacobian(Z(0))
    with pytest.raises(BindingError, match=r"values of shape \(P,\) or \(B, P\), got a mapping"):
        circuit.jacobian(Z(0), values={"t": 0.1})
    with pytest.raises(GradientError, match="an exact expectation, got an estimate from shots"):
        circuit.jacobian(Z(0), shots=10, seed=0, engine="reference")


# -- autodiff.jacobian -----------------------------------------------------------------------------


@every_engine
@every_batch
def test_jacobian_by_everything_at_once(batch: int | None, engine: str) -> None:
    """Parameters, inputs, an initial state, a matrix and coefficients, all rows in one sweep."""
    p, c = Parameter(drawn(None, 4)), Parameter(0.7)
    x, matrix = Tensor(drawn(batch, 2)), Tensor(UNITARY)
    start = Tensor(random_state(np.random.default_rng(4), 1, 8)[0])
    leaves = [p, x, start, matrix, c]
    counting = CountingEngine(get_engine(engine))

    def fn(p: Tensor, x: Tensor, start: Tensor, matrix: Tensor, c: Tensor, engine: Any) -> Tensor:
        circuit = ansatz(p, Input("x", 2), matrix)
        observables = [c * OBSERVABLES[1] + OBSERVABLES[0], *OBSERVABLES[2:]]
        values = circuit.expectation(
            observables, inputs={"x": x}, initial_state=start, engine=engine
        )
        return values * values

    found = jacobian(fn, *leaves, counting)
    assert counting.calls == {"forward": 1, "reverse": 1}
    given = [leaf if leaf is p or leaf is c else leaf._variable() for leaf in leaves]
    for got, wanted in zip(found, rows_of(fn(*given, engine), given), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=0, atol=1e-12)


@every_engine
@every_batch
@pytest.mark.parametrize("angles_batched", [True, False])
def test_jacobian_of_amplitudes_and_of_values_in_a_state(
    angles_batched: bool, batch: int | None, engine: str
) -> None:
    """Rows of state cotangents: evolve, expect, and an observable applied to a state."""
    values = Tensor(drawn(batch if angles_batched else None, 4))
    circuit = ansatz(Parameter(np.zeros(4)), Input("x", 2))
    data = drawn(batch, 2)

    def state(values: Tensor) -> Tensor:
        return statevector(circuit, inputs={"x": data}, values=values, engine=engine)

    def amplitudes(values: Tensor) -> Tensor:
        return state(values).imag

    def measured(values: Tensor) -> Tensor:
        return expectation(state(values), OBSERVABLES, engine=engine)

    def variances(values: Tensor) -> Tensor:
        found = circuit.variance(X(1), inputs={"x": data}, values=values, engine=engine)
        return found * np.array([1.0, 2.0]) if batch is None else found

    for fn in (amplitudes, measured, variances):
        found = jacobian(fn, values)
        leaf = values._variable()
        (wanted,) = rows_of(fn(leaf), [leaf])
        np.testing.assert_allclose(found.numpy(), wanted, rtol=0, atol=1e-12)
        assert transforms._pullback(fn(leaf), (leaf,)) is not None


@every_engine
def test_rows_of_recomputed_states(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    circuit = ansatz(Parameter(drawn(None, 4)), Input("x", 2))
    options: dict[str, Any] = {"inputs": {"x": drawn(7, 2)}}
    start = Tensor(random_state(np.random.default_rng(4), 1, 8)[0])

    def by_start(start: Tensor) -> Tensor:
        return circuit.expectation(OBSERVABLES, initial_state=start, engine=engine, **options)

    expected = circuit.jacobian(OBSERVABLES, engine=engine, **options).numpy()
    expected_by_start = jacobian(by_start, start).numpy()
    monkeypatch.setattr(memory, "UNCHECKED", 0)
    monkeypatch.setattr(memory, "available_memory", lambda: 4 * 3 * (16 << 3))
    counting = CountingEngine(get_engine(engine))
    found = circuit.jacobian(OBSERVABLES, engine=counting, **options).numpy()
    assert counting.calls == {"forward": 6, "reverse": 3}
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13)
    by_start_found = jacobian(by_start, start).numpy()
    np.testing.assert_allclose(by_start_found, expected_by_start, rtol=0, atol=1e-13)


@pytest.mark.parametrize("graph", [False, True])
def test_jacobian_on_a_device(graph: bool) -> None:
    expected = None
    for device in ("cpu", "emulated"):
        p = Parameter(Tensor(0.4, device=device))
        circuit = Circuit(2).h(0).rx(p, 0).cx(0, 1).ry(2 * p, 1)
        with local_graph_mode(graph):
            found = jacobian(
                lambda p, qc=circuit: qc.expectation([Z(0), X(1)] * 2, engine="reference"), p
            )
            whole = circuit.jacobian([Z(0), X(1)], engine="reference")
        assert (found.device, whole.device) == (device, device)
        expected = expected or (found.tolist(), whole.tolist())
        assert (found.tolist(), whole.tolist()) == expected


@pytest.mark.parametrize(("n", "batch"), [(17, None), (14, 3), (11, 8)])
def test_memory_of_a_jacobian_is_below_k_and_two_states(n: int, batch: int | None) -> None:
    """K rows share the final states: the start, those, and psi and lambda of the row at work."""
    count, samples = 6, batch or 1
    peak = memory_of("jacobian", n, batch, count, workspace=False).peak
    # psi and lambda lie in the workspace, which is kept from call to call: two states.
    states = peak / (16 << n) + 2
    assert states < samples + 3.5
    assert samples + 3.5 < samples * (count + 2)
