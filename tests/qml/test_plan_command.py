from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from qml import Circuit, Parameter, hardware_efficient, to_qasm
from qml.__main__ import main

HEAD = 'OPENQASM 2.0; include "qelib1.inc"; '


def written(folder: Path, text: str) -> str:
    path = folder / "program.qasm"
    path.write_text(text, encoding="utf-8")
    return str(path)


def rows(text: str) -> dict[str, str]:
    return {line[:13].strip(): line[13:] for line in text.splitlines()}


@pytest.mark.parametrize("version", [2, 3])
def test_program_is_read_and_its_plan_printed(
    version: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    circuit = Circuit(3).h(0).cx(0, 1).ry(Parameter(0.1, name="t"), 2)
    path = written(tmp_path, to_qasm(circuit, version))
    assert main(["plan", path, "--engine", "reference"]) == 0
    found = rows(capsys.readouterr().out)
    parameters = "1 parameter" if version == 3 else "0 parameters"
    assert found["program"] == f"{path}: 3 gates (1 h, 1 cx, 1 ry), {parameters}"
    assert found["run"] == "3 qubits, complex128, 1 sample"
    assert found["engine"] == "'reference', as asked"
    assert found["memory"].endswith("available " + found["memory"].rpartition("available ")[2])
    what = "a value with its gradient" if version == 3 else "a value"
    assert found["time"].endswith(f"s {what}, as timed")


def test_options_are_those_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, to_qasm(hardware_efficient(4, 1, initial=0.1)))
    assert main(["plan", path, "--batch", "500", "--dtype", "complex64"]) == 0
    found = rows(capsys.readouterr().out)
    assert found["run"] == "4 qubits, complex64, 500 samples"
    assert found["engine"] == "'numba', the default"


def test_plan_on_a_device_says_launches_and_traffic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, to_qasm(hardware_efficient(3, 1, initial=0.1), 3))
    assert main(["plan", path, "--device", "emulated", "--engine", "cuda"]) == 0
    found = rows(capsys.readouterr().out)
    assert found["engine"] == "'cuda', as asked"
    assert found["launches"] == "1 forward, 1 in the reverse sweep"
    assert "a value with its gradient" in found["time"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--engine", "cuda"], "engine 'cuda' needs a device that it computes on, got 'cpu'"),
        (["--device", "gpu"], "a device needs one of ['cpu', 'emulated', 'cuda']"),
    ],
)
def test_device_that_cannot_be_used_is_refused(
    options: list[str], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", written(tmp_path, HEAD + "qreg q[1]; h q[0];"), *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert reason in err


REFUSED = [
    (HEAD + "qreg q[2]; hh q[0];", "line 1, column 48: 'hh' is not defined"),
    (HEAD + "qreg q[45]; h q[0];", "a run of 45 qubits, complex128, batch 1, needs 1"),
    (HEAD + "qreg q[1000000000];", "line 1, column 44: a register's size"),
    ("hello", "from_qasm needs OpenQASM 2 or 3, got version 'none'"),
    (HEAD + "qreg q[1]; h q[0]; reset q[0];", "reset"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_program_that_cannot_run_is_one_line_and_status_2(
    text: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", written(tmp_path, text)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("python -m qml plan: error: ")
    assert err.count("\n") == 1
    assert reason in err


def test_file_that_cannot_be_read_is_one_line_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, reason in ((tmp_path / "no.qasm", "No such file"), (tmp_path, "Is a directory")):
        assert main(["plan", str(path)]) == 2
        assert reason in capsys.readouterr().err
    (tmp_path / "binary.qasm").write_bytes(b"\xff\xfe\x00")
    assert main(["plan", str(tmp_path / "binary.qasm")]) == 2
    assert "text in UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan"], "required: file"),
        (["plan", "a.qasm", "--batch", "0"], "--batch: needs an integer from 1 on, got '0'"),
        (["plan", "a.qasm", "--dtype", "float32"], "invalid choice: 'float32'"),
        (["plan", "a.qasm", "--engine", "fast"], "invalid choice: 'fast'"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_command_says_by_its_status_that_it_refused() -> None:
    command = [sys.executable, "-m", "qml", "plan", "missing.qasm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
