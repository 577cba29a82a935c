"""Broken OpenQASM programs: a circuit or the project's own error, in bounded time and memory."""

from __future__ import annotations

import math
import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from limits import MIB, limited
from strategies import mutated_texts

from circuits import Circuit, CircuitError, ConversionError, from_qasm

VERSION_2 = [
    """OPENQASM 2.0;
include "qelib1.inc";
qreg q[3];
creg c[3];
h q;
cx q[0],q[1];
barrier q;
rz(0.5*pi/2) q[2];
measure q -> c;
""",
    """OPENQASM 2.0;
include "qelib1.inc";
gate g(a,b) x,y { rx(a) x; cu3(a,b,-a^2) x,y; }
opaque o x;
qreg q[2];
qreg r[2];
g(sin(0.1),1e-3) q[1],r[0];
ccx q[0],q[1],r[1];
""",
    """OPENQASM 2.0;
include "qelib1.inc";
qreg q[2];
creg c[2];
u3(1,2,3) q[0];
if(c==1) x q[0];
reset q[1];
measure q[0] -> c[1];
""",
]
VERSION_3 = [
    """OPENQASM 3.0;
include "stdgates.inc";
input float[64] beta;
qubit[3] q;
bit[3] c;
gphase(0.5);
ctrl @ negctrl @ rx(2*beta) q[2], q[0], q[1];
pow(3) @ t q[0];
c = measure q;
""",
    """OPENQASM 3.0;
include "stdgates.inc";
gate g(b, a) x, y { rx(a) x; cp(b/2) x, y; }
qubit[2] q;
for int i in [1:2:5] { rz(i) q[0]; }
let r = q[0:1];
h r;
g(1, -2) q[1], q[0];
""",
    """// ketgrad {"names": {"beta": "w[1]"}, "values": {"w[1]": 0.5}, "inputs": {}}
OPENQASM 3.0;
include "stdgates.inc";
input float[64] beta;
qubit q;
rx(-beta/2 + 0.25) q;
""",
]
WORDS_2 = re.findall(
    r"\S+",
    "qreg creg gate opaque include if == -> measure reset pi ln sqrt ^ U CX "
    "1e999 *1e308 /0 exp(9e2)",
)
WORDS_3 = re.findall(
    r"\S+",
    "qubit bit gate def let for while in if else input output const float[64] int[32] angle box "
    "complex inv @ pow( ctrl( negctrl gphase( measure reset delay[1ns] extern #pragma return "
    "1e999 *1e308 /0",
)
HEAD_2 = 'OPENQASM 2.0;\ninclude "qelib1.inc";\n'
HEAD_3 = 'OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[2] q;\n'


def read(text: str) -> None:
    with limited(), suppress(CircuitError):
        circuit = from_qasm(text)
        assert isinstance(circuit, Circuit)
        angles = [a for step in circuit for a in step.angles if isinstance(a, float)]
        assert all(map(math.isfinite, angles))


@pytest.mark.parametrize("text", [*VERSION_2[:2], *VERSION_3])
def test_unchanged_texts_are_read(text: str) -> None:
    from_qasm(text)


@settings(max_examples=600)
@given(mutated_texts(VERSION_2, WORDS_2))
def test_version_2(text: str) -> None:
    read(text)


@settings(max_examples=400)
@given(mutated_texts(VERSION_3, WORDS_3))
def test_version_3(text: str) -> None:
    read(text)


def definitions(count: int) -> str:
    """A chain of definitions, each of which uses the one before."""
    lines = ["gate a0 q { x q; }"]
    return "\n".join([*lines, *[f"gate a{k + 1} q {{ a{k} q; }}" for k in range(count)]])


ABSURD = {
    "qubits": HEAD_2 + "qreg q[1000000000];",
    "digits": HEAD_2 + "qreg q[" + "9" * 100_000 + "];",
    "bits": HEAD_3 + "bit[1000000000] c;",
    "parentheses": HEAD_3 + "rx(" + "(" * 1_000_000,
    "nested definitions": HEAD_2 + definitions(200) + "\nqreg q[1]; a200 q[0];",
    "many definitions": HEAD_2 + definitions(20_000),
    "loop": HEAD_3 + "for int i in [0:1000000000] { x q[0]; }",
    "controls": HEAD_3 + "ctrl(1000000000) @ x q[0], q[1];",
}


@pytest.mark.parametrize("text", ABSURD.values(), ids=ABSURD)
def test_absurd_program_is_refused_before_anything_is_built(text: str) -> None:
    with limited(64 * MIB, seconds=2.0), pytest.raises(CircuitError, match=r"needs|more than"):
        from_qasm(text)


# Each was once an error of Python's, from a parser that does not check it.
UNCHECKED = {
    "missing angle": (HEAD_2 + "qreg q[1]; rx q[0];", "OpenQASM 2 program.*Give every gate its"),
    "index": (HEAD_3 + "x q[5];", r"line 4, column 1: IndexError"),
    "division": (HEAD_3 + "x q[0];\nrx(1/0) q[0];", "line 5, column 1: ZeroDivisionError"),
    "digits": (HEAD_3 + "rx(" + "9" * 5000 + ") q[0];", "3 program, got: Exceeds the limit"),
    "index of many digits": (
        HEAD_2 + "qreg q[2]; x q[" + "9" * 25 + "];",
        "line 3, column 16: a number of more than 18 digits",
    ),
    "version of many digits": (
        "OPENQASM 2." + "9" * 25 + ";",
        "line 1, column 10: a number of more than 18 digits",
    ),
    "empty power": (HEAD_3 + "pow() @ x q[0];", "line 4, column 1: a power"),
}


GATE = "gate g(a) x { rx(1e200*a) x; }\n"
BEYOND = {
    "literal": ("rx(1e999) q[0];", "line 5, column 1"),
    "negative": ("h q[0]; rx(-1e999) q[0];", "line 5, column"),
    "product": ("\n  // a comment; with }\n  rx(1e300*1e300) q[0];", "line 7, column 3"),
    "no number": ("rx(1e999-1e999) q[0];", "got nan|angle nan"),
    "division": ("rx(1/0) q[0];", "line 5, column .*ero"),
    "division of floats": ("rx(0.0/0.0) q[0];", "line 5, column .*ero"),
    "inside a definition": ("g(1e200) q[0];", "line 5, column 1"),
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(("statement", "match"), BEYOND.values(), ids=BEYOND)
def test_angle_beyond_the_numbers_is_refused_with_its_line(
    statement: str, match: str, version: int
) -> None:
    head = HEAD_2 + "qreg q[2];\n" if version == 2 else HEAD_3
    text = head + GATE + statement + "\nh q;\n" + GATE.replace("g(", "k(")
    with pytest.raises(ConversionError, match=match):
        from_qasm(text)


@pytest.mark.parametrize(("text", "match"), UNCHECKED.values(), ids=UNCHECKED)
def test_fault_that_the_parsers_do_not_check(text: str, match: str) -> None:
    with pytest.raises(ConversionError, match=match):
        from_qasm(text)
