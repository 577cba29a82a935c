from __future__ import annotations

import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from circuits.engines.registry import ENGINES, get_engine
from qml import doctor
from qml.__main__ import main


@pytest.mark.parametrize("engine", ENGINES)
def test_working_engine_passes(engine: str) -> None:
    finding = doctor.examine(engine)
    assert finding.passed
    assert finding.text.startswith("value and gradient are right")
    assert finding.remedy == ""


def test_unknown_engine_fails_with_the_reason() -> None:
    finding = doctor.examine("fast")
    assert not finding.passed
    assert "EngineError: engine needs one of" in finding.text
    assert finding.remedy.startswith("Report it")


def test_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = "raise ModuleNotFoundError(\"No module named 'numba'\")\n"
    (tmp_path / "numba.py").write_text(broken, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finding = doctor.examine("numba")
    assert not finding.passed
    assert finding.text == "ModuleNotFoundError: No module named 'numba'"
    assert finding.remedy == f"Install it: {sys.executable} -m pip install numba"


def test_crash_takes_down_only_the_process_of_the_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numba.py").write_text("import os\nos.abort()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finding = doctor.examine("numba")
    assert not finding.passed
    assert finding.text == "the process ended with -6"


def test_engine_that_takes_too_long_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "numba.py").write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    finding = doctor.examine("numba", timeout=2.0)
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


@pytest.mark.parametrize("passed", [True, False])
def test_command_prints_a_line_an_engine_and_says_how_it_went(
    passed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        doctor,
        "examine",
        lambda name: doctor.Finding(
            name, passed or name == "reference", "why", "" if passed else "do"
        ),
    )
    assert main(["doctor"]) == (0 if passed else 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["python", platform.python_version()]
    assert "reference   PASS  why" in lines
    assert f"numba       {'PASS' if passed else 'FAIL'}  why" in lines
    assert any(line.split() == ["threads", *doctor.threads().split()] for line in lines)
