from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from gate_counting import GateCounter
from gate_rows import ROWS, angles_of, controls_of, payload_of, size_of

import qml
from autodiff import F32, Parameter
from circuits.engines.registry import ENGINES, get_engine
from circuits.gate_row import Gate
from qml.errors import SettingError
from qml.optim.metric import metric_tensor


def by_differences(circuit: qml.Circuit, **options: object) -> np.ndarray:
    """The definition, with derivatives of the state by central differences of fourth order."""
    values = np.concatenate([p.numpy().reshape(-1) for p in circuit.parameters()])
    h = 1e-3
    shifts = np.array([1, -1, 2, -2]) * h
    psi = circuit.statevector(values=values, engine="reference", **options).numpy()
    tangents = []
    for k in range(len(values)):
        rows = np.repeat(values[None], 4, axis=0)
        rows[:, k] += shifts
        a, b, c, d = circuit.statevector(values=rows, engine="reference", **options).numpy()
        tangents.append((8 * (a - b) - (c - d)) / (12 * h))
    T = np.array(tangents)
    along = T.conj() @ psi
    return (T.conj() @ T.T - np.outer(along, along.conj())).real


def rotations() -> tuple[qml.Circuit, dict]:
    generator = np.random.default_rng(1)
    circuit = qml.Circuit(3)
    for _ in range(2):
        for q in range(3):
            circuit.ry(Parameter(generator.normal()), q).rz(Parameter(generator.normal()), q)
        circuit.cx(0, 1).rzz(Parameter(generator.normal()), 1, 2).cx(2, 0)
    return circuit, {}


def awkward() -> tuple[qml.Circuit, dict]:
    """Shared, vector, nonlinear and idle Parameters, controls, features, a global phase."""
    w, a = Parameter([0.3, -0.7, 1.1], name="w"), Parameter(0.4, name="a")
    idle, phase = Parameter(0.2, name="idle"), Parameter(0.9, name="phase")
    x = qml.Input("x", 2)
    circuit = qml.Circuit(3).register(idle).h(0).ry(w[0], 1).crx(2 * w[0] + a, 0, 2)
    circuit.u(w[1], a * w[2], x[0] * a, 1).cp(w[2] ** 2, 1, 2).global_phase(phase)
    circuit.append("ry", [2], [w[1] + x[1]], controls=[0, 1], ctrl_state="01")
    return circuit, {"inputs": {"x": [0.6, -0.2]}}


CASES = {"rotations": rotations, "awkward": awkward}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", CASES.values(), ids=CASES)
def test_metric_is_that_of_the_states_finite_differences(make: Callable, engine: str) -> None:
    circuit, options = make()
    found = metric_tensor(circuit, engine=engine, **options)
    np.testing.assert_allclose(found, by_differences(circuit, **options), rtol=0, atol=1e-10)
    assert np.linalg.eigvalsh(found).min() > -1e-12
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("row", [row for row in ROWS if row.params], ids=lambda row: row.name)
def test_every_gate_of_the_table(row: Gate) -> None:
    angles = [Parameter(angle) for angle in angles_of(row)]
    generator = np.random.default_rng(2)
    width = max(controls_of(row) + size_of(row), 1)
    circuit = qml.Circuit(width)
    for q in range(width):
        circuit.u(*generator.normal(size=3), q)
    qubits = range(controls_of(row) + size_of(row))
    circuit.append(row, qubits, angles, payload=payload_of(row)).h(0)
    found = metric_tensor(circuit, engine="reference")
    np.testing.assert_allclose(found, by_differences(circuit), rtol=0, atol=1e-10)


def test_product_of_rotations_has_the_known_metric() -> None:
    """Stokes et al. (2020): variances of the generators in the state before them."""
    a, b = 0.5, 0.8
    circuit = qml.Circuit(2).ry(Parameter(a), 0).rz(Parameter(b), 0).rx(Parameter(b), 1)
    wanted = np.diag([1, np.sin(a) ** 2, 1]) / 4
    np.testing.assert_allclose(metric_tensor(circuit, engine="reference"), wanted, atol=1e-15)


LAYERS = [[0, 1, 2], [3, 4, 5], [6], [7, 8], [9]]


def layered() -> qml.Circuit:
    """Ten angles in five layers; the gates without angles carry dependence on."""
    generator = np.random.default_rng(3)
    p = [Parameter(value) for value in generator.normal(size=10)]
    circuit = qml.Circuit(3).ry(p[0], 0).ry(p[1], 1).ry(p[2], 2).cx(0, 1)
    circuit.rx(p[3], 0).rx(p[4], 1).rx(p[5], 2).rzz(p[6], 0, 1)
    return circuit.ry(p[7], 1).cx(1, 0).ry(p[8], 2).rx(p[9], 0)


def test_block_diagonal_metric_is_the_full_one_within_the_layers() -> None:
    circuit = layered()
    full = metric_tensor(circuit, engine="reference")
    wanted = np.zeros_like(full)
    for layer in LAYERS:
        wanted[np.ix_(layer, layer)] = full[np.ix_(layer, layer)]
    assert np.abs(full - wanted).max() > 0.05
    found = metric_tensor(circuit, "block-diagonal", engine="reference")
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-15)


def test_diagonal_metric_is_the_full_ones_diagonal() -> None:
    circuit = layered()
    full = metric_tensor(circuit, engine="reference")
    found = metric_tensor(circuit, "diagonal", engine="reference")
    np.testing.assert_allclose(found, np.diag(np.diag(full)), rtol=0, atol=1e-15)


def test_full_metric_is_one_evolution_and_layers_one_each_of_their_own_gates() -> None:
    circuit, engine = layered(), GateCounter(get_engine("reference"))
    metric_tensor(circuit, engine=engine)
    # The state and one tangent a rotation, through all gates.
    assert dict(engine.calls) == {"forward": 1}
    assert engine.gates == 11 * circuit.size()
    engine.calls.clear()
    engine.gates = 0
    metric_tensor(circuit, "block-diagonal", engine=engine)
    assert dict(engine.calls) == {"forward": len(LAYERS)}
    # (1 + angles) states through the layer's gates; cx belong to the layer that they follow.
    assert engine.gates == 4 * 4 + 4 * 3 + 2 * 1 + 3 * 3 + 2 * 1


def test_single_precision_runs_and_frozen_parameters_count() -> None:
    a, b = Parameter(0.5, dtype=F32), Parameter(0.8, dtype=F32).freeze()
    circuit = qml.Circuit(1).ry(a, 0).rz(b, 0)
    found = metric_tensor(circuit, engine="reference")
    np.testing.assert_allclose(found, np.diag([1, np.sin(0.5) ** 2]) / 4, atol=1e-6)
    assert found.dtype == np.float64
    assert (a.grad, b.grad) == (None, None)


def test_circuits_without_angles_have_an_empty_or_a_zero_metric() -> None:
    assert metric_tensor(qml.Circuit(1).h(0), engine="reference").shape == (0, 0)
    registered = qml.Circuit(1).register(Parameter([1.0, 2.0])).h(0)
    assert metric_tensor(registered, engine="reference").tolist() == [[0, 0], [0, 0]]


def test_metric_is_found_under_no_grad_too() -> None:
    circuit, _ = rotations()
    with qml.no_grad():
        found = metric_tensor(circuit, engine="reference")
    np.testing.assert_array_equal(found, metric_tensor(circuit, engine="reference"))


def test_refusals() -> None:
    circuit = qml.Circuit(1).rx(qml.Input("x", 1)[0], 0)
    with pytest.raises(SettingError, match=r"approximation needs one of 'full', .* got 'half'"):
        metric_tensor(circuit, "half")
    with pytest.raises(SettingError, match="metric_tensor needs inputs of a single sample"):
        metric_tensor(circuit, inputs={"x": [[0.1], [0.2]]})
    with pytest.raises(SettingError, match="metric_tensor needs a Circuit, got str"):
        metric_tensor("circuit")
