"""Circuits without their idle qubits are the same circuits on fewer qubits."""

from __future__ import annotations

import numpy as np
import pytest

from circuits import CapacityError, Circuit, Input, Parameter, X, Z


def wide() -> Circuit:
    theta, x = Parameter(0.3, name="theta"), Input("x", 1)
    circuit = Circuit(60, "wide").h(50).cx(50, 4).ry(theta, 4).rz(x[0] * theta, 50)
    return circuit.append("ry", 50, [0.2], controls=[4], ctrl_state=0).global_phase(0.1)


def test_used_qubits_have_a_gate_or_a_measurement() -> None:
    assert wide().used_qubits() == (4, 50)
    assert wide().measure([50, 7], [0, 1]).used_qubits() == (4, 7, 50)
    assert Circuit(3).used_qubits() == ()


def test_circuit_without_idle_qubits_computes_the_same() -> None:
    circuit = wide()
    small = circuit.without_idle_qubits()
    assert (small.num_qubits, small.name, circuit.num_qubits) == (2, "wide", 60)
    assert [p is q for p, q in zip(small.parameters(), circuit.parameters(), strict=True)] == [True]
    theta, x = Parameter(0.3), Input("x", 1)
    same = Circuit(2).h(1).cx(1, 0).ry(theta, 0).rz(x[0] * theta, 1)
    same.append("ry", 1, [0.2], controls=[0], ctrl_state=0).global_phase(0.1)
    options = {"inputs": {"x": [0.7]}, "engine": "reference"}
    found, expected = (c.statevector(**options).numpy() for c in (small, same))
    np.testing.assert_array_equal(found, expected)
    value = small.expectation(Z(0) @ X(1), **options)
    value.backward()
    assert circuit.parameters()[0].grad is not None


def test_measurements_keep_their_bits() -> None:
    small = Circuit(9).x(3).cx(3, 8).measure([8, 3, 8], [2, 0, 5]).without_idle_qubits()
    assert small.measured == {2: 1, 0: 0, 5: 1}
    assert small.counts(4, seed=0, engine="reference") == {"100101": 4}


def test_circuit_that_is_too_wide_is_refused_with_the_remedy() -> None:
    with pytest.raises(CapacityError, match=r"a run of 60 qubits.*without_idle_qubits\(\)"):
        wide().statevector(inputs={"x": [0.7]})


def test_without_idle_qubits_there_is_nothing_to_leave_out() -> None:
    circuit = Circuit(2).h(1).cx(1, 0).measure_all()
    assert circuit.without_idle_qubits() == circuit
    assert Circuit(3).without_idle_qubits().num_qubits == 0
