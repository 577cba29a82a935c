"""A training that is killed again and again ends bit for bit like one that is left alone."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import killable_training
import pytest
from sources import ROOT

import qml

KILLS = 30


def start(folder: Path) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, killable_training.__file__, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_thirty_kills_change_nothing(tmp_path: Path) -> None:
    draw = random.Random(0)
    folder = tmp_path / "killed"
    reached = []
    for _ in range(KILLS):
        with start(folder) as process:
            assert process.stdout is not None
            steps = [int(process.stdout.readline()) for _ in range(draw.randint(1, 15))]
            time.sleep(draw.uniform(0.0, 0.004))  # about a step, most of which is the save
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        reached.append(steps[-1])
    assert reached == sorted(reached)
    assert reached[-1] > KILLS
    for path in (folder, tmp_path / "whole"):
        with start(path) as process:
            process.communicate()
        assert process.returncode == 0
    killed, whole = ((tmp_path / name / "result.ket").read_bytes() for name in ("killed", "whole"))
    assert len(qml.load(folder / "result.ket")["losses"]) == 600
    assert killed == whole
