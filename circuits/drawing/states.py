"""Pictures of states, drawn with Matplotlib, without a window and without global state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from autodiff import Tensor
from circuits.errors import DrawingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from circuits.drawing.picture import Picture

_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#8A8A8A"
_VIEW = {"elev": 20.0, "azim": 30.0}  # degrees
_ACROSS = 4  # spheres in a row
_ROUNDING = 1e-6  # by how much a Bloch vector may be longer than 1, single precision included

# Any in this file: Matplotlib's three-dimensional axes have no types.


def probability_plot(
    probabilities: Tensor | ArrayLike, *, title: str = "", most: int = 32
) -> Picture:
    """Draw a bar chart of the probabilities of basis states.

    Args:
        probabilities: ``(2**k,)``, such as ``qc.probabilities()``.
        title: above the picture.
        most: how many bars; the least probable states beyond are one bar, "others".

    Returns:
        A Matplotlib Figure, which notebooks show.

    Raises:
        DrawingError: not ``2**k`` finite numbers, or ``most`` below 1.

    >>> [len(axes.patches) for axes in probability_plot([0.25, 0.75]).axes]
    [2]
    """
    values = _numbers("probability_plot", probabilities)
    size = values.size
    if values.ndim != 1 or size & (size - 1) or size == 0:
        raise DrawingError(
            f"probability_plot needs 2**k probabilities, got shape {values.shape}. "
            "Take one sample of a batch: p[0]."
        )
    if most < 1:
        raise DrawingError(f"probability_plot needs most from 1 on, got {most}. Leave it out.")
    from circuits.drawing.picture import Picture

    kept = np.sort(np.argsort(-values, kind="stable")[:most])
    width = size.bit_length() - 1
    labels = [f"{state:0{width}b}" if width else "" for state in kept.tolist()]
    heights, colours = values[kept].tolist(), [_BLUE] * len(kept)
    if size > most:
        labels.append("others")
        heights.append(float(values.sum() - values[kept].sum()))
        colours.append(_GREY)
    figure = Picture(figsize=(max(4.0, 1.2 + 0.32 * len(labels)), 3.6), layout="constrained")
    axes = figure.subplots()
    axes.bar(range(len(labels)), heights, color=colours, width=0.8)
    _label(axes, labels, width)
    figure.suptitle(title, fontsize=12)
    return figure


def save_probability_plot(
    probabilities: Tensor | ArrayLike, path: str | Path, *, title: str = "", most: int = 32
) -> Path:
    """Save what ``probability_plot`` draws.

    Args:
        probabilities: ``(2**k,)``, such as ``qc.probabilities()``.
        path: where to; its suffix decides the format (``.png``, ``.svg``, ``.pdf``).
        title: above the picture.
        most: how many bars; the least probable states beyond are one bar, "others".

    Returns:
        The path.

    Raises:
        DrawingError: not ``2**k`` finite numbers, or ``most`` below 1.
    """
    from circuits.drawing.picture import save_picture

    return save_picture(probability_plot(probabilities, title=title, most=most), path)


def _label(axes: Axes, labels: list[str], width: int) -> None:
    steep = width > 3 or len(labels) > 16
    axes.set_xticks(range(len(labels)), labels, rotation=90 if steep else 0)
    axes.set_xlabel(f"basis state, qubit {width - 1} ... qubit 0" if width > 1 else "basis state")
    axes.set_ylabel("probability")
    axes.set_xlim(-0.7, len(labels) - 0.3)
    axes.set_ylim(0.0, None)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25, linewidth=0.6)
    axes.set_axisbelow(True)


def bloch_plot(vectors: Tensor | ArrayLike, *, title: str = "") -> Picture:
    """Draw Bloch vectors, each in a sphere of its own.

    Args:
        vectors: ``(3,)``, such as ``qc.bloch_vector(0)``, or ``(K, 3)`` of qubits 0 to K - 1.
        title: above the picture.

    Returns:
        A Matplotlib Figure, which notebooks show.

    Raises:
        DrawingError: another shape, or a vector that is longer than 1.

    >>> len(bloch_plot([[0, 0, 1], [1, 0, 0]]).axes)
    2
    """
    values = _numbers("bloch_plot", vectors)
    if values.ndim not in (1, 2) or values.shape[-1] != 3 or values.size == 0:
        raise DrawingError(
            f"bloch_plot needs Bloch vectors of shape (3,) or (K, 3), got {values.shape}. "
            "Take them from bloch_vector."
        )
    rows = np.atleast_2d(values)
    longest = float(np.linalg.norm(rows, axis=1).max())
    if longest > 1 + _ROUNDING:
        raise DrawingError(
            f"bloch_plot needs vectors of length 1 at most, got one of length {longest:.4g}. "
            "Normalise the state first."
        )
    from circuits.drawing.picture import Picture

    across = min(len(rows), _ACROSS)
    down = -(-len(rows) // across)
    figure = Picture(figsize=(2.9 * across, 3.4 * down + 0.4 * bool(title)), layout="constrained")
    for k, vector in enumerate(rows):
        axes = figure.add_subplot(down, across, k + 1, projection="3d", proj_type="ortho")
        _sphere(axes)
        _arrow(axes, vector)
        x, y, z = vector
        axes.set_title(f"qubit {k}" if values.ndim == 2 else "", fontsize=11)
        text = f"({x:.2f}, {y:.2f}, {z:.2f})"
        axes.text2D(0.5, -0.04, text, transform=axes.transAxes, ha="center", fontsize=9)
    figure.suptitle(title, fontsize=12)
    return figure


def save_bloch_plot(vectors: Tensor | ArrayLike, path: str | Path, *, title: str = "") -> Path:
    """Save what ``bloch_plot`` draws.

    Args:
        vectors: ``(3,)``, such as ``qc.bloch_vector(0)``, or ``(K, 3)`` of qubits 0 to K - 1.
        path: where to; its suffix decides the format (``.png``, ``.svg``, ``.pdf``).
        title: above the picture.

    Returns:
        The path.

    Raises:
        DrawingError: another shape, or a vector that is longer than 1.
    """
    from circuits.drawing.picture import save_picture

    return save_picture(bloch_plot(vectors, title=title), path)


def _numbers(name: str, given: Tensor | ArrayLike) -> NDArray[np.float64]:
    array = given.numpy() if isinstance(given, Tensor) else np.asarray(given)
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise DrawingError(
            f"{name} needs finite real numbers, got dtype {array.dtype}. Check them."
        )
    return np.asarray(array, np.float64)


def _sphere(axes: Any) -> None:
    """Draw the ball, its equator and meridians, and the axes with the states at their ends."""
    u, v = np.meshgrid(np.linspace(0, 2 * np.pi, 49), np.linspace(0, np.pi, 25))
    ball = (np.sin(v) * np.cos(u), np.sin(v) * np.sin(u), np.cos(v))
    axes.plot_surface(*ball, color=_BLUE, alpha=0.06, linewidth=0, shade=False)
    turn = np.linspace(0, 2 * np.pi, 97)
    circle = (np.cos(turn), np.sin(turn), np.zeros_like(turn))
    for order in ((0, 1, 2), (0, 2, 1), (2, 0, 1)):
        axes.plot(*[circle[k] for k in order], color=_GREY, linewidth=0.7, alpha=0.7)
    for k, (plus, minus) in enumerate((("x", ""), ("y", ""), ("|0⟩", "|1⟩"))):
        end = np.eye(3)[k]
        axes.plot(*zip(-end, end, strict=True), color=_GREY, linewidth=0.6, linestyle=":")
        axes.text(*(1.18 * end), plus, ha="center", va="center", fontsize=10)
        axes.text(*(-1.18 * end), minus, ha="center", va="center", fontsize=10)
    axes.set_axis_off()
    axes.set_box_aspect((1, 1, 1), zoom=1.25)
    for setter in (axes.set_xlim, axes.set_ylim, axes.set_zlim):
        setter(-1, 1)
    axes.view_init(**_VIEW)


def _arrow(axes: Any, vector: NDArray[np.float64]) -> None:
    axes.plot(*zip(np.zeros(3), vector, strict=True), color=_ORANGE, linewidth=2.2, zorder=10)
    axes.scatter(*vector, color=_ORANGE, s=36, depthshade=False, zorder=11)
