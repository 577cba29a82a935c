from __future__ import annotations

import numpy as np
import pytest
from gate_rows import controls_of, every_row, payload_of, size_of

from circuits import Circuit, Input, Parameter
from circuits.drawing.layout import layout_of
from circuits.drawing.scene import (
    Circle,
    Line,
    Rectangle,
    Scene,
    Text,
    scene_of,
    text_width,
)
from circuits.gate_row import Gate


def scene(circuit: Circuit, fold: int = 0) -> Scene:
    return scene_of(layout_of(circuit), fold)


def texts(made: Scene) -> list[str]:
    return [shape.text for shape in made.shapes if isinstance(shape, Text)]


def extent(made: Scene) -> tuple[float, float, float, float]:
    """Smallest and largest x and y of everything."""
    xs, ys = [], []
    for shape in made.shapes:
        match shape:
            case Line():
                xs += [shape.x1, shape.x2]
                ys += [shape.y1, shape.y2]
            case Rectangle():
                xs += [shape.x, shape.x + shape.width]
                ys += [shape.y, shape.y + shape.height]
            case Circle():
                xs += [shape.x - shape.radius, shape.x + shape.radius]
                ys += [shape.y - shape.radius, shape.y + shape.radius]
            case Text():
                width = text_width(shape.text, shape.size)
                left = {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * width
                xs += [shape.x - left, shape.x - left + width]
                ys += [shape.y - shape.size / 2, shape.y + shape.size / 2]
    return min(xs), max(xs), min(ys), max(ys)


@every_row
def test_every_gate_lies_on_the_sheet_and_is_labelled(row: Gate) -> None:
    own = controls_of(row) + size_of(row)
    names = [Parameter(0.1, name=f"a{k}") for k in range(len(row.params))]
    circuit = Circuit(own + 1).append(
        row.name, range(1, own + 1), names, payload=payload_of(row), controls=[0]
    )
    made = scene(circuit)
    left, right, top, bottom = extent(made)
    assert left >= 0
    assert top >= 0
    assert right <= made.width
    assert bottom <= made.height
    joined = " ".join(texts(made))
    assert all(str(p.name) in joined for p in names)


def test_boxes_are_as_wide_as_their_text() -> None:
    circuit = Circuit(1).rx(Parameter(0.1, name="a_long_name_of_an_angle"), 0)
    (box,) = [s for s in scene(circuit).shapes if isinstance(s, Rectangle)]
    assert box.width > text_width("a_long_name_of_an_angle", 10)


def test_open_dot_is_white() -> None:
    circuit = Circuit(3).append("z", [2], controls=[0, 1], ctrl_state="01")
    dots = [s for s in scene(circuit).shapes if isinstance(s, Circle)]
    assert [dot.fill == dot.edge for dot in dots] == [True, False]
    assert dots[1].fill == "#FFFFFF"


def test_colour_says_what_the_angle_is_made_of() -> None:
    x = Input("x", 1)
    circuit = Circuit(1).h(0).rx(x[0], 0).rx(Parameter(0.1), 0).rx(0.1, 0)
    fills = [s.fill for s in scene(circuit).shapes if isinstance(s, Rectangle)]
    assert len(set(fills)) == 3
    assert fills[0] == fills[3]


def test_rows_are_folded() -> None:
    circuit = Circuit(2)
    for _ in range(40):
        circuit.h(0)
    whole, cut = scene(circuit), scene(circuit, 400)
    assert whole.width > 1000
    assert cut.width < 500
    assert cut.height > 4 * whole.height
    assert texts(cut).count("q0") > 4
    assert texts(cut).count("H") == texts(whole).count("H") == 40


def test_measurements_end_in_classical_bits() -> None:
    made = scene(Circuit(2).measure([1], [7]))
    assert "c7" in texts(made)
    assert extent(made)[1] <= made.width


@pytest.mark.parametrize("circuit", [Circuit(0), Circuit(0, name="nothing"), Circuit(3)])
def test_empty_circuits(circuit: Circuit) -> None:
    made = scene(circuit)
    assert made.width > 0
    assert made.height > 0
    assert np.isfinite([made.width, made.height]).all()
