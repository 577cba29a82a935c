from __future__ import annotations

from collections.abc import Callable

import pytest

from autodiff import Parameter, reset_stats, stats
from circuits import CapacityError, Circuit, Input
from qml import hardware_efficient, run_time
from qml.run_time import RunTime, Size, estimate_run_time, folded


def timer(monkeypatch: pytest.MonkeyPatch, seconds: float) -> list[Callable[[], None]]:
    """Let every run take that long, and note which ones were timed."""
    timed: list[Callable[[], None]] = []

    def span(run: Callable[[], None]) -> float:
        timed.append(run)
        return seconds

    monkeypatch.setattr(run_time, "_timed", span)
    return timed


def test_run_that_is_timed_whole_is_not_scaled(monkeypatch: pytest.MonkeyPatch) -> None:
    timer(monkeypatch, 1e-6)
    circuit = hardware_efficient(13, 2, initial=0.1)
    found = estimate_run_time(circuit, batch=100, engine="reference")
    whole = Size(13, 100, circuit.size())
    assert found == RunTime(1e-6, True, whole, 1e-6, whole)
    assert repr(found) == "1 us a value with its gradient, as timed"


def test_estimate_is_scaled_by_blocks_and_amplitudes(monkeypatch: pytest.MonkeyPatch) -> None:
    timer(monkeypatch, 0.2)
    circuit = Circuit(14)
    for _ in range(100):
        for qubit in range(14):
            circuit.rx(0.1, qubit)
    found = estimate_run_time(circuit, batch=640, engine="reference")
    assert (found.timed, found.with_gradient) == (Size(8, 64, 500), False)
    # Of 1400 blocks 500 were timed, of 14 qubits 8, of 640 samples 64.
    assert found.seconds == pytest.approx(0.2 * (1400 / 500) * 2**6 * 10)
    assert repr(found) == (
        "about 5.97 min a value, scaled from 200 ms for 8 of 14 qubits, 64 of 640 samples, "
        "500 of 1400 gates"
    )


def test_timed_run_grows_in_qubits_then_samples_then_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    timed = timer(monkeypatch, 1e-6)
    circuit = Circuit(11)
    for qubit in range(11):
        for _ in range(50):
            circuit.rx(0.1, qubit)
    estimate_run_time(circuit, batch=100, engine="reference")
    assert len(timed) == 5  # 8, 10 and 11 qubits, then 100 samples, then 550 gates
    size, whole, sizes = Size(8, 64, 500), Size(11, 100, 550), []
    while size != whole:
        size = size.grown(whole)
        sizes.append((size.qubits, size.samples, size.gates))
    assert sizes == [(10, 64, 500), (11, 64, 500), (11, 100, 500), (11, 100, 550)]


def test_folded_circuit_keeps_gates_and_parameters_and_drops_what_is_too_wide() -> None:
    theta = Parameter(0.3, name="theta")
    circuit = Circuit(6).ry(2 * theta, 5).cx(1, 4).mcx([0, 1, 2, 3, 4], 5).rzz(theta, 0, 2).x(3)
    small = folded(circuit, 3, 4)
    assert [(i.name, i.qubits) for i in small] == [("ry", (2,)), ("cx", (1, 2)), ("rzz", (0, 2))]
    assert small.parameters()[0] is theta
    assert len(circuit) == 5


def test_wide_gates_are_timed_as_they_are_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    timer(monkeypatch, 1.0)
    circuit = Circuit(16).mcx(list(range(10)), 10).mcx(list(range(15)), 15)
    assert estimate_run_time(circuit, engine="reference").timed.qubits == 12


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("engine", ["reference", "numba"])
@pytest.mark.parametrize("kind", ["numbers", "parameters", "inputs", "both", "nothing"])
def test_every_circuit_is_run_with_the_batch_that_it_takes(
    kind: str, engine: str, batch: int | None
) -> None:
    circuit, x = Circuit(2).h(0), Input("x", 2)
    if kind in ("inputs", "both"):
        circuit.rx(x[0], 0).ry(x[1], 1)
    if kind in ("parameters", "both"):
        circuit.rz(Parameter(0.4), 1)
    if kind == "nothing":
        circuit = Circuit(0)
    found = estimate_run_time(circuit, batch, engine=engine)
    assert found.seconds == found.timed_seconds > 0
    assert found.with_gradient is (kind in ("parameters", "both"))


@pytest.mark.parametrize("circuit", [Circuit(2).h(0), Circuit(2).rx(Parameter(0.4), 1)])
def test_run_on_a_device_is_timed_to_its_end(circuit: Circuit) -> None:
    reset_stats()
    assert estimate_run_time(circuit, engine="cuda", device="emulated").timed_seconds > 0
    counted = stats("emulated")
    assert counted.kernels >= 2  # of a run that compiles, and of timed ones
    assert counted.downloads >= 2


def test_run_that_does_not_fit_is_refused_before_anything_is_timed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed = timer(monkeypatch, 1.0)
    with pytest.raises(CapacityError, match="a run of 50 qubits"):
        estimate_run_time(Circuit(50).h(0))
    assert timed == []


def test_slow_run_is_timed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter(range(100))
    monkeypatch.setattr(run_time.time, "perf_counter", lambda: float(next(moments)))
    calls: list[int] = []
    assert run_time._timed(lambda: calls.append(1)) == 1.0
    assert len(calls) == 2  # one that compiles, one that is timed
