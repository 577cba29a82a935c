"""OpenQASM 3 in: symbols, modifiers, definitions; faults by line and column."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from sources import ROOT

from circuits import Circuit, ConversionError, Parameter, from_qasm, to_qasm
from circuits.interop.qiskit.openqasm3_writer import NOTE

HEAD = 'OPENQASM 3.0;\ninclude "stdgates.inc";\n'


def test_inputs_of_a_program_become_parameters() -> None:
    text = (
        HEAD + "input float[64] b; input angle[32] a; qubit[2] q; rx(2*a - b/4) q[0]; ry(a*b) q[1];"
    )
    circuit = from_qasm(text, values={"a": 0.5, "b": 0.25})
    assert circuit.parameter_names() == ["a", "b"]
    expected = Circuit(2).rx(0.9375, 0).ry(0.125, 1).statevector().numpy()
    assert np.abs(circuit.statevector().numpy() - expected).max() < 1e-14


def test_inputs_of_a_program_can_be_features() -> None:
    circuit = from_qasm(HEAD + "input float[64] beta; qubit q; rx(beta) q;", inputs={"x": ["beta"]})
    assert [x.name for x in circuit.inputs] == ["x"]
    assert circuit.parameters() == []


def test_input_without_use_is_dropped() -> None:
    circuit = from_qasm(HEAD + "input float[64] a; input float[64] b; qubit q; gphase(2*b); x q;")
    assert circuit.parameter_names() == ["b"]
    assert circuit.count_ops() == {"global_phase": 1, "x": 1}
    assert from_qasm(HEAD + "input float[64] a; qubit q; x q;").count_ops() == {"x": 1}


def test_modifiers_and_loops() -> None:
    text = HEAD + (
        "qubit[3] q; gphase(0.5); ctrl @ negctrl @ rx(0.3) q[2], q[0], q[1]; pow(3) @ t q[0]; "
        "inv @ s q[1]; for int i in [1:2:5] { rz(i) q[0]; } let r = q[1:2]; h r; "
        "ctrl @ gphase(0.2) q[0];"
    )
    expected = Circuit(3).global_phase(0.5)
    expected.append("rx", [1], 0.3, controls=[2, 0], ctrl_state="01").t(0).t(0).t(0).sdg(1)
    expected.rz(1, 0).rz(3, 0).rz(5, 0).h(1).h(2).p(0.2, 0)
    found = from_qasm(text).unitary().numpy()
    assert np.abs(found - expected.unitary().numpy()).max() < 1e-14


@pytest.mark.parametrize("names", ["a, b", "b, a", "z, y, a"])
def test_arguments_of_a_definition_keep_their_places(names: str) -> None:
    """The importer alone binds them in the order of the names."""
    first, second, *_ = names.split(", ")
    given = "0.1, 0.2, 0.3"[: 5 * len(names.split(", ")) - 2]
    definition = f"gate g({names}) x {{ rx({first}) x; rz({second}) x; }}"
    circuit = from_qasm(f"{HEAD}{definition} qubit q; g({given}) q;")
    assert [step.angles for step in circuit.instructions] == [(0.1,), (0.2,)]


def test_physical_qubits_are_the_wires() -> None:
    circuit = from_qasm(HEAD + "rx(0.5) $0; cx $0, $2;")
    assert circuit == Circuit(3).rx(0.5, 0).cx(0, 2)
    assert circuit.import_report.layout is None


@pytest.mark.parametrize("width", [0, 2])
def test_program_of_a_symbolic_phase_alone_is_read(width: int) -> None:
    circuit = Circuit(width).global_phase(Parameter(0.25, name="t"))
    again = from_qasm(to_qasm(circuit))
    assert (again.num_qubits, again.parameter_names()) == (width, ["t"])
    assert np.abs(again.statevector().numpy() - circuit.statevector().numpy()).max() < 1e-15


def test_values_and_inputs_of_the_user_win_over_the_note() -> None:
    text = to_qasm(Circuit(1).rx(Parameter(0.25, name="t"), 0))
    assert from_qasm(text).parameters()[0].item() == 0.25
    assert from_qasm(text, values=[0.5]).parameters()[0].item() == 0.5
    assert from_qasm(text, inputs={"x": ["t"]}).parameters() == []


@pytest.mark.parametrize(
    "note",
    [
        "{]}",
        '{"names": []}',
        '{"names": {"t": 3}}',
        '{"values": {"t": "3"}}',
        '{"inputs": {"x": "t"}}',
        "{" + '"a":{' * 100_000 + "}",
    ],
)
def test_note_that_is_not_ours_is_refused(note: str) -> None:
    with pytest.raises(ConversionError, match="needs the note that to_qasm wrote"):
        from_qasm(f"{HEAD}{NOTE}{note}\nqubit q;")


def test_note_of_an_absurd_vector_is_refused_or_small() -> None:
    note = json.dumps({"names": {"beta": "w[999999999]"}})
    circuit = from_qasm(f"{HEAD}{NOTE}{note}\ninput float[64] beta; qubit q; rx(beta) q;")
    assert circuit.parameter_names() == ["w[999999999]"]


FAULTS = {
    "missing semicolon": ("qubit[2] q\nx q;", "line 4, column 1: not expected here"),
    "operand": ("qubit q;\nrx(() q;", r"line 4, column \d+: not expected here"),
    "character": ("qubit q;\n  \\ q;", "line 4, column 3"),
    "unknown gate": ("qubit q;\nfoo q;", "line 4, column 1: gate 'foo' is not defined"),
    "function": ("input float[64] beta;\nqubit q; rx(sin(beta)) q;", r"line 4, column \d+:"),
    "too few qubits": ("qubit[2] q;\ncx q[0];", "line 4, column 1: The amount of qubit"),
    "one qubit twice": ("qubit[2] q;\n x q[0]; cx q[1], q[1];", "line 4, column 10: duplicate"),
    "one name twice": ("qubit[2] q;\nqubit[2] q;", "line 4, column 1: register name"),
    "variable": ("qubit q;\nint[32] i = 3;", "line 4, column 1: declarations of type 'int'"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named_by_line_and_column(name: str) -> None:
    text, place = FAULTS[name]
    with pytest.raises(ConversionError, match=f"valid OpenQASM 3 program, got {place}"):
        from_qasm(HEAD + text)


def test_expression_that_the_parser_cannot_recurse_is_refused() -> None:
    with pytest.raises(ConversionError, match="needs expressions that nest less"):
        from_qasm(HEAD + "qubit q; rx(1" + "+1" * 900 + ") q;")


def test_parser_is_asked_for_by_name() -> None:
    program = (
        "import sys; sys.modules['openqasm3.parser'] = None\n"
        "from circuits import from_qasm\n"
        "try: from_qasm('OPENQASM 3.0; qubit q;')\n"
        "except ValueError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pip install qiskit-qasm3-import" in done.stdout
