"""The scripts in ``tutorials`` run, with short settings."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "tutorials").glob("*.py"))
SHORT = {
    "01_h2_vqe.py": {"steps": 5},
    "02_hybrid_classifier.py": {"epochs": 1},
    "03_optimizers.py": {"max_steps": 2},
    "04_qaoa_maxcut.py": {"max_layers": 2, "steps": 3},
    "05_frozen_encoder.py": {"epochs": (1, 1, 1)},
    "06_against_logistic_regression.py": {"epochs": 1},
    "07_qiskit_round_trip.py": {"steps": 3, "noisy_steps": 1, "precision": 0.1},
}


def test_every_tutorial_has_short_settings() -> None:
    assert [script.name for script in SCRIPTS] == sorted(SHORT)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_tutorial_runs(
    script: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    result = runpy.run_path(str(script))["main"](**SHORT[script.name])
    assert isinstance(result, float)
    assert capsys.readouterr().out
