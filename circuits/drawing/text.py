"""Circuits drawn with characters, two lines a qubit.

A cell of the canvas says in which directions lines leave it. Wires, boxes and connections that meet
add up, and the character follows, so that corners and crossings need no cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from circuits.drawing.layout import CROSS, Box, Element, Layout, folded

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_VERTICAL, _HORIZONTAL = _UP | _DOWN, _LEFT | _RIGHT
# By the sum of the directions, from none to all four.
_CHARACTERS = " │││─┘┐┤─└┌├─┴┬┼"
_CLOSED, _OPEN, _FLIP, _CONTINUED = "●", "○", "⊕", "»"
_MEASUREMENT, _BIT_WIRE = "M", "═"


class Drawing(str):
    """A drawing as text, which notebooks and prompts show as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def text_drawing(layout: Layout, fold: int) -> Drawing:
    """Draw with characters.

    Args:
        layout: what stands where.
        fold: longest line in characters; 0 never folds.
    """
    if layout.num_qubits == 0:
        return Drawing("\n".join([*layout.heading, "no qubits"]))
    columns = list(layout.columns)
    if layout.measured:
        meters = [Element(boxes=(Box(q, q, _MEASUREMENT),)) for q in sorted(layout.measured)]
        columns.append(meters)
    widths = [max(map(_width, column)) for column in columns]
    names = _names(layout.num_qubits)
    ends = {q: f"{_BIT_WIRE} {bits}" for q, bits in layout.measured.items()}
    margin = len(names[0]) + 2 + max(map(len, ends.values()), default=0)
    rows = folded([width + 1 for width in widths], max(fold - margin, 1) if fold > 0 else 0)
    parts = []
    for k, row in enumerate(rows):
        canvas = _Canvas(layout.num_qubits, widths[row])
        for column, elements in enumerate(columns[row]):
            for element in elements:
                canvas.draw(element, column)
        last = k == len(rows) - 1
        tails = ends if last else dict.fromkeys(range(len(names)), _CONTINUED)
        parts.append(canvas.lines(names, tails))
    return Drawing("\n".join([*layout.heading, "\n\n".join(parts)]))


def _names(num_qubits: int) -> list[str]:
    width = len(f"q{num_qubits - 1}: ")
    return [f"q{q}: ".rjust(width) for q in range(num_qubits)]


def _box_text(box: Box) -> str:
    """Return the line with the label, shifted right of the marks."""
    room = max(map(len, box.marks), default=0)
    return " " * (room + 1 if room else 0) + box.label


def _width(element: Element) -> int:
    boxes = [len(_box_text(box)) + 4 for box in element.boxes]
    return max([*boxes, 2 * len(element.note) + 1])


class _Canvas:
    """Line 2q + 1 is the wire of qubit q, the lines between hold borders and connections."""

    def __init__(self, num_qubits: int, widths: Sequence[int]) -> None:
        self._starts = [1 + sum(widths[:k]) + k for k in range(len(widths))]
        self._widths = widths
        size = 1 + sum(widths) + len(widths)
        self._lines = [[0] * size for _ in range(2 * num_qubits + 1)]
        for wire in self._lines[1::2]:
            wire[:] = [_HORIZONTAL] * size
        self._text: dict[tuple[int, int], str] = {}

    def draw(self, element: Element, column: int) -> None:
        """Draw the parts of an element and connect them."""
        centre = self._starts[column] + self._widths[column] // 2
        signs = {q: _CLOSED if closed else _OPEN for q, closed in element.controls}
        signs |= dict.fromkeys(element.flips, _FLIP) | dict.fromkeys(element.crosses, CROSS)
        for q, sign in signs.items():
            self._text[2 * q + 1, centre] = sign
        for box in element.boxes:
            self._box(box, centre)
        if element.note:
            self._write(2 * max(signs) + 1, centre + 1, element.note)
        spans = [(2 * q + 1, 2 * q + 1) for q in signs]
        spans = sorted([*spans, *((2 * box.low, 2 * box.high + 2) for box in element.boxes)])
        for (_, above), (below, _) in pairwise(spans):
            self._connect(above, below, centre)

    def _connect(self, above: int, below: int, x: int) -> None:
        self._lines[above][x] |= _DOWN
        for y in range(above + 1, below):
            self._lines[y][x] |= _VERTICAL
        self._lines[below][x] |= _UP

    def _box(self, box: Box, centre: int) -> None:
        text = _box_text(box)
        left = centre - (len(text) + 4) // 2
        right = left + len(text) + 3
        top, bottom = 2 * box.low, 2 * box.high + 2
        for y in range(top + 1, bottom):
            self._lines[y][left : right + 1] = [0] * (right + 1 - left)
            on_wire = y % 2
            self._lines[y][left] = _VERTICAL | (_LEFT if on_wire else 0)
            self._lines[y][right] = _VERTICAL | (_RIGHT if on_wire else 0)
        for y, inwards in ((top, _DOWN), (bottom, _UP)):
            for x in range(left + 1, right):
                self._lines[y][x] |= _HORIZONTAL
            self._lines[y][left] |= _RIGHT | inwards
            self._lines[y][right] |= _LEFT | inwards
        for q, mark in enumerate(box.marks, start=box.low):
            self._write(2 * q + 1, left + 2, mark)
        self._write((top + bottom) // 2, left + 2 + len(text) - len(box.label), box.label)

    def _write(self, y: int, x: int, text: str) -> None:
        self._text |= {(y, x + k): character for k, character in enumerate(text)}

    def lines(self, names: Sequence[str], tails: Mapping[int, str]) -> str:
        """Return the lines, names in front of wires; a tail replaces a wire's last character."""
        made = []
        for y, line in enumerate(self._lines):
            cells = [self._text.get((y, x), _CHARACTERS[bits]) for x, bits in enumerate(line)]
            head = names[y // 2] if y % 2 else " " * len(names[0])
            if y % 2 and y // 2 in tails:
                cells[-1] = tails[y // 2]
            made.append(f"{head}{''.join(cells)}".rstrip())
        return "\n".join(made).strip("\n")
