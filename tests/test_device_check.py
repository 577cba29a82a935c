"""``scripts/device_check`` from the first line to the last, on the CPU."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import fake_cupy
import fake_cupy_arrays
import pytest
from sources import ROOT

from circuits.engines import cuda_outline

SCRIPT = ROOT / "scripts" / "device_check.py"
MISSING = ("cupy", "matplotlib", "numba", "pytest", "qiskit", "scipy", "tqdm")
"""What the program does without; without CuPy, too, where the device is the emulated one."""

# Any in this file: what a section reports.


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the script as where there is nothing but NumPy."""
    missing = f"import runpy, sys; sys.modules.update(dict.fromkeys({MISSING}))"
    runs = f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    command = [sys.executable, "-Werror", "-c", f"{missing}; {runs}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The script as a module; what it imports from beside itself goes with the test."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [str(SCRIPT.parent), *sys.path])
    import device_check

    yield device_check
    for name in set(sys.modules) - before:
        if name.startswith("device_"):
            del sys.modules[name]


def report(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The JSON that a run left, by section."""
    found = json.loads((tmp_path / "report.json").read_text())
    return {section["name"]: section for section in found}


@pytest.mark.slow
def test_all_sections_pass_on_the_emulated_device(tmp_path: Path) -> None:
    done = run("--device", "emulated", "--json", str(tmp_path / "report.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    found = report(tmp_path)
    assert {section["status"] for section in found.values()} == {"PASS"}
    details = {name: section["details"] for name, section in found.items()}
    assert details["recorded launches"]["launches"] > 10
    assert details["graph mode"]["graphs"] == 1
    assert details["batch of small circuits"]["ratio"] > 1
    assert len(details["forecasts"]["runs"]) == 24
    *_, aims, table = [part.splitlines() for part in done.stdout.split("\n\n")]
    assert aims[0] == "aims"
    assert [line.endswith(": not measured") for line in aims[1:]] == [True] * 3
    assert table[0].split() == ["section", "s", "result"]
    assert [line.split("  ")[0] for line in table[1:] if line[0] != " "] == list(details)


def test_missing_device_ends_the_check_with_the_reason() -> None:
    done = run("--device", "emulated:9")
    assert done.returncode == 1
    assert "FAIL" in done.stdout.splitlines()[-1]
    assert "an emulated device needs an ordinal from 0 to 3, got 9" in done.stdout


def test_no_section_begins_when_the_time_is_up(script: ModuleType) -> None:
    done = run("--device", "emulated", "--seconds", "0")
    assert done.returncode == 0
    assert done.stdout.split("\n\n")[-1].count("NOT RUN") == len(script.SECTIONS)


# -- on the stand-in for CuPy ----------------------------------------------------------------------


@pytest.mark.slow
def test_all_sections_pass_on_cupys_interface(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake_cupy.install(monkeypatch)
    with fake_cupy_arrays.reads_allowed("rows of the op table that wait for the device"):
        code = script.main(["--small", "--json", str(tmp_path / "report.json")])
    found = report(tmp_path)
    assert {name: s["details"] for name, s in found.items() if s["status"] != "PASS"} == {}
    assert (code, found["probe"]["details"]["driver"]) == (0, 13000)


# -- what goes wrong -------------------------------------------------------------------------------


class Odd(Exception):
    """A class that nobody expects."""


def broken(context: object) -> dict[str, Any]:
    raise Odd("broken")


def hanging(context: object) -> dict[str, Any]:
    release.wait(30)
    return {}


def fine(context: object) -> dict[str, Any]:
    return {"summary": "well"}


release = threading.Event()


def test_a_section_that_fails_or_hangs_does_not_stop_the_others(
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sections = {"broken": (broken, 1), "hanging": (hanging, 0.1), "fine": (fine, 1)}
    monkeypatch.setattr(script, "SECTIONS", sections)
    monkeypatch.setattr(script, "GRACE", 0.1)
    started = time.perf_counter()
    code = script.main(["--device", "emulated", "--json", str(tmp_path / "report.json")])
    assert time.perf_counter() - started < 10
    release.set()
    found = report(tmp_path)
    assert [section["status"] for section in found.values()] == ["FAIL", "FAIL", "PASS"]
    assert found["broken"]["details"] == {"error": "Odd: broken"}
    assert found["hanging"]["details"]["error"].startswith("it did not end within")
    assert code == 1
    assert "fine                       PASS" in capsys.readouterr().out


PLANTED: dict[str, Callable[..., Any]] = {
    "reverse_launches": lambda right, *args, **kw: right(*args, **kw) + right(*args, **kw),
    "forward_traffic": lambda right, *args, **kw: right(*args, **kw) + 8,
}


@pytest.mark.parametrize("name", PLANTED)
def test_wrong_prediction_fails_and_names_the_run(
    name: str,
    script: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    right = getattr(cuda_outline, name)
    monkeypatch.setattr(cuda_outline, name, lambda *a, **k: PLANTED[name](right, *a, **k))
    monkeypatch.setattr(script, "SECTIONS", {"forecasts": script.SECTIONS["forecasts"]})
    assert script.main(["--device", "emulated"]) == 1
    printed = capsys.readouterr().out.split("\n\n")[-1]
    assert "0 of 24 runs as predicted" in printed
    what = "launches" if "launches" in name else "bytes of states"
    run = f"6 qubits, tiles of the device, one sample, one observable, complex64: {what}"
    assert run in printed
    assert "predicted" in printed


def test_hidden_move_in_a_repeated_run_fails_and_names_it(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = script.Context("emulated", time.perf_counter() + 60, small=True)
    counting = sys.modules["device_counting"]
    right = counting.CountingEngine.forward

    def wrong(engine: Any, *args: Any) -> Any:
        engine.backend.send(args[1])
        return right(engine, *args)

    monkeypatch.setattr(counting.CountingEngine, "forward", wrong)
    found = counting.compared(context, counting.SMALL[0], "complex64")
    assert found["wrong"] == "uploads and downloads: (0, 0) predicted, (1, 0) counted"


# -- aims ------------------------------------------------------------------------------------------


def test_every_aim_is_printed_as_passed_or_missed(script: ModuleType) -> None:
    def told(**aims: float) -> list[str]:
        reports = [script.Report("a", "PASS", details={"aims": {k: x}}) for k, x in aims.items()]
        return [line.split(": ", 1)[1] for line in script.judged(reports).splitlines()[1:]]

    assert told() == [
        ">= 0.8 of a copy: not measured", "< 1 ms: not measured", "< 15 ms: not measured"
    ]  # fmt: skip
    assert told(stages=0.81, batch=0.9, chain=14.9) == [
        ">= 0.8 of a copy: 0.81 of a copy: pass", "< 1 ms: 0.9 ms: pass", "< 15 ms: 14.9 ms: pass"
    ]  # fmt: skip
    assert told(stages=0.79, batch=1.0, chain=20.0) == [
        ">= 0.8 of a copy: 0.79 of a copy: MISSED", "< 1 ms: 1 ms: MISSED", "< 15 ms: 20 ms: MISSED"
    ]  # fmt: skip
