"""Figures that notebooks show, without pyplot."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from sources import ROOT

from circuits import Circuit, bloch_plot, probability_plot
from circuits.drawing.picture import Picture, save_picture

SHOWN = """
import sys
from circuits import Circuit
from IPython.core.formatters import DisplayFormatter
data, _ = DisplayFormatter().format(Circuit(2).h(0).cx(0, 1).draw("mpl"))
assert "matplotlib.pyplot" not in sys.modules
assert data["image/png"].startswith(b"\\x89PNG"), data
"""


def test_notebook_shows_a_circuit_before_pyplot_is_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOWN], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "picture",
    [Circuit(1).h(0).draw("mpl"), bloch_plot([0, 0, 1]), probability_plot([0.5, 0.5])],
    ids=["circuit", "bloch", "probabilities"],
)
def test_every_drawing_is_a_figure_that_shows_itself(picture: Picture) -> None:
    assert isinstance(picture, Figure)
    assert picture._repr_png_().startswith(b"\x89PNG")
    assert pickle.loads(pickle.dumps(picture))._repr_png_() == picture._repr_png_()


def test_picture_is_saved_by_its_suffix(tmp_path: Path) -> None:
    path = save_picture(Picture(), tmp_path / "a.svg")
    assert (path, path.read_bytes()[:5]) == (tmp_path / "a.svg", b"<?xml")
