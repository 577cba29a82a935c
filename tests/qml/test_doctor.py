from __future__ import annotations

import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from autodiff import Parameter, Tensor
from autodiff.device import device_kinds
from circuits.engines.registry import ENGINES, get_engine
from qml import doctor
from qml.__main__ import main


@pytest.mark.parametrize(
    ("kind", "name"), [*(("engine", e) for e in ENGINES), ("device", "cpu"), ("device", "emulated")]
)
def test_what_works_passes(kind: str, name: str) -> None:
    finding = doctor.examine(kind, name)
    assert finding.passed
    assert finding.text.startswith("value and gradient are right")
    assert finding.remedy == ""


def test_unknown_engine_fails_with_the_reason() -> None:
    finding = doctor.examine("engine", "fast")
    assert not finding.passed
    assert "EngineError: engine needs one of" in finding.text
    assert finding.remedy.startswith("Report it")


def test_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = "raise ModuleNotFoundError(\"No module named 'numba'\")\n"
    (tmp_path / "numba.py").write_text(broken, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finding = doctor.examine("engine", "numba")
    assert not finding.passed
    assert finding.text == "ModuleNotFoundError: No module named 'numba'"
    assert finding.remedy == f"Install it: {sys.executable} -m pip install numba"


def test_crash_takes_down_only_the_process_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numba.py").write_text("import os\nos.abort()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finding = doctor.examine("engine", "numba")
    assert not finding.passed
    assert finding.text == "the process ended with -6"


def test_engine_that_takes_too_long_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numba.py").write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finding = doctor.examine("engine", "numba", timeout=2.0)
    assert not finding.passed
    assert finding.text == "no answer within 2 s"


def test_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = get_engine("reference")
    forward = engine.forward

    def shifted(*args: object, **kwargs: object) -> tuple[np.ndarray, np.ndarray]:
        state, values = forward(*args, **kwargs)
        return state, values + 1e-9

    monkeypatch.setattr(engine, "forward", shifted)
    with pytest.raises(ArithmeticError, match="value and gradient need"):
        doctor.check_engine("reference")


def test_versions_name_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", ("numpy", "no-such-package"))
    assert doctor.versions() == {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "no-such-package": "not installed",
    }


def test_device_that_is_not_there_says_what_to_do_and_is_not_broken() -> None:
    finding = doctor.examine("device", "emulated:x")
    assert not finding.passed
    assert finding.absent
    assert finding.text.startswith("a device needs one of ['cpu', 'emulated'")
    assert finding.remedy == "Leave device out or pass 'cpu'."


def test_gpu_works_or_is_absent_with_a_remedy() -> None:
    finding = doctor.examine("device", "cuda")
    assert finding.passed or (finding.absent and finding.remedy)


def test_result_on_another_device_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    value = Tensor(1.0)

    def elsewhere(theta: Parameter) -> Tensor:
        theta.grad = Tensor(1.0, device="emulated")
        return value

    monkeypatch.setattr(doctor, "_check_answer", elsewhere)
    with pytest.raises(ArithmeticError, match="need the device 'emulated', got 'cpu' and 'emul"):
        doctor.check_device("emulated")


@pytest.mark.parametrize("broken", ["", "numba", "emulated", "absent"])
def test_command_prints_a_line_for_each_and_says_how_it_went(
    broken: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def examine(kind: str, name: str) -> doctor.Finding:
        if name == broken or (broken == "absent" and name == "emulated"):
            return doctor.Finding(name, False, "why", "do", absent=broken == "absent")
        return doctor.Finding(name, True, "fine")

    monkeypatch.setattr(doctor, "examine", examine)
    assert main(["doctor"]) == (0 if broken in ("", "absent") else 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["python", platform.python_version()]
    assert any(line.split() == ["threads", *doctor.threads().split()] for line in lines)
    rows = [line.split() for line in lines if line.startswith(("engine", "device"))]
    assert [row[:2] for row in rows] == [
        *(["engine", name] for name in ENGINES),
        *(["device", name] for name in device_kinds()),
    ]
    failed = {row[1] for row in rows if row[2:] == ["FAIL", "why"]}
    assert failed == {"absent": {"emulated"}, "": set()}.get(broken, {broken})
    assert sum(line.strip() == "do" for line in lines) == len(failed)
