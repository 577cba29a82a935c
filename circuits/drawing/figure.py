"""A scene as a Matplotlib figure, without a window and without global state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from circuits.drawing.scene import PAPER, Circle, Line, Rectangle, Scene, Shape, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from circuits.drawing.picture import Picture

_PIXELS = 96.0  # an inch
_POINTS = 72.0 / _PIXELS  # a pixel
_ALIGNED = {"start": "left", "middle": "center", "end": "right"}


def figure_drawing(scene: Scene) -> Picture:
    """Paint a scene; the figure's size is that of the SVG drawing."""
    from circuits.drawing.picture import Picture

    size = (max(scene.width, 1.0) / _PIXELS, max(scene.height, 1.0) / _PIXELS)
    figure = Picture(figsize=size, facecolor=PAPER)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0.0, max(scene.width, 1.0))
    axes.set_ylim(max(scene.height, 1.0), 0.0)
    axes.set_axis_off()
    for order, shape in enumerate(scene.shapes, start=1):
        _paint(axes, shape, order)
    return figure


def _paint(axes: Axes, shape: Shape, order: int) -> None:
    from matplotlib import patches

    match shape:
        case Line():
            ends = ([shape.x1, shape.x2], [shape.y1, shape.y2])
            axes.plot(*ends, color=shape.colour, linewidth=shape.width * _POINTS, zorder=order)
        case Rectangle():
            style = patches.BoxStyle("Round", pad=0.0, rounding_size=3.0)
            axes.add_patch(
                patches.FancyBboxPatch(
                    (shape.x, shape.y),
                    shape.width,
                    shape.height,
                    boxstyle=style,
                    facecolor=shape.fill,
                    edgecolor=shape.edge,
                    linewidth=1.2 * _POINTS,
                    zorder=order,
                )
            )
        case Circle():
            look = {"facecolor": shape.fill, "edgecolor": shape.edge, "zorder": order}
            place = (shape.x, shape.y)
            axes.add_patch(patches.Circle(place, shape.radius, linewidth=1.4 * _POINTS, **look))
        case Text():
            axes.text(
                shape.x,
                shape.y,
                shape.text,
                fontsize=shape.size * _POINTS,
                ha=_ALIGNED[shape.anchor],
                va="center_baseline",
                color=shape.colour,
                parse_math=False,
                zorder=order,
            )
