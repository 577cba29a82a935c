"""Numbers and sizes at the edge: NaN, infinity, the smallest floats, nothing, a million gates."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from limits import MIB, limited

from autodiff import Parameter, Tensor
from circuits import (
    BindingError,
    CapacityError,
    Circuit,
    CircuitError,
    Input,
    MeasurementError,
    ObservableError,
    PauliSum,
    SeedError,
    X,
    Z,
)
from circuits.gate_row import Gate
from circuits.gates import GATES

every_engine = pytest.mark.parametrize("engine", ["numba", "reference"])
ROWS = [
    row
    for row in GATES.values()
    if row.params and row.payload is None and row.name != "global_phase"
]


# -- what is not a finite number -------------------------------------------------------------------


@every_engine
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_angle_that_is_no_number_gives_none(row: Gate, value: float, engine: str) -> None:
    """Values and gradients are NaN: no engine may compute a number of it."""
    width = (row.num_qubits or 0) + (1 if row.num_controls is None else row.num_controls)
    angle = Parameter(value)
    circuit = Circuit(width + 1)
    for qubit in range(width + 1):
        circuit.ry(0.4, qubit)
    others = [0.3] * (len(row.params) - 1)
    circuit.append(row, list(range(width)), [angle, *others])
    for qubit in range(width):
        circuit.cx(qubit, width)
    state = circuit.statevector(engine=engine)
    assert np.isnan(state.numpy()).any()
    total = circuit.expectation(PauliSum({"X" * (width + 1): 1.0}), engine=engine)
    assert np.isnan(total.item())
    total.backward()
    assert angle.grad is not None
    assert np.isnan(angle.grad.item())


@every_engine
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("unseen", ["rx", "global_phase"])
@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_what_an_observable_does_not_see_gives_no_number_either(
    value: float, unseen: str, engine: str
) -> None:
    """Left out of the run are gates outside the light cone; samples keep to themselves."""
    theta = Parameter(0.4)
    circuit = Circuit(2).ry(theta, 0)
    circuit.append(unseen, [1] if unseen == "rx" else [], [Input("x", 1)[0]])
    data = {"x": [[0.3], [value]]}
    values = circuit.expectation(Z(0), inputs=data, engine=engine)
    np.testing.assert_allclose(values.numpy(), [np.cos(0.4), np.nan])
    slopes = circuit.jacobian([Z(0), X(0)], inputs=data, engine=engine).numpy()
    np.testing.assert_allclose(slopes[0, :, 0], [-np.sin(0.4), np.cos(0.4)])
    assert np.isnan(slopes[1]).all()
    circuit.expectation(Z(0), inputs={"x": [value]}, engine=engine).backward()
    assert theta.grad is not None
    assert np.isnan(theta.grad.item())


@every_engine
def test_sampling_of_what_is_no_number_is_refused(engine: str) -> None:
    with pytest.raises(MeasurementError, match="needs finite probabilities"):
        Circuit(2).rx(float("nan"), 0).h(1).counts(10, seed=0, engine=engine)


@every_engine
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_smallest_angles_are_angles(engine: str, dtype: str) -> None:
    for tiny in (5e-324, 1e-310, 1e-40, -1e-45, 0.0, -0.0):
        angle = Parameter(tiny)
        value = Circuit(1).h(0).ry(angle, 0).expectation(Z(0), engine=engine, dtype=dtype)
        value.backward()
        assert angle.grad is not None
        assert abs(value.item()) < 1e-6
        assert abs(angle.grad.item() + 1.0) < 1e-6


@every_engine
def test_large_angles_are_those_of_their_remainder(engine: str) -> None:
    """2**40 is exact; its half's sine and cosine are those of NumPy, which reduces exactly."""
    state = Circuit(1).rx(2.0**40, 0).statevector(engine=engine).numpy()
    exact = [np.cos(2.0**39), -1j * np.sin(2.0**39)]
    np.testing.assert_allclose(state, exact, rtol=0, atol=1e-14)


# -- nothing ---------------------------------------------------------------------------------------


@every_engine
def test_no_qubits_no_gates_no_parameters(engine: str) -> None:
    empty = Circuit(0)
    assert empty.statevector(engine=engine).tolist() == [1.0]
    assert empty.unitary(engine=engine).tolist() == [[1.0]]
    assert empty.probabilities(engine=engine).tolist() == [1.0]
    assert empty.counts(7, seed=0, engine=engine) == {"": 7}
    assert empty.expectation(PauliSum(), engine=engine).item() == 0.0
    assert empty.assign([]).parameters() == []
    assert (empty.depth(), empty.size(), empty.count_ops()) == (0, 0, {})
    for made in (empty.inverse(), empty.repeat(0), Circuit.from_json(empty.to_json())):
        assert made == empty
    assert "0 qubits" in repr(empty)
    assert str(empty.draw("text")) == str(Circuit(0).draw("text"))
    phase = Parameter(0.5)
    state = Circuit(0).global_phase(phase).statevector(engine=engine)
    state.imag.sum().backward()
    assert phase.grad is not None
    np.testing.assert_allclose(phase.grad.item(), np.cos(0.5), atol=1e-15)


@every_engine
def test_no_gates_no_observables_no_samples(engine: str) -> None:
    circuit = Circuit(2)
    with pytest.raises(ObservableError, match="needs one or more observables, got none"):
        circuit.expectation([], engine=engine)
    assert circuit.repeat(5).statevector(engine=engine).tolist() == [1, 0, 0, 0]
    values = np.zeros((0, 1))
    trained = Circuit(1).rx(Parameter(0.0), 0)
    with pytest.raises(BindingError, match="a batch of at least one sample, got an empty batch"):
        trained.expectation(Z(0), values=values, engine=engine)


# -- shots and seeds -------------------------------------------------------------------------------


@pytest.mark.parametrize("shots", [0, -1, 2.5, True, "9", None, 10**30])
def test_shots_out_of_range(shots: Any) -> None:
    circuit = Circuit(1).h(0)
    calls: list[Callable[[], object]] = [
        lambda: circuit.sample(shots, seed=0),
        lambda: circuit.counts(shots, seed=0),
    ]
    for call in calls:
        with limited(256 * MIB, seconds=2.0), pytest.raises(CircuitError, match=r"shots|memory"):
            call()


@pytest.mark.parametrize("seed", [-1, 2.5, True, "9", [1]])
def test_seeds_out_of_range(seed: Any) -> None:
    with limited(256 * MIB, seconds=2.0), pytest.raises(SeedError, match="seed"):
        Circuit(1).h(0).counts(10, seed=seed)


@pytest.mark.parametrize("seed", [0, 2**32, 2**64, 2**128 - 1, np.int64(7), np.uint64(2**63)])
def test_large_seeds_are_seeds(seed: Any) -> None:
    circuit = Circuit(3).h(0).h(1).h(2)
    assert circuit.counts(50, seed=seed) == circuit.counts(50, seed=seed)


@pytest.mark.slow
def test_ten_million_shots() -> None:
    """0.4 s and some 240 MB: a float and an integer a shot, and the bits of it."""
    circuit = Circuit(3).h(0).ry(0.9, 1).cx(1, 2)
    with limited(1024 * MIB, seconds=30.0):
        counts = circuit.counts(10**7, seed=3)
    assert isinstance(counts, dict)
    assert sum(counts.values()) == 10**7
    exact = circuit.probabilities().numpy()
    found = np.array([counts.get(format(k, "03b"), 0) for k in range(8)])
    # Five standard deviations of each count.
    assert (np.abs(found - 1e7 * exact) <= 5 * np.sqrt(1e7 * exact * (1 - exact)) + 1).all()


# -- a million gates -------------------------------------------------------------------------------


def layers(theta: Parameter, count: int) -> Circuit:
    """Four gates, ``count`` times; theta turns by itself over 2^18 of them."""
    third = Circuit(3).rx(theta / 2**18, 0).cx(0, 1).rz(0.001, 1).cx(1, 2)
    return Circuit(3).compose(third.repeat(count))


@pytest.mark.slow
def test_a_million_gates() -> None:
    """Built, printed, planned, run and differentiated in linear time: 50 microseconds a gate."""
    theta = Parameter(0.7, name="theta")
    start = time.thread_time()
    circuit = layers(theta, 2**18)
    assert circuit.size() == 2**20
    assert len(repr(circuit)) < 200
    assert circuit.depth() > 2**18
    value = circuit.expectation(Z(0))
    value.backward()
    assert abs(value.item()) <= 1 + 1e-9
    assert theta.grad is not None
    assert np.isfinite(theta.grad.item())
    assert time.thread_time() - start < 300


@pytest.mark.slow
def test_thirty_thousand_gates_are_pickled() -> None:
    theta = Parameter(0.7, name="theta")
    circuit = layers(theta, 2**13)
    content = pickle.dumps(circuit)
    assert len(content) < 100 * circuit.size()
    made = pickle.loads(content)
    assert made == circuit
    assert made.expectation(Z(0)).item() == circuit.expectation(Z(0)).item()


# -- more than there is ----------------------------------------------------------------------------


HUGE: dict[str, Callable[[], object]] = {
    "state": lambda: Circuit(60).h(0).statevector(),
    "expectation": lambda: Circuit(60).h(0).expectation(Z(0) @ Z(59)),
    "unitary": lambda: Circuit(30).h(0).unitary(),
    "batch": lambda: Circuit(20).rx(Parameter(0.0), 0).statevector(values=np.zeros((10**6, 1))),
    "shots": lambda: Circuit(1).h(0).sample(10**13, seed=0),
    "probabilities": lambda: Circuit(100).h(0).probabilities(),
    "samples": lambda: Circuit(80).h(0).counts(10, seed=0),
    "more bits than an address": lambda: Circuit(5000).h(0).statevector(),
    "gradient": lambda: Circuit(48).rx(Parameter(0.1), 0).statevector().real.sum().backward(),
    "density matrix": lambda: Circuit(20).h(0).density_matrix(),
}


@pytest.mark.parametrize("call", HUGE.values(), ids=HUGE)
def test_what_does_not_fit_is_refused_before_it_is_allocated(call: Callable[[], object]) -> None:
    with (
        limited(256 * MIB, seconds=5.0),
        pytest.raises(CapacityError, match=r"needs .* of memory, got .* available"),
    ):
        call()


def test_refusal_leaves_everything_usable() -> None:
    theta = Parameter(0.3)
    circuit = Circuit(2).rx(theta, 0)
    with pytest.raises(CapacityError):
        circuit.control(60).expectation(Z(0))
    circuit.expectation(Z(0)).backward()
    assert theta.grad is not None
    assert Tensor([1.0]).item() == 1.0
