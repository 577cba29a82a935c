"""Figures without pyplot: no window, no global state. Matplotlib comes along: import it late."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

_RESOLUTION = 150  # dots an inch of saved plots


class Picture(Figure):
    """A Figure that a notebook shows as the last value of a cell, whether pyplot is loaded or not.

    With pyplot loaded, notebooks show every Figure their own way, this one too.
    """

    def _repr_png_(self) -> bytes:
        buffer = BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def save_picture(picture: Picture, path: str | Path) -> Path:
    """Save a plot in the format that the path's suffix names, and return the path."""
    picture.savefig(path, dpi=_RESOLUTION)
    return Path(path)
