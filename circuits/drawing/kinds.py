"""The kinds of drawing of a circuit. Imported when the first one is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from circuits.drawing.figure import figure_drawing
from circuits.drawing.layout import Layout, layout_of
from circuits.drawing.scene import scene_of
from circuits.drawing.svg import svg_drawing
from circuits.drawing.text import text_drawing
from circuits.errors import DrawingError

if TYPE_CHECKING:
    from circuits.circuit import Circuit

# Any: a string or a Matplotlib Figure, which type checkers need not know here.
KINDS: dict[str, tuple[int, Callable[[Layout, int], Any]]] = {
    "text": (80, text_drawing),
    "svg": (960, lambda layout, fold: svg_drawing(scene_of(layout, fold))),
    "mpl": (960, lambda layout, fold: figure_drawing(scene_of(layout, fold))),
}
"""Default fold, and the function that draws."""


def drawing_of(circuit: Circuit, kind: str, fold: int | None) -> Any:
    """Draw a circuit; ``Circuit.draw`` documents it."""
    if kind not in KINDS:
        raise DrawingError(
            f"draw needs one of {', '.join(map(repr, KINDS))}, got {kind!r:.60}. "
            "Without an argument it draws text."
        )
    default, make = KINDS[kind]
    room = default if fold is None else fold
    if not isinstance(room, int) or isinstance(room, bool) or room < 0:
        raise DrawingError(f"draw needs a fold from 0 on, got {fold!r:.60}. Write 0 to never fold.")
    return make(layout_of(circuit), room)
