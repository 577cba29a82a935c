"""Circuits as lines, rectangles, circles and texts with coordinates; svg and figure paint them.

Lengths are pixels, y grows downwards, as in SVG.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil

from circuits.drawing.layout import Box, Element, Layout, Source, folded

INK, PALE, PAPER = "#222222", "#8A8A8A", "#FFFFFF"
# Fill and edge by what the angles are made of (Okabe and Ito, 2008: told apart by everybody).
_COLOURS = {
    Source.FIXED: ("#DCEAF6", "#0072B2"),
    Source.INPUTS: ("#DDF3EA", "#009E73"),
    Source.PARAMETERS: ("#FBE6D6", "#D55E00"),
}
_METER = ("#EEEEEE", "#666666")

LARGE, SMALL = 13.0, 10.0
"""Sizes of text."""
_CHARACTER = 0.64  # width of a character over its size, on the generous side
_PITCH, _ROW_GAP, _MARGIN = 44.0, 26.0, 12.0
_HEIGHT, _PADDING, _GAP = 32.0, 8.0, 12.0
_DOT, _RING, _ARM = 4.0, 9.0, 5.5


@dataclass(frozen=True)
class Line:
    """A straight line."""

    x1: float
    y1: float
    x2: float
    y2: float
    colour: str = INK
    width: float = 1.2


@dataclass(frozen=True)
class Rectangle:
    """A filled rectangle, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    edge: str


@dataclass(frozen=True)
class Circle:
    """A filled circle."""

    x: float
    y: float
    radius: float
    fill: str
    edge: str


@dataclass(frozen=True)
class Text:
    """One line of text around (``anchor="middle"``) or from (``"start"``, ``"end"``) a point."""

    x: float
    y: float
    text: str
    size: float = LARGE
    anchor: str = "middle"
    colour: str = INK


Shape = Line | Rectangle | Circle | Text


@dataclass
class Scene:
    """Shapes in the order in which they are painted, on a sheet of paper."""

    width: float = 0.0
    height: float = 0.0
    shapes: list[Shape] = field(default_factory=list)


def scene_of(layout: Layout, fold: int) -> Scene:
    """Place everything.

    Args:
        layout: what stands where.
        fold: largest width of a row of gates in pixels; 0 never folds.
    """
    made = Scene()
    y = _MARGIN
    for heading in layout.heading:
        made.shapes.append(Text(_MARGIN, y + LARGE / 2, heading, anchor="start"))
        y += 1.6 * LARGE
    columns = list(layout.columns)
    meters = [Element(boxes=(Box(q, q, ""),)) for q in sorted(layout.measured)]
    widths = [max(map(_width, column)) + _GAP for column in columns]
    if meters:
        longest = max([len("c00"), *map(len, layout.measured.values())])
        widths.append(_HEIGHT + _GAP + text_width("0" * longest, LARGE))
    label = text_width(f"q{max(layout.num_qubits - 1, 0)}", LARGE)
    rows = folded([ceil(width) for width in widths], fold)
    for row in rows:
        painter = _Row(made, _MARGIN + label + 10.0, y + _PITCH / 2)
        total = sum(widths[row]) + _GAP
        painter.wires(layout.num_qubits, total)
        x = painter.x + _GAP
        for k in range(*row.indices(len(widths))):
            if k < len(columns):
                for element in columns[k]:
                    painter.element(element, x + (widths[k] - _GAP) / 2)
            else:
                painter.meters(layout.measured, x + _HEIGHT / 2, painter.x + total)
            x += widths[k]
        made.width = max(made.width, painter.x + total + _MARGIN)
        y += layout.num_qubits * _PITCH + _ROW_GAP
    made.width = max([made.width, *(2 * _MARGIN + text_width(h, LARGE) for h in layout.heading)])
    made.height = y - _ROW_GAP + _MARGIN
    return made


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text in pixels."""
    return _CHARACTER * size * len(text)


def _box_width(box: Box) -> float:
    label = max(text_width(box.symbol, LARGE), text_width(box.angles, SMALL))
    marks = max(text_width(mark, SMALL) for mark in box.marks) if any(box.marks) else 0.0
    return max(_HEIGHT, label + 2 * _PADDING + (marks + 4.0 if marks else 0.0))


def _width(element: Element) -> float:
    beside = 2 * (text_width(element.note, SMALL) + _PADDING) if element.note else 2 * _RING
    return max([beside, *map(_box_width, element.boxes)])


class _Row:
    """Paints one row of columns; ``x`` and ``y`` are where the first wire starts."""

    def __init__(self, scene: Scene, x: float, y: float) -> None:
        self._add = scene.shapes.append
        self.x, self.y = x, y

    def _wire(self, qubit: int) -> float:
        return self.y + _PITCH * qubit

    def wires(self, num_qubits: int, length: float) -> None:
        for q in range(num_qubits):
            y = self._wire(q)
            self._add(Text(self.x - 8.0, y, f"q{q}", anchor="end"))
            self._add(Line(self.x, y, self.x + length, y, PALE))

    def element(self, element: Element, x: float) -> None:
        """Paint an element, its connection first, so that signs and boxes cover it."""
        fill, edge = _COLOURS[element.source]
        low, high = element.wires
        if low != high:
            self._add(Line(x, self._wire(low), x, self._wire(high), edge, 1.6))
        for q, closed in element.controls:
            self._add(Circle(x, self._wire(q), _DOT, edge if closed else PAPER, edge))
        for q in element.flips:
            self._flip(x, self._wire(q), fill, edge)
        for q in element.crosses:
            y = self._wire(q)
            self._add(Line(x - _ARM, y - _ARM, x + _ARM, y + _ARM, edge, 1.8))
            self._add(Line(x - _ARM, y + _ARM, x + _ARM, y - _ARM, edge, 1.8))
        for box in element.boxes:
            self._box(box, x, fill, edge)
        if element.note:
            y = self._wire(high) - _PADDING
            self._add(Text(x + _PADDING, y, element.note, SMALL, "start"))

    def _flip(self, x: float, y: float, fill: str, edge: str) -> None:
        self._add(Circle(x, y, _RING, fill, edge))
        self._add(Line(x - _RING, y, x + _RING, y, edge, 1.4))
        self._add(Line(x, y - _RING, x, y + _RING, edge, 1.4))

    def _box(self, box: Box, x: float, fill: str, edge: str) -> None:
        width, top = _box_width(box), self._wire(box.low) - _HEIGHT / 2
        height = self._wire(box.high) + _HEIGHT / 2 - top
        self._add(Rectangle(x - width / 2, top, width, height, fill, edge))
        middle = top + height / 2
        centre = x
        if any(box.marks):
            left = x - width / 2 + 6.0
            centre += (max(text_width(mark, SMALL) for mark in box.marks) + 4.0) / 2
            for q, mark in enumerate(box.marks, start=box.low):
                self._add(Text(left, self._wire(q), mark, SMALL, "start", edge))
        if not box.angles:
            self._add(Text(centre, middle, box.symbol))
            return
        self._add(Text(centre, middle - 6.5, box.symbol))
        self._add(Text(centre, middle + 8.0, box.angles, SMALL))

    def meters(self, measured: dict[int, str], x: float, end: float) -> None:
        """Paint measurements, and behind them the classical bits as double wires."""
        fill, edge = _METER
        for q, label in measured.items():
            y, half = self._wire(q), _HEIGHT / 2
            start = end - text_width(label, LARGE) - 4.0
            self._add(Rectangle(x + half, y - 4.0, end - x - half + 1.0, 8.0, PAPER, PAPER))
            for shift in (-1.5, 1.5):
                self._add(Line(x + half, y + shift, start, y + shift, PALE))
            self._add(Text(end, y, label, anchor="end"))
            self._add(Rectangle(x - half, y - half, 2 * half, 2 * half, fill, edge))
            self._arc(x, y + 6.0, edge)

    def _arc(self, x: float, y: float, edge: str) -> None:
        """Paint a dial with its needle, as a polygon's upper half."""
        corners = [(-10.0, 0.0), (-8.0, -6.0), (-4.0, -9.2), (0.0, -10.2)]
        corners += [(-dx, dy) for dx, dy in corners[-2::-1]]
        for (x1, y1), (x2, y2) in pairwise(corners):
            self._add(Line(x + x1, y + y1, x + x2, y + y2, edge, 1.4))
        self._add(Line(x, y, x + 7.0, y - 13.0, edge, 1.4))
