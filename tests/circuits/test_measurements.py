"""Which qubits are measured into which bits, and what may not follow."""

from __future__ import annotations

from typing import Any

import pytest

from autodiff import Parameter
from circuits import Circuit, MeasurementError, QubitError


def test_measurements_map_qubits_to_bits() -> None:
    circuit = Circuit(5).x(4).measure(1, 0).measure([3, 4], [1, 2])
    assert circuit.measured == {0: 1, 1: 3, 2: 4}
    assert circuit.counts(16, seed=1, engine="reference") == {"100": 16}


def test_measure_all_is_the_identity() -> None:
    assert Circuit(3).measure_all().measured == {0: 0, 1: 1, 2: 2}
    assert Circuit(0).measure_all().measured == {}


@pytest.mark.parametrize(
    ("qubits", "clbits", "error", "match"),
    [
        ([0, 2], [4, 4], MeasurementError, "free classical bit from 0 on, got 4"),
        ([0, 2], [4, 3], MeasurementError, "free classical bit from 0 on, got 3"),
        (0, -1, MeasurementError, "free classical bit from 0 on, got -1"),
        (0, 0.0, MeasurementError, "free classical bit from 0 on, got 0.0"),
        (0, True, MeasurementError, "free classical bit from 0 on, got True"),
        ([0, 2], [4], MeasurementError, "one classical bit a qubit, got 1 for 2"),
        ([0, 3], [4, 5], QubitError, "measure needs integer qubits .* below 3, got 3"),
        (-1, 4, QubitError, "measure needs integer qubits"),
        (0.0, 4, QubitError, "measure needs integer qubits"),
    ],
)
def test_bad_measurements_change_nothing(
    qubits: Any, clbits: Any, error: type[Exception], match: str
) -> None:
    circuit = Circuit(3).measure(1, 3)
    with pytest.raises(error, match=match):
        circuit.measure(qubits, clbits)
    assert circuit.measured == {3: 1}


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.x(1),
        lambda c: c.cx(0, 1),
        lambda c: c.x([0, 1]),
        lambda c: c.append("rx", 1, Parameter(0.1)),
        lambda c: c.compose(Circuit(2).x(1)),
        lambda c: c.compose(Circuit(1).x(0).measure(0, 7), [1]),
    ],
)
def test_gates_on_measured_qubits_are_refused(change: Any) -> None:
    circuit = Circuit(3).measure(1, 0)
    before = circuit.copy()
    with pytest.raises(MeasurementError, match="without a measurement"):
        change(circuit)
    assert circuit == before
    assert circuit.parameters() == []
    assert circuit.x(0).cx(0, 2).size() == 2


@pytest.mark.parametrize("what", ["inverse", "control", "power", "repeat"])
def test_derived_circuits_need_no_measurements(what: str) -> None:
    circuit = Circuit(2).h(0).measure(0, 0)
    arguments = (2,) if what in ("power", "repeat") else ()
    name = "power" if what == "repeat" else what
    with pytest.raises(MeasurementError, match=f"{name} needs a circuit without measurements"):
        getattr(circuit, what)(*arguments)


def test_several_bits_may_read_one_qubit() -> None:
    circuit = Circuit(2).h(0).cx(0, 1).measure([0, 0, 1], [0, 3, 1]).measure(1, 4)
    assert circuit.measured == {0: 0, 3: 0, 1: 1, 4: 1}
    assert set(circuit.counts(100, seed=0, engine="reference")) == {"00000", "11011"}
    assert Circuit.from_json(circuit.to_json()) == circuit == circuit.deep_clone()
    assert circuit != Circuit(2).h(0).cx(0, 1).measure([0, 1, 1], [0, 1, 4])
    (moved,) = {Circuit(3).compose(circuit, [2, 0]).draw().splitlines()[-2][-6:]}
    assert moved == "═ c0 c3"[-6:]


def test_compose_maps_measurements() -> None:
    inner = Circuit(2).x(0).measure([0, 1], [1, 0])
    assert Circuit(3).compose(inner, [2, 0]).measured == {1: 2, 0: 0}


def test_reset_is_refused_with_the_remedy() -> None:
    with pytest.raises(MeasurementError, match=r"reset on \(0,\).*use a fresh qubit"):
        Circuit(1).reset(0)


def test_barrier_does_nothing_but_check_its_qubits() -> None:
    assert Circuit(3).barrier().barrier(0).barrier([1, 2]).barrier(range(3)) == Circuit(3)
    with pytest.raises(QubitError, match="barrier needs integer qubits"):
        Circuit(2).barrier(2)


def test_bits_without_a_qubit_read_zero() -> None:
    assert Circuit(1).x(0).measure(0, 2).counts(2, seed=0, engine="reference") == {"100": 2}


def test_measurements_change_no_expectation() -> None:
    circuit = Circuit(2).h(0).cx(0, 1)
    measured = circuit.copy().measure_all()
    a, b = (c.statevector(engine="reference").numpy() for c in (circuit, measured))
    assert (a == b).all()
