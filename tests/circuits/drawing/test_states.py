from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from circuits import (
    Circuit,
    DrawingError,
    bloch_plot,
    probability_plot,
    save_bloch_plot,
    save_probability_plot,
)


def bars(figure: Figure) -> dict[str, float]:
    (axes,) = figure.axes
    labels = [label.get_text() for label in axes.get_xticklabels()]
    return dict(zip(labels, [bar.get_height() for bar in axes.patches], strict=True))


def test_probabilities_are_bars_with_bit_strings() -> None:
    circuit = Circuit(2).x(1).h(0)
    figure = probability_plot(circuit.probabilities(engine="reference"), title="T")
    assert bars(figure) == pytest.approx({"00": 0, "01": 0, "10": 0.5, "11": 0.5})
    assert figure.get_suptitle() == "T"
    assert figure.axes[0].get_xlabel() == "basis state, qubit 1 ... qubit 0"


def test_least_probable_states_are_one_bar() -> None:
    values = np.array([1, 2, 3, 4, 8, 7, 6, 5]) / 36
    expected = {"100": 8 / 36, "101": 7 / 36, "110": 6 / 36, "others": 15 / 36}
    assert bars(probability_plot(values, most=3)) == pytest.approx(expected)


STARTS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.mark.parametrize("suffix", STARTS)
def test_suffix_decides_the_format(suffix: str, tmp_path: Path) -> None:
    saved = [
        save_probability_plot([0.5, 0.5], tmp_path / f"p{suffix}", title="T", most=1),
        save_bloch_plot([0, 0, 1], tmp_path / f"b{suffix}", title="T"),
    ]
    assert saved == [tmp_path / f"p{suffix}", tmp_path / f"b{suffix}"]
    assert all(path.read_bytes().startswith(STARTS[suffix]) for path in saved)


def test_bloch_vectors_have_a_sphere_each() -> None:
    circuit = Circuit(2).h(0).x(1)
    vectors = [circuit.bloch_vector(q, engine="reference").numpy() for q in range(2)]
    figure = bloch_plot(np.stack(vectors), title="T")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["qubit 0", "qubit 1"]
    for axes, vector in zip(figure.axes, vectors, strict=True):
        ends = [np.stack(line.get_data_3d())[:, -1] for line in axes.lines]
        assert any(np.allclose(end, vector) for end in ends)
        shown = [text.get_text() for text in axes.texts]
        assert "({:.2f}, {:.2f}, {:.2f})".format(*vector) in shown


def test_single_bloch_vector() -> None:
    figure = bloch_plot(Circuit(1).bloch_vector(0, engine="reference"))
    assert [axes.get_title() for axes in figure.axes] == [""]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((2, 4)), r"needs 2\*\*k probabilities, got shape \(2, 4\)"),
        (np.ones(3), r"needs 2\*\*k probabilities, got shape \(3,\)"),
        ([1.0, np.nan], "needs finite real numbers"),
        (np.ones(2, complex), "needs finite real numbers, got dtype complex128"),
    ],
)
def test_bad_probabilities_are_refused(values: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DrawingError, match=message):
        save_probability_plot(values, tmp_path / "p.png")
    with pytest.raises(DrawingError, match="needs most from 1 on, got 0"):
        save_probability_plot([1.0], tmp_path / "p.png", most=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.zeros(2), r"of shape \(3,\) or \(K, 3\), got \(2,\)"),
        (np.zeros((0, 3)), r"got \(0, 3\)"),
        ([1.0, 1.0, 0.0], "length 1 at most, got one of length 1.414"),
        ([np.inf, 0.0, 0.0], "needs finite real numbers"),
    ],
)
def test_bad_vectors_are_refused(vectors: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DrawingError, match=message):
        save_bloch_plot(vectors, tmp_path / "b.png")
