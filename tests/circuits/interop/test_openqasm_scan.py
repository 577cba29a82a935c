"""Absurd programs are refused before a parser sees them; sane ones of any style are not."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from circuits import ConversionError
from circuits.interop.openqasm_scan import (
    MAX_BITS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_OPERATORS,
    scan_program,
)

HEAD = {2: 'OPENQASM 2.0;\ninclude "qelib1.inc";\n', 3: "OPENQASM 3.0;\nqubit[3] q;\n"}


def doubling(levels: int) -> str:
    """Definitions that each use the one before twice."""
    lines = ["gate a0 q { x q; }"]
    lines += [f"gate a{k + 1} q {{ a{k} q; a{k} q; }}" for k in range(levels)]
    return "\n".join([*lines, "qreg q[1];", f"a{levels} q[0];"])


ABSURD = {
    "qreg": (2, "qreg q[1000000000];", r"line 3, column 8: a register's size.*up to 4096"),
    "many digits": (2, f"qreg q[{'9' * 5000}];", "a register's size"),
    "creg": (2, "creg c[1000000000];", "line 3, column 8"),
    "several registers": (2, "qreg a[4000];\nqreg b[97];", "line 4, column 1: more than 4096 bits"),
    "qubit": (3, "qubit[1_000_000_000] r;", "line 3, column 7"),
    "hexadecimal": (3, "qubit[0xFFFFFFFF] r;", "line 3, column 7"),
    "product": (3, "qubit[1000*1000] r;", "line 3, column 7"),
    "shift": (3, "bit[1<<30] r;", "line 3, column 5"),
    "definitions": (2, doubling(60), "line 65, column 1: more than 1048576 gates"),
    "loop": (3, "for int i in [0:1000000000] { x q[0]; }", "a range's bound"),
    "loop without braces": (3, "for int i in [0:1000000000] x q[0];", "a range's bound"),
    "loop of a product": (3, "for int i in [0:9*9999999] { x q[0]; }", "a range's bound"),
    "loops": (
        3,
        "for int i in [-5000:5000] {\n  for int j in [0:2:1000] { x q[0]; } }",
        "line 4, column 29: more than 1048576 gates",
    ),
    "loop over a set": (
        3,
        "for int i in {1, 2, 3} { for int j in [0:400000] { x q[0]; } }",
        "more than 1048576 gates",
    ),
    "empty range": (3, "for int i in [:] { x q[0]; }", "a range without numbers"),
    "power": (3, "pow(1000000000) @ x q[0];", "line 3, column 5: a power"),
    "power of a power": (3, "pow(2000) @ pow(-2000) @ x q[0];", "more than 1048576 gates"),
    "float power": (3, "pow(1e9) @ x q[0];", "line 3, column 5: a power"),
    "controls": (3, "ctrl(1000000000) @ x q[0], q[1];", "a number of controls"),
    "open controls": (3, "negctrl(1000000000) @ x q[0], q[1];", "a number of controls"),
    "brackets": (2, "qreg q[1]; rx(" + "(" * 100_000, f"more than {MAX_DEPTH} levels"),
    "blocks": (3, "if (true) { " * 100_000, f"more than {MAX_DEPTH} levels"),
    "signs": (2, "qreg q[1]; rx(" + "-" * 100_000 + "1) q[0];", f"{MAX_OPERATORS} operators"),
    "sum": (3, "rx(1" + "+1" * 100_000 + ") q[0];", f"{MAX_OPERATORS} operators"),
    "modifiers": (3, "inv @ " * 100_000 + "x q[0];", f"{MAX_OPERATORS} operators"),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_program_is_refused_at_once(name: str) -> None:
    version, text, place = ABSURD[name]
    start = time.thread_time()
    with pytest.raises(ConversionError, match=f"valid OpenQASM {version} program.*{place}"):
        scan_program(HEAD[version] + text)
    assert time.thread_time() - start < 0.5


SANE = {
    "largest register": (2, f"qreg q[{MAX_BITS}]; creg c[{MAX_BITS}]; h q; measure q -> c;"),
    "definitions": (2, doubling(15)),
    "unused definitions": (2, doubling(60).rpartition("\n")[0]),
    "comments": (2, "// qreg q[1000000000];\n/* qreg r[1000000000]; {{{{ */ qreg q[1];"),
    "comments without end": (2, "qreg q[1]; " + "/* " * 300_000),
    "text": (3, '@note "qubit[1000000000] q; ((("\nx q[0];'),
    "loop": (3, "for int i in [-5:2:9] { rx(i) q[0]; } for int j in q { x j; }"),
    "set": (3, "for int i in {1, 2} { rx(i) q[0]; }"),
    "array": (3, "array[int[8], 2] a = {1, 2}; x q[0];"),
    "modifiers": (3, "pow(0.5) @ ctrl @ negctrl(2) @ x q[0], q[1], q[2]; inv @ x q[0];"),
    "large angles": (3, "rx(123456789012) q[0]; input float[64] t; rx(1e300) q;"),
    "faults for the parser": (
        3,
        "} ] ; @ ; pow @ x; pow; for ; for in ; qubit",
    ),
}


@pytest.mark.parametrize("name", SANE)
def test_sane_program_passes(name: str) -> None:
    version, text = SANE[name]
    start = time.thread_time()
    assert scan_program(HEAD[version] + text) == version
    assert time.thread_time() - start < 0.5


def test_long_program_passes_quickly() -> None:
    text = HEAD[2] + "qreg q[3];" + "cx q[0],q[1]; rz(0.125*pi) q[2];\n" * 20_000
    start = time.thread_time()
    assert scan_program(text) == 2
    assert time.thread_time() - start < 2.0


@pytest.mark.parametrize("text", ["", "qreg q[1];", "OPENQASM", "OPENQASM 4.0;", "\x00"])
def test_program_needs_a_version(text: str) -> None:
    with pytest.raises(ConversionError, match=r"needs OpenQASM 2 or 3.*Begin the .* pass its text"):
        scan_program(text)


@pytest.mark.parametrize("given", [3, b"OPENQASM 2.0;", " " * (MAX_CHARACTERS + 1)])
def test_program_is_text_of_bounded_length(given: object) -> None:
    with pytest.raises(ConversionError, match=f"at most {MAX_CHARACTERS} characters"):
        scan_program(given)


WORDS = re.findall(
    r"\S+", "OPENQASM 3 2.0 ; { } ( ) [ ] @ = , : in for gate pow ctrl qreg q x 0 7 - +"
)


@given(st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_text_gets_a_version_or_a_refusal(text: str) -> None:
    with suppress(ConversionError):
        assert scan_program(text) in (2, 3)
