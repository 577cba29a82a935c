from __future__ import annotations

from xml.etree import ElementTree

from circuits import Circuit, Parameter
from circuits.drawing.layout import layout_of
from circuits.drawing.scene import Circle, Line, Rectangle, Text, scene_of
from circuits.drawing.svg import svg_drawing

NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_every_shape_is_written() -> None:
    circuit = Circuit(3, name="a < b & c").h(0).cx(0, 1).rx(Parameter(0.1, name="θ"), 2).swap(0, 2)
    scene = scene_of(layout_of(circuit.measure_all()), 0)
    root = ElementTree.fromstring(svg_drawing(scene))
    tags = [child.tag.removeprefix(NAMESPACE) for child in root]
    kinds = {"line": Line, "circle": Circle, "text": Text, "rect": Rectangle}
    for tag, kind in kinds.items():
        paper = tag == "rect"
        assert tags.count(tag) == sum(isinstance(s, kind) for s in scene.shapes) + paper
    texts = [child.text for child in root if child.tag == f"{NAMESPACE}text"]
    assert {"a < b & c", "H", "RX", "θ", "c2"} <= set(texts)
    assert (float(root.get("width", 0)), float(root.get("height", 0))) == (
        round(scene.width, 3),
        scene.height,
    )


def test_notebooks_show_the_picture() -> None:
    drawing = svg_drawing(scene_of(layout_of(Circuit(1)), 0))
    assert drawing._repr_svg_() == str(drawing)
    assert drawing.startswith("<svg xmlns=")
