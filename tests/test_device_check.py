"""``scripts/device_check`` from the first line to the last, on the emulated device."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from sources import ROOT

SCRIPT = ROOT / "scripts" / "device_check.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_all_sections_pass_on_the_emulated_device(tmp_path: Path) -> None:
    done = run("--device", "emulated", "--json", str(tmp_path / "report.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    reports = json.loads((tmp_path / "report.json").read_text())
    assert [report["status"] for report in reports] == ["PASS"] * len(reports)
    details = {report["name"]: report["details"] for report in reports}
    assert details["recorded launches"]["launches"] > 10
    assert details["graph mode"]["graphs"] == 1
    assert details["batch of small circuits"]["ratio"] > 1
    table = done.stdout.split("\n\n")[-1].splitlines()
    assert table[0].split() == ["section", "s", "result"]
    assert [line.split("  ")[0] for line in table[1:] if line[0] != " "] == list(details)


def test_missing_device_ends_the_check_with_the_reason() -> None:
    done = run("--device", "emulated:9")
    assert done.returncode == 1
    assert "FAIL" in done.stdout.splitlines()[-1]
    assert "an emulated device needs an ordinal from 0 to 3, got 9" in done.stdout


def test_no_section_begins_when_the_time_is_up() -> None:
    done = run("--device", "emulated", "--seconds", "0")
    assert done.returncode == 0
    assert done.stdout.split("\n\n")[-1].count("NOT RUN") == 11
