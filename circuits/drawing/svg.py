"""A scene as SVG text."""

from __future__ import annotations

from html import escape

from circuits.drawing.scene import PAPER, Circle, Line, Rectangle, Scene, Shape, Text

_FONT = "DejaVu Sans, Verdana, Arial, sans-serif"


class Svg(str):
    """SVG text, which notebooks show as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def svg_drawing(scene: Scene) -> Svg:
    """Write a scene as a complete SVG document."""
    size = f'width="{scene.width:g}" height="{scene.height:g}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
        f'viewBox="0 0 {scene.width:g} {scene.height:g}" font-family="{_FONT}">'
    )
    paper = f'<rect {size} fill="{PAPER}"/>'
    return Svg("\n".join([head, paper, *map(_shape, scene.shapes), "</svg>"]) + "\n")


def _shape(shape: Shape) -> str:
    match shape:
        case Line():
            ends = f'x1="{shape.x1:g}" y1="{shape.y1:g}" x2="{shape.x2:g}" y2="{shape.y2:g}"'
            return f'<line {ends} stroke="{shape.colour}" stroke-width="{shape.width:g}"/>'
        case Rectangle():
            place = f'x="{shape.x:g}" y="{shape.y:g}" width="{shape.width:g}"'
            return (
                f'<rect {place} height="{shape.height:g}" rx="3" fill="{shape.fill}" '
                f'stroke="{shape.edge}" stroke-width="1.2"/>'
            )
        case Circle():
            place = f'cx="{shape.x:g}" cy="{shape.y:g}" r="{shape.radius:g}"'
            return f'<circle {place} fill="{shape.fill}" stroke="{shape.edge}" stroke-width="1.4"/>'
        case Text():
            # The baseline lies about a third of the size below the middle of the letters.
            place = f'x="{shape.x:g}" y="{shape.y + 0.35 * shape.size:g}"'
            return (
                f'<text {place} font-size="{shape.size:g}" text-anchor="{shape.anchor}" '
                f'fill="{shape.colour}">{escape(shape.text)}</text>'
            )
