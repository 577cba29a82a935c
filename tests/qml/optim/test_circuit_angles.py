from __future__ import annotations

import pytest
from gate_rows import ROWS, controls_of, payload_of, size_of

import qml
from autodiff import Parameter, ParameterError
from circuits.gate_row import Gate
from qml.errors import SettingError
from qml.optim.circuit_angles import checked_circuit, refuse_batch, slots_of


def test_slots_are_the_columns_of_the_angle_table() -> None:
    w, x = Parameter([0.1, 0.2, 0.3]), qml.Input("x", 1)
    circuit = qml.Circuit(2).rx(0.5, 0).u(w[0], 0.2, w[1], 0).crx(x[0], 0, 1).rzz(2 * w[2], 0, 1)
    slots = slots_of(circuit)
    assert [slot.gate for slot in slots] == ["u", "u", "crx", "rzz"]
    assert len(slots) == circuit.compiled().plan.num_slots
    assert [slot.frequencies for slot in slots] == [(1.0,), (1.0,), (0.5, 1.0), (1.0,)]
    assert slots[3].angle.coefficients == (2.0,)


@pytest.mark.parametrize("row", [row for row in ROWS if row.params], ids=lambda row: row.name)
def test_frequencies_are_those_of_the_gate_table(row: Gate) -> None:
    qubits = range(controls_of(row) + size_of(row))
    circuit = qml.Circuit(max(len(qubits), 1))
    circuit.append(row, qubits, [Parameter(0.1) for _ in row.params], payload=payload_of(row))
    slots = slots_of(circuit)
    assert len(slots) == len(row.params)
    for k, slot in enumerate(slots):
        assert slot.frequencies == row.frequencies(k, controlled=row.num_controls != 0)


def test_whatever_is_no_circuit_is_refused() -> None:
    with pytest.raises(SettingError, match="Owner needs a Circuit, got list"):
        checked_circuit("Owner", [], [])


def test_parameter_of_something_else_is_refused_by_name() -> None:
    circuit = qml.Circuit(1).rx(Parameter(0.1, name="theta"), 0)
    with pytest.raises(ParameterError, match=r"Parameters of its circuit, .*'bias'.*\['theta'\]"):
        checked_circuit("Owner", circuit, [Parameter(0.1, name="bias")])


def test_batch_is_refused() -> None:
    circuit = qml.Circuit(1).rx(qml.Input("x", 1)[0], 0)
    run = circuit._run(inputs={"x": [[0.1], [0.2]]})
    with pytest.raises(
        SettingError, match="Owner needs inputs of a single sample, got a batch of 2"
    ):
        refuse_batch("Owner", run)
