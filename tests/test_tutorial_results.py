"""What the slower tutorials show at their full settings is so, and as the documentation says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from notebooks import run_as_script
from sources import ROOT

PAGE = (ROOT / "docs" / "tutorials.md").read_text(encoding="utf-8")
SAMPLES_APART = 0.025  # of an accuracy: a sample or two of the smallest test set


def documented(start: str) -> list[float]:
    """The figures of the row that begins so; percentages as fractions."""
    [row] = re.findall(rf"^\| {start}.* \| (.+) \|$", PAGE, re.MULTILINE)
    return [float(x.removesuffix(" %")) / (100 if "%" in x else 1) for x in row.split(", ")]


def test_figures_are_read_from_the_page() -> None:
    assert documented("digits 0-4") == pytest.approx([0.993, 0.651, 0.902])


@pytest.mark.slow
def test_qaoa_ratio_rises_with_the_number_of_layers(tmp_path: Path) -> None:
    names = run_as_script("04_qaoa_maxcut.py", tmp_path)
    edges, cut, ratios = names["edges"], names["cut"], names["result"]["ratios"]
    assert (np.bincount(np.ravel(edges)) == 3).all()
    assert names["result"]["sampled"] == sum(cut[a] != cut[b] for a, b in edges)
    assert ratios == sorted(ratios)
    assert ratios == pytest.approx(documented("QAOA"), abs=0.002)


@pytest.mark.slow
def test_data_entered_several_times_give_more_functions(tmp_path: Path) -> None:
    result = run_as_script("06_data_reuploading.py", tmp_path)["result"]
    once, twice, four, five = result["errors"].values()
    # What is left of a target without its frequencies beyond 1 or 2: half the squared amplitudes.
    np.testing.assert_allclose([once, twice], [0.25**2, 0.25**2 / 2], rtol=1e-3)
    assert [once, twice] == pytest.approx(documented("function"), abs=1e-4)
    assert max(four, five) < 1e-5
    accuracies = list(result["accuracies"].values())
    assert min(accuracies[1:]) > accuracies[0] + 0.08
    assert accuracies == pytest.approx(documented("wave"), abs=SAMPLES_APART)


@pytest.mark.slow
def test_unfrozen_encoder_is_better_than_the_frozen_one(tmp_path: Path) -> None:
    result = run_as_script("07_frozen_parts.py", tmp_path)["result"]
    first, frozen, tuned, _, same = result.values()
    assert tuned > frozen + 0.15
    assert same
    assert [first, frozen, tuned] == pytest.approx(documented("digits"), abs=SAMPLES_APART)


@pytest.mark.slow
def test_circuit_beside_logistic_regression(tmp_path: Path) -> None:
    result = run_as_script("08_against_logistic_regression.py", tmp_path)["result"]
    moons, wine = result["two moons"], result["wine"]
    assert moons["layers"] > 1
    assert moons["circuit"] > moons["logistic"] + 0.1
    assert wine["circuit"] > wine["logistic"] - 0.04
    for row, found in (("two moons", moons), ("wine", wine)):
        reached = [found["circuit"], found["logistic"]]
        assert reached == pytest.approx(documented(row), abs=SAMPLES_APART)


@pytest.mark.slow
def test_gradients_vanish_by_the_laws_and_good_starts_train(tmp_path: Path) -> None:
    result = run_as_script("09_vanishing_gradients.py", tmp_path)["result"]
    decay = list(result["decay"].values())
    np.testing.assert_allclose(decay, [2, 4], rtol=0.1)
    assert decay == pytest.approx(documented("variance"), abs=0.01)
    ground, last = result["ground"], result["last"]
    for kind in ("small angles", "identity blocks"):
        assert result["slopes"][kind] > 4 * result["slopes"]["random"]
        assert ground < last[kind] < 0.95 * ground
    assert last["random"] > 0.5 * ground
