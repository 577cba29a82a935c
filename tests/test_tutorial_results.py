"""What the tutorials show at their full settings is so."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sources import ROOT


def tutorial(name: str) -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tutorials" / name))


def percentages(text: str) -> list[float]:
    return [float(found) for found in re.findall(r"([\d.]+)%", text)]


@pytest.mark.slow
def test_qaoa_ratio_rises_with_the_number_of_layers() -> None:
    names = tutorial("04_qaoa_maxcut.py")
    edges = names["random_graph"]()
    assert (np.bincount(np.ravel(edges)) == 3).all()
    best, sides = names["best_cut"](edges)
    assert best == sum(sides[-1 - a] != sides[-1 - b] for a, b in edges)
    circuits = names["solve"](edges, 4, 150)
    ratios = [names["expected_cut"](circuit, edges) / best for circuit in circuits]
    assert ratios == sorted(ratios)
    assert ratios[0] > 0.75
    assert 0.92 < ratios[3] < 1.0


@pytest.mark.slow
def test_unfrozen_encoder_is_better_than_the_frozen_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tuned = tutorial("05_frozen_encoder.py")["main"]()
    first, frozen, unfrozen = percentages(capsys.readouterr().out)
    assert first > 97
    assert unfrozen > frozen + 15
    assert tuned > 0.85


@pytest.mark.slow
def test_circuit_beside_logistic_regression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    tutorial("06_against_logistic_regression.py")["main"]()
    moons, straight, wine, other = percentages(capsys.readouterr().out)
    assert moons > straight + 10
    assert wine > other - 4
