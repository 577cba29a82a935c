from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import qml
from qml.plots import energy_plot, learning_curves, save_energy_plot, save_learning_curves

ENERGIES = -1.0 + 0.5 ** np.arange(20)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_suffix_decides_the_format(suffix: str, tmp_path: Path) -> None:
    path = save_energy_plot(ENERGIES, -1.0, tmp_path / f"picture{suffix}")
    starts = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert path.read_bytes().startswith(starts[suffix])


def test_picture_shows_energies_references_and_error() -> None:
    figure = energy_plot(ENERGIES, -1.0, title="T", references=[("start", -0.5)])
    upper, lower = figure.axes
    np.testing.assert_array_equal(upper.lines[0].get_ydata(), ENERGIES)
    labels = [line.get_label() for line in upper.lines]
    assert labels == ["training, ends at -0.999998", "start, -0.500000", "exact, -1.000000"]
    np.testing.assert_allclose(lower.lines[0].get_ydata(), ENERGIES + 1.0)
    assert lower.get_yscale() == "log"
    assert lower.lines[1].get_label() == "kept from step 10 on"  # 2^-10 < 1.6e-3 < 2^-9
    assert figure.get_suptitle() == "T"


@pytest.mark.parametrize(
    ("energies", "label"),
    [([0.0, -1.0, 0.0, -1.0], "kept from step 3 on"), ([-1.0, -1.0], "kept from step 0 on")],
)
def test_first_step_that_is_kept(energies: list[float], label: str) -> None:
    assert energy_plot(energies, -1.0).axes[1].lines[1].get_label() == label


def test_run_that_ends_outside_marks_no_step() -> None:
    assert len(energy_plot([0.0, -1.0, 0.0], -1.0).axes[1].lines) == 1


@pytest.mark.parametrize("energies", [[], 1.0, [[1.0]]])
def test_other_shapes_are_refused(energies: object, tmp_path: Path) -> None:
    with pytest.raises(qml.ShapeError, match=r"needs energies of shape \(S,\)"):
        save_energy_plot(energies, -1.0, tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


# -- learning curves -------------------------------------------------------------------------------


def history(epochs: int, steps: int = 4) -> qml.History:
    records = [
        qml.EpochRecord(
            epoch=k,
            step=k * steps,
            lr=0.1,
            seconds=0.0,
            values={
                "loss": 1 / k,
                "accuracy": 1 - 0.5 / k,
                "validation_loss": 1.2 / k,
                "validation_accuracy": 1 - 0.6 / k,
            },
        )
        for k in range(1, epochs + 1)
    ]
    return qml.History(losses=[1.0] * (steps * epochs + 1), epochs=records)


def test_learning_curves_are_saved(tmp_path: Path) -> None:
    path = save_learning_curves(history(1), tmp_path / "curves.svg", title="T")
    assert (path, path.read_bytes()[:5]) == (tmp_path / "curves.svg", b"<?xml")


def test_learning_curves_show_loss_and_metrics() -> None:
    figure = learning_curves(history(3), title="T")
    assert figure.get_suptitle() == "T"
    loss, accuracy = figure.axes
    steps, training, validation = loss.lines
    np.testing.assert_allclose(steps.get_xdata()[[0, -1]], [0.125, 2.875])
    assert len(steps.get_ydata()) == 12
    np.testing.assert_allclose(training.get_ydata(), [1, 1 / 2, 1 / 3])
    assert training.get_label() == "training, ends at 0.3333"
    assert validation.get_label() == "validation, ends at 0.4"
    assert [line.get_label() for line in accuracy.lines] == [
        "training, ends at 0.8333",
        "validation, ends at 0.8",
    ]
    assert (loss.get_ylabel(), accuracy.get_ylabel()) == ("loss", "accuracy")
    assert accuracy.get_xlabel() == "epoch"


def test_learning_curves_need_an_epoch() -> None:
    with pytest.raises(qml.ShapeError, match="at least one finished epoch"):
        learning_curves(qml.History())
