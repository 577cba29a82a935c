"""Circuits on a device: one launch, moves that are recorded and counted, the CPU's numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from runtimes import emulated

from autodiff import (
    DeviceMismatch,
    OutOfDeviceMemory,
    Parameter,
    Tensor,
    local_graph_mode,
    reset_stats,
    stats,
)
from circuits import CapacityError, Circuit, Input, PauliSum, X, Z, expectation
from circuits.plan.memory import size_text

OBSERVABLES = [PauliSum({"ZZ": 0.5, "IX": 1.0}), Z(0)]
ROWS = np.array([[0.1], [0.7], [-0.4]])


@pytest.fixture(autouse=True)
def fresh_device() -> None:
    emulated().reset()


def circuit(device: str) -> tuple[Circuit, list[Parameter]]:
    theta, phi = (Parameter(Tensor(v, device=device), name=n) for v, n in ((0.3, "t"), (0.5, "p")))
    qc = Circuit(2).h(0).rx(2 * theta + phi, 0).ry(theta, 1).cx(0, 1)
    return qc.rz(Input("x", 1)[0] * phi, 1), [theta, phi]


def run(home: str, device: str | None, graph: bool = False) -> tuple[Any, ...]:
    """Values and gradients of a batch, the device of the result, and what was counted."""
    qc, parameters = circuit(home)
    qc.compiled()
    reset_stats()
    with local_graph_mode(graph):
        e = qc.expectation(OBSERVABLES, inputs={"x": ROWS}, device=device, engine="reference")
        (e * e).sum().backward()
        found = (e.tolist(), [p.grad.tolist() for p in parameters])
    return found, e.device, [p.grad.device for p in parameters], stats("emulated")


def test_result_stays_where_parameters_are_and_equals_the_cpu_to_the_last_bit() -> None:
    here, there = run("cpu", None), run("emulated", None)
    assert there[0] == here[0]
    assert (here[1], there[1]) == ("cpu", "emulated")
    assert there[2] == ["emulated", "emulated"]


@pytest.mark.parametrize("engine", ["reference", "numba"])
def test_a_coefficient_moves_only_where_device_asks_for_it(engine: str) -> None:
    w = Parameter(Tensor(2.0, device="emulated"), name="w")
    qc = Circuit(1).rx(Parameter(0.0), 0)
    reset_stats()
    state = qc.statevector()
    for call in (qc.expectation, lambda o, **_: expectation(state, o)):
        with pytest.raises(
            DeviceMismatch, match=r"coefficients there.*\.to\('cpu'\), or give device="
        ):
            call(w * Z(0), engine=engine)
    with pytest.raises(DeviceMismatch, match="coefficients there"):
        qc.variance(w.detach() * Z(0), engine=engine)
    assert (stats("emulated").uploads, stats("emulated").downloads) == (0, 0)
    moved = qc.expectation(w * Z(0), device="emulated", engine="reference")
    assert (moved.item(), moved.device) == (2.0, "emulated")


def test_device_moves_the_angles_there_and_the_gradient_back() -> None:
    qc, parameters = circuit("cpu")
    values = Tensor(np.array([0.3, 0.5]), requires_grad=True)
    options: dict[str, Any] = {"inputs": {"x": ROWS}, "device": "emulated", "engine": "reference"}
    observable = Z(0)
    qc.expectation(observable, values=values, **options)  # constants are there from now on
    reset_stats()
    e = qc.expectation(observable, values=values, **options)
    assert (e.device, stats("emulated").uploads, stats("emulated").downloads) == ("emulated", 1, 0)
    assert (stats("emulated").upload_bytes, stats("emulated").launches) == (3 * 3 * 8, 1)
    e.sum().backward()
    assert (stats("emulated").uploads, stats("emulated").downloads) == (1, 1)
    assert (values.grad.device, parameters[0].grad) == ("cpu", None)
    assert run("cpu", "emulated")[0] == run("cpu", None)[0]


def test_parameters_on_a_device_can_run_on_the_cpu() -> None:
    found, device, places, counted = run("emulated", "cpu")
    assert (found, device, places) == (run("cpu", None)[0], "cpu", ["emulated", "emulated"])
    assert counted.downloads == 3  # the angles, and the two gradients that the test reads


def test_repeated_run_on_a_device_moves_nothing() -> None:
    qc, _ = circuit("emulated")
    x = Tensor(ROWS, device="emulated")
    qc.expectation(OBSERVABLES, inputs={"x": x}, engine="reference")
    reset_stats()
    qc.expectation(OBSERVABLES, inputs={"x": x}, engine="reference").sum().backward()
    assert (stats("emulated").uploads, stats("emulated").downloads) == (0, 0)


def test_forward_and_backward_are_one_launch_in_graph_mode() -> None:
    found, _, _, counted = run("emulated", None, graph=True)
    assert found == run("emulated", None)[0]
    assert counted.launches == 1


def test_circuit_op_runs_once() -> None:
    run("emulated", None, graph=True)
    names = ("expectation", "expectation_vjp", "assemble_angles", "assemble_angles_vjp")
    # Angles are assembled of leaves and of x[0] * phi, which takes phi from the Parameters.
    assert [emulated().executions[name] for name in names] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("values", "assembled"), [([[0.1, 0.2, 0.3]], 0), ([[0.1], [0.2], [0.3]], 1)]
)
def test_angles_in_order_cost_no_op_of_their_own(values: list[list[float]], assembled: int) -> None:
    owned = [Parameter(Tensor(value, device="emulated")) for value in values]
    qc = Circuit(3)
    for k, angle in enumerate([p[j] for p in owned for j in range(p.numel())]):
        qc.rx(angle, k)
    emulated().reset()
    qc.expectation(Z(0) @ Z(1) @ Z(2), engine="reference").backward()
    names = ("expectation", "expectation_vjp", "assemble_angles", "assemble_angles_vjp")
    assert [emulated().executions[name] for name in names] == [1, 1, assembled, 0]
    found = [x for p in owned if p.grad is not None for x in p.grad.tolist()]
    c, s = np.cos([0.1, 0.2, 0.3]), np.sin([0.1, 0.2, 0.3])
    wanted = [-s[0] * c[1] * c[2], -s[1] * c[0] * c[2], -s[2] * c[0] * c[1]]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


READINGS: dict[str, Callable[[Circuit], Any]] = {
    "statevector": lambda qc: qc.statevector(engine="reference").tolist(),
    "probabilities": lambda qc: qc.probabilities([1], engine="reference").tolist(),
    "sample": lambda qc: qc.sample(7, seed=3, engine="reference").tolist(),
    "counts": lambda qc: qc.counts(50, seed=3, engine="reference"),
    "shots": lambda qc: qc.expectation(X(1), shots=30, seed=3, engine="reference").tolist(),
    "variance": lambda qc: qc.variance(Z(0), engine="reference").tolist(),
    "purity": lambda qc: qc.purity(0, engine="reference").tolist(),
    "entropy": lambda qc: qc.entropy(0, engine="reference").tolist(),
    "bloch_vector": lambda qc: qc.bloch_vector(0, engine="reference").tolist(),
    "density_matrix": lambda qc: qc.density_matrix(1, engine="reference").tolist(),
    "unitary_matrix": lambda qc: qc.unitary_matrix(engine="reference").tolist(),
}


@pytest.mark.parametrize("reading", READINGS)
def test_every_run_method_works_on_a_device(reading: str) -> None:
    found = []
    for device in ("cpu", "emulated"):
        angle = Parameter(Tensor(0.4, device=device))
        qc = Circuit(2).h(0).rx(angle, 0).cx(0, 1).ry(0.2, 1)
        found.append(READINGS[reading](qc))
    assert found[0] == found[1]


@pytest.mark.parametrize("device", [None, "emulated"])
def test_circuit_without_parameters_runs_where_it_is_told(device: str | None) -> None:
    e = Circuit(1).x(0).expectation(Z(0), device=device, engine="reference")
    assert (e.device, e.item()) == (device or "cpu", -1.0)


def test_initial_state_decides_where_nothing_else_does() -> None:
    start = Tensor(np.array([0, 1], complex), device="emulated")
    e = Circuit(1).x(0).expectation(Z(0), initial_state=start, engine="reference")
    assert (e.device, e.item()) == ("emulated", 1.0)


def test_users_tensors_stay_where_they_are() -> None:
    start = Tensor(np.array([0, 1], complex), device="emulated")
    qc = Circuit(1).rx(Parameter(0.2), 0)
    with pytest.raises(DeviceMismatch, match=r"\['cpu', 'emulated'\]"):
        qc.expectation(Z(0), initial_state=start, engine="reference")
    moved = qc.expectation(Z(0), initial_state=start, device="cpu", engine="reference")
    assert moved.device == "cpu"


def test_gradient_of_a_matrix_and_of_coefficients_come_back() -> None:
    matrix = Parameter(np.array([[0, 1], [1, 0]], complex))
    weight = Parameter(0.7)
    qc = Circuit(1).unitary(matrix, 0).ry(0.3, 0)
    e = qc.expectation(weight * Z(0), device="emulated", engine="reference")
    e.backward()
    assert (matrix.grad.device, weight.grad.device) == ("cpu", "cpu")
    matrix.zero_grad(), weight.zero_grad()
    qc.expectation(weight * Z(0), engine="reference").backward()
    assert weight.grad.item() == pytest.approx(-np.cos(0.3))


ZERO = np.eye(1, 1 << 21, dtype=complex)[0]

LARGE: dict[str, Callable[[dict[str, str]], Any]] = {
    "zero state": lambda on: Circuit(21).h(0).expectation(Z(0), **on),
    "batch": lambda on: Circuit(21).rx(Input("x", 1)[0], 0).statevector(inputs={"x": ROWS}, **on),
    "array": lambda on: Circuit(21).h(0).expectation(Z(0), initial_state=ZERO, **on),
    "unitary": lambda on: Circuit(11).h(0).unitary_matrix(**on),
}


@pytest.mark.parametrize("kind", LARGE)
def test_a_run_without_room_is_refused_before_its_state_is_there(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = emulated()
    monkeypatch.setattr(backend, "device_limits", replace(backend.device_limits, total_bytes=0))
    reset_stats()
    with pytest.raises(CapacityError, match=r"needs (64|128) MiB of memory, got 0 B available"):
        LARGE[kind]({"device": "emulated", "engine": "cuda"})
    assert backend.executions["zero_state"] == 0
    assert stats("emulated").upload_bytes < 1 << 20


def test_out_of_memory_tells_what_the_run_needs_and_what_helps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Small runs are not forecast: nothing is, below 64 MiB."""
    backend, on = emulated(), {"device": "emulated", "engine": "cuda"}
    theta = Parameter(0.3)
    qc = Circuit(15).rx(theta, 0)
    forecast = qc.plan(Z(0), **on)
    value, none = qc.expectation(Z(0), **on), replace(backend.device_limits, total_bytes=0)
    need = size_text(forecast.outline.forward_bytes)
    monkeypatch.setattr(backend, "device_limits", none)
    match = rf"^a run of 15 qubits, complex128, batch 1, needs about {need} on emulated, got 0 B"
    with pytest.raises(OutOfDeviceMemory, match=match + r" free\. Use dtype='complex64', fewer"):
        qc.expectation(Z(0), **on)
    # The final state is there already.
    need = size_text(forecast.outline.reverse_bytes - (16 << 15))
    match = rf"^a gradient of 15 qubits, complex128, batch 1, needs about {need} on emulated, got"
    with pytest.raises(OutOfDeviceMemory, match=match):
        value.backward()
    assert theta.grad is None
