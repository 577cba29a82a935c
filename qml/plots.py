"""Pictures of training, drawn with Matplotlib, without a window and without global state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from autodiff import ShapeError
from qml.callbacks import History
from qml.datasets import CHEMICAL_ACCURACY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from circuits.drawing.picture import Picture

#: Colours that colour-blind readers tell apart (Okabe and Ito, 2008).
_BLUE, _ORANGE, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
_VALIDATION = "validation_"


def energy_plot(
    energies: ArrayLike,
    exact: float,
    *,
    title: str = "",
    references: Sequence[tuple[str, float]] = (),
    floor: float = 1e-6,
) -> Picture:
    """Draw a variational run: the energy, and its error on a logarithmic scale.

    Args:
        energies: ``(S + 1,)`` in hartree, before each step and after the last.
        exact: the ground state's energy in hartree.
        title: above the picture.
        references: further energies to mark, with their names.
        floor: errors below are drawn here.

    Returns:
        A Matplotlib Figure, which notebooks show.

    Raises:
        ShapeError: energies that are no sequence of numbers.

    >>> len(energy_plot([-1.0, -1.1, -1.12], exact=-1.137).axes)
    2
    """
    values = np.asarray(energies, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ShapeError(
            f"energy_plot needs energies of shape (S,), got shape {values.shape}. "
            "Give one energy a step."
        )
    from circuits.drawing.picture import Picture

    figure = Picture(figsize=(7.0, 6.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    _draw_energy(upper, values, exact, references)
    _draw_error(lower, values, exact, floor)
    for axes in (upper, lower):
        _tidy(axes)
        axes.set_xlim(0, max(values.size - 1, 1))
    figure.suptitle(title, fontsize=12)
    return figure


def save_energy_plot(
    energies: ArrayLike,
    exact: float,
    path: str | Path,
    *,
    title: str = "",
    references: Sequence[tuple[str, float]] = (),
    floor: float = 1e-6,
) -> Path:
    """Save what ``energy_plot`` draws.

    Args:
        energies: ``(S + 1,)`` in hartree, before each step and after the last.
        exact: the ground state's energy in hartree.
        path: where to; its suffix decides the format (``.png``, ``.svg``, ``.pdf``).
        title: above the picture.
        references: further energies to mark, with their names.
        floor: errors below are drawn here.

    Returns:
        The path.

    Raises:
        ShapeError: energies that are no sequence of numbers.
    """
    from circuits.drawing.picture import save_picture

    drawn = energy_plot(energies, exact, title=title, references=references, floor=floor)
    return save_picture(drawn, path)


def learning_curves(history: History, *, title: str = "") -> Picture:
    """Draw a training: the loss, and below it each metric, over epochs.

    Args:
        history: what ``Trainer.fit`` returned, with at least one finished epoch.
        title: above the picture.

    Returns:
        A Matplotlib Figure, which notebooks show.

    Raises:
        ShapeError: no finished epoch.
    """
    if not history.epochs:
        raise ShapeError(
            "learning_curves needs at least one finished epoch, got none. Train first."
        )
    names = [name for name in history.epochs[0].values if not name.startswith(_VALIDATION)]
    from circuits.drawing.picture import Picture

    figure = Picture(figsize=(7.0, 3.0 + 2.0 * len(names)), layout="constrained")
    rows = figure.subplots(len(names), 1, sharex=True, squeeze=False)
    for axes, name in zip(rows[:, 0], names, strict=True):
        _draw_curves(axes, history, name)
        _tidy(axes)
    rows[-1, 0].set_xlabel("epoch")
    figure.suptitle(title, fontsize=12)
    return figure


def save_learning_curves(history: History, path: str | Path, *, title: str = "") -> Path:
    """Save what ``learning_curves`` draws.

    Args:
        history: what ``Trainer.fit`` returned, with at least one finished epoch.
        path: where to; its suffix decides the format (``.png``, ``.svg``, ``.pdf``).
        title: above the picture.

    Returns:
        The path.

    Raises:
        ShapeError: no finished epoch.
    """
    from circuits.drawing.picture import save_picture

    return save_picture(learning_curves(history, title=title), path)


def _draw_curves(axes: Axes, history: History, name: str) -> None:
    """Draw a value over epochs, the losses of single steps faintly behind it."""
    epochs = [record.epoch for record in history.epochs]
    if name == "loss":
        ends = [0, *[record.step for record in history.epochs]]
        positions = np.interp(np.arange(ends[-1]) + 0.5, ends, [0, *epochs])
        axes.plot(positions, history.losses[: ends[-1]], color=_GREY, alpha=0.35, linewidth=0.8)
    marker = "o" if len(epochs) < 30 else ""
    curves = [(name, _BLUE, "training"), (f"{_VALIDATION}{name}", _ORANGE, "validation")]
    for key, colour, label in curves:
        if key in history.epochs[0].values:
            values = history.values(key)
            text = f"{label}, ends at {values[-1]:.4g}"
            axes.plot(epochs, values, color=colour, marker=marker, markersize=3, label=text)
    axes.set_ylabel(name)
    axes.legend(frameon=False)


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)


def _draw_energy(
    axes: Axes,
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    exact: float,
    references: Sequence[tuple[str, float]],
) -> None:
    axes.plot(values, color=_BLUE, linewidth=1.8, label=f"training, ends at {values[-1]:.6f}")
    for name, energy in references:
        label = f"{name}, {energy:.6f}"
        axes.axhline(energy, color=_GREY, linewidth=1.0, linestyle=":", label=label)
    axes.axhline(exact, color=_ORANGE, linewidth=1.2, linestyle="--", label=f"exact, {exact:.6f}")
    axes.set_ylabel("energy (hartree)")
    axes.legend(frameon=False, loc="upper right")


def _draw_error(
    axes: Axes,
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
    exact: float,
    floor: float,
) -> None:
    errors = np.maximum(np.abs(values - exact), floor)
    axes.semilogy(errors, color=_BLUE, linewidth=1.8)
    bottom = 10.0 ** np.floor(np.log10(min(errors.min(), CHEMICAL_ACCURACY)))
    axes.set_ylim(bottom, 2 * errors.max())
    label = f"chemical accuracy, {CHEMICAL_ACCURACY:g} hartree"
    axes.axhspan(bottom, CHEMICAL_ACCURACY, color=_GREEN, alpha=0.12, linewidth=0, label=label)
    inside = errors < CHEMICAL_ACCURACY
    if inside[-1]:
        first = 0 if inside.all() else int(values.size - np.argmin(inside[::-1]))
        axes.plot(first, errors[first], "o", color=_GREEN, label=f"kept from step {first} on")
    axes.set_xlabel("optimizer step")
    axes.set_ylabel("|energy - exact| (hartree)")
    axes.legend(frameon=False, loc="upper right")
