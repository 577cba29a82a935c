from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib import image, patches

from circuits import Circuit, Parameter
from circuits.drawing.figure import figure_drawing
from circuits.drawing.layout import layout_of
from circuits.drawing.scene import Circle, Line, Rectangle, Text, scene_of

CIRCUIT = Circuit(3).h(0).cx(0, 1).rx(Parameter(0.1, name="$x_1"), 2).swap(0, 2).measure_all()


def test_every_shape_is_painted_at_its_place() -> None:
    scene = scene_of(layout_of(CIRCUIT), 0)
    (axes,) = figure_drawing(scene).axes
    by_kind = {kind: [s for s in scene.shapes if isinstance(s, kind)] for kind in (Line, Text)}
    assert [text.get_text() for text in axes.texts] == [s.text for s in by_kind[Text]]
    ends = [(s.x1, s.x2, s.y1, s.y2) for s in by_kind[Line]]
    assert [(*line.get_xdata(), *line.get_ydata()) for line in axes.lines] == ends
    for kind, patch in ((Circle, patches.Circle), (Rectangle, patches.FancyBboxPatch)):
        painted = [p for p in axes.patches if isinstance(p, patch)]
        assert len(painted) == sum(isinstance(s, kind) for s in scene.shapes)
    assert axes.get_xlim() == (0, scene.width)
    assert axes.get_ylim() == (scene.height, 0)


def test_texts_lie_within_their_boxes() -> None:
    """The estimate of a text's width holds for the font that Matplotlib brings along."""
    circuit = Circuit(1).rx(Parameter(0.1, name="MAXIMUM_WIDTH"), 0).append("sxdg", [0])
    circuit.u(0.1234, -0.1234, Parameter(0.1, name="omega"), 0)
    figure = figure_drawing(scene_of(layout_of(circuit), 0))
    figure.canvas.draw()
    (axes,) = figure.axes
    boxes = [p.get_window_extent() for p in axes.patches]
    for text in axes.texts:
        extent = text.get_window_extent()
        if text.get_text() != "q0":
            assert any(b.x0 < extent.x0 and extent.x1 < b.x1 for b in boxes), text


def test_figure_is_saved(tmp_path: Path) -> None:
    figure = figure_drawing(scene_of(layout_of(CIRCUIT), 0))
    figure.savefig(tmp_path / "a.png", dpi=96)
    pixels = image.imread(tmp_path / "a.png")
    scene = scene_of(layout_of(CIRCUIT), 0)
    np.testing.assert_allclose(pixels.shape[:2], (scene.height, scene.width), atol=1)
    assert pixels[..., :3].min() < 0.5  # something is painted
