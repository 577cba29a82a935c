"""OpenQASM 2: numbers, up to the global phase; real files' dialects; faults by line and column."""

from __future__ import annotations

import numpy as np
import pytest
from gate_circuits import circuit_of
from gate_rows import ROWS, angles_of

from circuits import Circuit, ConversionError, Input, Parameter, from_qasm, to_qasm
from circuits.gate_row import Gate

HEAD = 'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[3];\ncreg c[3];\n'


@pytest.mark.parametrize("extra", [0, 1, 2])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_survives(row: Gate, extra: int) -> None:
    circuit = circuit_of(row, extra, angles_of(row))
    expected = circuit.statevector(engine="reference").numpy()
    found = from_qasm(to_qasm(circuit, 2)).statevector(engine="reference").numpy()
    assert abs(np.vdot(found, expected)) == pytest.approx(1.0, abs=1e-10)


def test_present_values_and_measurements_are_written() -> None:
    t = Parameter(0.25)
    circuit = Circuit(2).rx(2 * t + 0.125, 0).measure([1, 0], [0, 2])
    again = from_qasm(to_qasm(circuit, 2))
    assert again.instructions[0].angles == (0.625,)
    assert again.measured == {0: 1, 2: 0}
    assert circuit.parameters() == [t]


def test_inputs_have_no_numbers() -> None:
    circuit = Circuit(1).rx(Input("x", 1)[0], 0)
    with pytest.raises(ConversionError, match=r"needs a circuit without Inputs, got \['x'\]"):
        to_qasm(circuit, 2)


DIALECTS = {
    "strict": ("u3(0.1,0.2,0.3) q[0]; cu1(0.4) q[0],q[1]; u0(1) q[1];", 2),
    "legacy gates": ("sx q[0]; rzz(0.2) q[0],q[1]; p(0.1) q[1]; cu(1,2,3,4) q[0],q[1];", 4),
    "its own cu": ("gate cu(a) x, y { rz(a) x; cx x, y; } cu(0.3) q[0], q[1];", 2),
    "registers": ("qreg r[2]; cx q[1], r[0]; h r; barrier q, r; measure q -> c;", 3),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_dialect_is_read(name: str) -> None:
    text, count = DIALECTS[name]
    circuit = from_qasm(HEAD + text)
    assert sum(n for gate, n in circuit.count_ops().items() if gate != "id") == count


FAULTS = {
    "unknown gate": ("foo q[0];", "line 5, column 1: 'foo' is not defined"),
    "unknown register": ("x r[0];", "line 5, column 3: 'r' is not defined"),
    "index": ("x q[3];", "line 5, column 5: index 3 is out-of-range"),
    "truncated": ("x q[0]", r"line 5, column \d+: unexpected end-of-file"),
    "later than the first dialect": ("sx q[0];\nfoo q[0];", "line 6, column 1: 'foo'"),
    "no angle": ("x q[0];\n  rx q[0]; x q[1];", "line 6, column 3: .*missing.*Give every gate"),
    "include of another file": ('include "/etc/hostname";', "line 5, column 9"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named_by_line_and_column(name: str) -> None:
    text, place = FAULTS[name]
    with pytest.raises(ConversionError, match=f"valid OpenQASM 2 program, got {place}"):
        from_qasm(HEAD + text)


def test_what_is_not_unitary_is_refused_by_position() -> None:
    for text, name in (("x q[0]; reset q[0];", "reset"), ("if (c==2) x q[0];", "if_else")):
        with pytest.raises(ConversionError, match=f"'{name}' at position"):
            from_qasm(HEAD + text)
