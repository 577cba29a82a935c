from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

import qml
from qml.plots import save_energy_plot

ENERGIES = -1.0 + 0.5 ** np.arange(20)


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The figures that are saved while a test runs."""
    saved: list[Figure] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda f, *a, **k: (saved.append(f), save(f, *a, **k)))
    return saved


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_suffix_decides_the_format(suffix: str, tmp_path: Path) -> None:
    path = save_energy_plot(ENERGIES, -1.0, tmp_path / f"picture{suffix}")
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert path.read_bytes().startswith(starts[suffix])


def test_picture_shows_energies_references_and_error(tmp_path: Path, figures: list[Figure]) -> None:
    save_energy_plot(ENERGIES, -1.0, tmp_path / "a.png", title="T", references=[("start", -0.5)])
    upper, lower = figures[0].axes
    np.testing.assert_array_equal(upper.lines[0].get_ydata(), ENERGIES)
    labels = [line.get_label() for line in upper.lines]
    assert labels == ["training, ends at -0.999998", "start, -0.500000", "exact, -1.000000"]
    np.testing.assert_allclose(lower.lines[0].get_ydata(), ENERGIES + 1.0)
    assert lower.get_yscale() == "log"
    assert lower.lines[1].get_label() == "kept from step 10 on"  # 2^-10 < 1.6e-3 < 2^-9
    assert figures[0].get_suptitle() == "T"


@pytest.mark.parametrize(
    ("energies", "label"),
    [([0.0, -1.0, 0.0, -1.0], "kept from step 3 on"), ([-1.0, -1.0], "kept from step 0 on")],
)
def test_first_step_that_is_kept(
    energies: list[float], label: str, tmp_path: Path, figures: list[Figure]
) -> None:
    save_energy_plot(energies, -1.0, tmp_path / "a.png")
    assert figures[0].axes[1].lines[1].get_label() == label


def test_run_that_ends_outside_marks_no_step(tmp_path: Path, figures: list[Figure]) -> None:
    save_energy_plot([0.0, -1.0, 0.0], -1.0, tmp_path / "a.png")
    assert len(figures[0].axes[1].lines) == 1


@pytest.mark.parametrize("energies", [[], 1.0, [[1.0]]])
def test_other_shapes_are_refused(energies: object, tmp_path: Path) -> None:
    with pytest.raises(qml.ShapeError, match=r"needs energies of shape \(S,\)"):
        save_energy_plot(energies, -1.0, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []
