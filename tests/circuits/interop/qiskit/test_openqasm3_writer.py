"""OpenQASM 3 out: every gate with its phase, symbols with their names, affine angles exactly."""

from __future__ import annotations

import numpy as np
import pytest
from gate_circuits import circuit_of
from gate_rows import ROWS, angles_of

import autodiff as ad
from circuits import Circuit, ConversionError, Input, Parameter, from_qasm, to_qasm
from circuits.gate_row import Gate
from circuits.gates import GATES


@pytest.mark.parametrize("extra", [0, 1, 2])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_survives_with_its_phase(row: Gate, extra: int) -> None:
    """With symbols for the angles, under one open control; the phase shows under controls."""
    angles = angles_of(row)
    symbols = [Parameter(x, name=f"t{k}") for k, x in enumerate(angles)]
    circuit = circuit_of(row, extra, [2 * s - x for s, x in zip(symbols, angles, strict=True)])
    again = from_qasm(to_qasm(circuit))
    expected = circuit.statevector(engine="reference").numpy()
    assert np.abs(again.statevector(engine="reference").numpy() - expected).max() < 1e-12
    assert again.parameter_names() == circuit.parameter_names()


NAMES = ["theta", "θ", "w[3]", "a b", "a_b", "_a_b", "rx", "cnot", "pi", "q", "gate", "ryy_", "_p0"]


def test_any_name_survives() -> None:
    """Keywords, gates, names that are no identifiers, and names that then collide."""
    circuit = Circuit(1)
    for k, name in enumerate(NAMES):
        circuit.rx(Parameter(0.1 * k, name=name), 0)
    circuit.append("r", [0], [Parameter(0.7, name="lam"), 0.3])
    again = from_qasm(to_qasm(circuit))
    values = {p.name: p.item() for p in circuit.parameters()}
    assert {p.name: p.item() for p in again.parameters()} == values
    found, expected = again.statevector().numpy(), circuit.statevector().numpy()
    assert np.abs(found - expected).max() < 1e-13


def test_affine_angles_survive_exactly() -> None:
    a, b, w = Parameter(0.3, name="a"), Parameter(1e-7, name="b"), Parameter([0.1, 0.2], name="w")
    x = Input("x", 11)
    angles = [a, -a, 2 * a - b / 3, w[1] - 0.1, x[10] + x[2] * 1e-9, 0.5 - 1e17 * a]
    circuit = Circuit(1)
    for angle in angles:
        circuit.rz(angle, 0)
    again = from_qasm(to_qasm(circuit))
    assert [y.name for y in again.inputs] == ["x"]
    for ours, theirs in zip(circuit.instructions, again.instructions, strict=True):
        before, after = ours.angles[0], theirs.angles[0]
        assert after.offset == before.offset
        assert sorted(after.coefficients) == sorted(before.coefficients)
    features = np.arange(11) / 7
    moved = [c.statevector(inputs={"x": features}).numpy() for c in (circuit, again)]
    assert np.abs(moved[0] - moved[1]).max() < 1e-12


def test_other_functions_are_refused_with_the_remedy() -> None:
    a, b = Parameter(0.3, name="a"), Parameter(0.4, name="b")
    for angle in (ad.sin(a), a * b, a**2):
        with pytest.raises(ConversionError, match=r"needs affine angles.*'a'.*Use save_qpy"):
            to_qasm(Circuit(1).rx(angle, 0))


def test_standard_gates_keep_their_names() -> None:
    circuit = Circuit(3).h(0).cx(0, 1).crx(0.1, 0, 2).ccx(0, 1, 2).cswap(0, 1, 2).sxdg(0)
    circuit.append("x", [2], controls=[0, 1], ctrl_state="01").global_phase(0.25)
    assert to_qasm(circuit).splitlines()[4:] == [
        "h q[0];",
        "cx q[0], q[1];",
        "crx(0.1) q[0], q[2];",
        "ccx q[0], q[1], q[2];",
        "cswap q[0], q[1], q[2];",
        "inv @ sx q[0];",
        "ctrl @ negctrl @ x q[0], q[1], q[2];",
        "gphase(0.25);",
    ]
    again = from_qasm(to_qasm(circuit))
    assert [step.name for step in again.instructions] == [
        *("global_phase", "h", "cx", "crx", "ccx", "cswap", "sxdg", "ccx")
    ]


def test_definition_is_written_once() -> None:
    t = Parameter(0.1, name="tau_1")
    text = to_qasm(Circuit(2).ryy(t, 0, 1).ryy(2 * t, 1, 0))
    assert text.count("gate ryy_") == 1
    assert "ryy_(2.0*tau_1) q[1], q[0];" in text


def test_measurements_and_empty_circuits_survive() -> None:
    assert from_qasm(to_qasm(Circuit(3).measure([2, 0], [0, 4]))).measured == {0: 2, 4: 0}
    assert from_qasm(to_qasm(Circuit(0).global_phase(0.5))).instructions[0].angles == (0.5,)


def test_every_native_row_is_a_row() -> None:
    from circuits.interop.qiskit.openqasm3_writer import _CONTROLLED, _NATIVE

    assert GATES.keys() >= _NATIVE.keys() | _CONTROLLED
