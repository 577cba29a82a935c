"""The stateful simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter
from circuits import (
    BindingError,
    Circuit,
    CircuitError,
    EngineError,
    Input,
    MeasurementError,
    QubitError,
    Simulator,
)

every_engine = pytest.mark.parametrize("engine", ["reference", "numba"])


@every_engine
def test_apply_changes_the_state_and_run_does_not(engine: str) -> None:
    simulator = Simulator(1, engine=engine)
    half = Circuit(1).rx(np.pi / 2, 0)
    assert simulator.apply(half) is simulator
    after = simulator.run(half).numpy()
    np.testing.assert_allclose(after, [0, -1j], atol=1e-15)
    np.testing.assert_allclose(simulator.amplitudes().numpy(), np.array([1, -1j]) / np.sqrt(2))
    np.testing.assert_allclose(simulator.apply(half).amplitudes().numpy(), after)


@every_engine
def test_steps_equal_one_circuit(engine: str) -> None:
    parts = [Circuit(3).h([0, 1, 2]), Circuit(3).crz(0.3, 0, 2).cx(1, 0), Circuit(3).iswap(2, 1)]
    simulator, whole = Simulator(3, engine=engine), Circuit(3)
    for part in parts:
        simulator.apply(part)
        whole.compose(part)
    expected = whole.statevector(engine=engine).numpy()
    np.testing.assert_allclose(simulator.amplitudes().numpy(), expected, atol=1e-15)


def test_reset_returns_to_zero() -> None:
    simulator = Simulator(2, batch=3, engine="reference").apply(Circuit(2).x(0))
    assert simulator.reset() is simulator
    np.testing.assert_array_equal(simulator.amplitudes().numpy(), np.tile([1, 0, 0, 0], (3, 1)))


@every_engine
def test_batches(engine: str) -> None:
    circuit = Circuit(1).rx(Input("x", 1)[0], 0)
    data = np.array([[0.0], [np.pi]])
    for simulator in (Simulator(1, batch=2, engine=engine), Simulator(1, engine=engine)):
        simulator.apply(circuit, inputs={"x": data})
        assert simulator.batch == 2
        assert simulator.amplitudes().shape == (2, 2)
        assert simulator.sample_counts(5, seed=0) == [{"0": 5}, {"1": 5}]
    with pytest.raises(BindingError, match=r"one batch size, got \[2, 3\]"):
        simulator.apply(circuit, inputs={"x": np.zeros((3, 1))})
    assert simulator.amplitudes().shape == (2, 2)


def test_sample_counts() -> None:
    simulator = Simulator(2, engine="reference").apply(Circuit(2).x(1))
    assert simulator.sample_counts(7, seed=0) == {"10": 7}
    spread = Simulator(2, engine="reference").apply(Circuit(2).h([0, 1]))
    assert spread.sample_counts(100, seed=1) == spread.sample_counts(100, seed=1)
    with pytest.raises(MeasurementError, match="a number of shots from 1 on"):
        simulator.sample_counts(0)


def test_values_are_given_per_call_and_run_trains() -> None:
    p = Parameter(0.3)
    simulator = Simulator(1, engine="reference").apply(Circuit(1).rx(p, 0), values=[0.0])
    assert not simulator.amplitudes().requires_grad
    simulator.run(Circuit(1).rx(p, 0)).real[0].backward()
    assert p.grad is not None
    assert p.grad.item() == pytest.approx(-np.sin(0.15) / 2)


@pytest.mark.parametrize("dtype", ["complex64", np.complex128])
def test_precision(dtype: Any) -> None:
    simulator = Simulator(1, dtype=dtype, engine="reference").apply(Circuit(1).h(0))
    assert simulator.amplitudes().dtype == dtype


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"num_qubits": -1}, QubitError, "a number of qubits"),
        ({"num_qubits": 1, "batch": 0}, BindingError, "a batch size from 1 on, got 0"),
        ({"num_qubits": 1, "batch": 1.5}, BindingError, "a batch size from 1 on, got 1.5"),
        ({"num_qubits": 1, "batch": True}, BindingError, "a batch size from 1 on, got True"),
        ({"num_qubits": 1, "dtype": float}, EngineError, "complex64 or complex128"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: dict[str, Any], error: type[CircuitError], match: str
) -> None:
    with pytest.raises(error, match=match):
        Simulator(**arguments)


def test_other_widths_are_refused() -> None:
    simulator = Simulator(2, engine="reference")
    with pytest.raises(QubitError, match="circuits of 2 qubits, got 3"):
        simulator.apply(Circuit(3))
    assert simulator.amplitudes().real.tolist() == [1, 0, 0, 0]


def test_no_qubits() -> None:
    assert Simulator(0, engine="reference").sample_counts(2, seed=0) == {"": 2}
