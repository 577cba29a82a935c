"""The two public functions: what they accept, and that text and file are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from circuits import Circuit, ConversionError, Parameter, from_qasm, to_qasm

BELL = 'OPENQASM 2.0; include "qelib1.inc"; qreg q[2]; h q[0]; cx q[0], q[1];'


def test_file_is_read_as_its_text(tmp_path: Path) -> None:
    path = tmp_path / "bell.qasm"
    path.write_text(BELL)
    assert from_qasm(path) == from_qasm(BELL) == Circuit(2).h(0).cx(0, 1)


def test_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bell.qasm"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConversionError, match="needs text in UTF-8"):
        from_qasm(path)


def test_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.qasm"
    with path.open("wb") as file:
        file.truncate(1 << 34)
    with pytest.raises(ConversionError, match="needs a file of at most"):
        from_qasm(path)


@pytest.mark.parametrize("version", [2, 3])
def test_both_versions_are_written_and_read(version: int) -> None:
    circuit = Circuit(2).rx(Parameter(0.25, name="t"), 0).cx(0, 1)
    text = to_qasm(circuit, version)
    assert text.startswith(f"OPENQASM {version}.0;")
    assert from_qasm(text).count_ops() == {"rx": 1, "cx": 1}


def test_other_things_are_refused() -> None:
    with pytest.raises(ConversionError, match=r"needs a Circuit and a version.*got str and 3"):
        to_qasm(BELL)
    with pytest.raises(ConversionError, match="got Circuit and 1"):
        to_qasm(Circuit(1), 1)


@pytest.mark.parametrize("version", [2, 3])
def test_two_bits_that_read_one_qubit_survive(version: int) -> None:
    circuit = Circuit(2).h(0).measure([0, 1, 0], [2, 0, 1])
    assert from_qasm(to_qasm(circuit, version)).measured == {2: 0, 0: 1, 1: 0}


def test_refusal_in_version_2_names_the_line_behind_definitions_and_comments() -> None:
    head = 'OPENQASM 2.0;\ninclude "qelib1.inc";\nqreg q[2]; creg c[2];\n'
    text = head + "gate g a { h a; x a; } // no; } end\nh q;\nmeasure q -> c;\n  x q[1];\ng q[0];\n"
    with pytest.raises(ConversionError, match=r"mid-circuit .* Look at line 7, column 3\."):
        from_qasm(text)
