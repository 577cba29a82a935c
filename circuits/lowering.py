"""Turns one instruction, a gate's row with operands, into steps for the engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from circuits.gate_row import Gate, Payload
from circuits.plan.steps import ComplexArray, MatrixFunction, RealArray, Step, Structure


@dataclass(frozen=True)
class Slot:
    """An angle that is read from a column of the angle table."""

    column: int


@dataclass(frozen=True)
class Source:
    """A matrix that is given at run time, by position."""

    index: int


@dataclass(frozen=True)
class PartlyFixed:
    """A matrix function, or a derivative, with some of its angles fixed.

    Equal ones are interchangeable, so engines may evaluate all steps with equal functions at once.
    """

    function: MatrixFunction
    angles: tuple[float | None, ...]
    is_derivative: bool = False

    def __call__(self, angles: RealArray) -> ComplexArray:
        """The free angles ``(..., f)`` to what the function gives, derivatives by the free ones."""
        free = [k for k, angle in enumerate(self.angles) if angle is None]
        full = np.empty((*angles.shape[:-1], len(self.angles)), angles.dtype)
        full[...] = [0.0 if angle is None else angle for angle in self.angles]
        full[..., free] = angles
        out = self.function(full)
        return out.take(free, axis=angles.ndim - 1) if self.is_derivative else out


def lower(
    row: Gate,
    targets: Sequence[int],
    controls: Sequence[int] = (),
    control_state: int | None = None,
    angles: Sequence[float | Slot] = (),
    payload: Any = None,  # an array, a label or a Source, as row.payload says
    position: int = -1,
) -> tuple[Step, ...]:
    """Return the steps of one instruction, mostly one.

    Args:
        row: the gate.
        targets: its qubits without controls, least significant first.
        controls: all control qubits, those of the row and any others.
        control_state: bit k is what ``controls[k]`` must hold; None for all ones.
        angles: numbers in radians or slots, one for each of ``row.params``.
        payload: what the instruction carries where ``row.payload`` is set.
        position: index of the instruction in the circuit.

    Example:
        >>> from circuits.gates import gate
        >>> (step,) = lower(gate("crx"), [2], [0], angles=[Slot(5)])
        >>> step.structure.name, step.word, step.targets, step.controls, step.slots
        ('ROTATION', 'X', (2,), (0,), (5,))
    """
    state = (1 << len(controls)) - 1 if control_state is None else control_state
    step = Step(row.structure, tuple(targets), tuple(controls), state, position=position)
    if row.payload is Payload.PATTERN:
        pairs = _swaps(np.asarray(payload), step.targets)
        return tuple(replace(step, targets=pair, permutation=_SWAP) for pair in pairs)
    if row.payload is Payload.LABEL and not row.params:
        phase = replace(step, structure=Structure.DIAGONAL, targets=(), matrix=_I)
        return _rotation(step, payload[::-1], np.pi), phase
    if row.structure is Structure.ROTATION:
        word = payload[::-1] if row.word is None else row.word
        return (_rotation(step, word, *angles),)
    if row.function is not None:
        return (_function_step(step, row, angles),)
    if isinstance(payload, Source):
        return (replace(step, source=payload.index),)
    if row.structure is Structure.PERMUTATION:
        images = np.asarray(payload) if row.permutation is None else row.permutation
        return (replace(step, permutation=images),)
    return (replace(step, matrix=np.asarray(payload) if row.matrix is None else row.matrix),)


_SWAP = np.array([0, 2, 1, 3], np.int64)
_I = np.array([1j])


def _rotation(step: Step, word: str, angle: float | Slot) -> Step:
    """Rotation step; letters I are left out, an empty word is a phase."""
    kept = [(q, letter) for q, letter in zip(step.targets, word, strict=True) if letter != "I"]
    step = replace(
        step, targets=tuple(q for q, _ in kept), word="".join(letter for _, letter in kept)
    )
    if isinstance(angle, Slot):
        return replace(step, slots=(angle.column,))
    return replace(step, angle=float(angle))


def _function_step(step: Step, row: Gate, angles: Sequence[float | Slot]) -> Step:
    """Step of a matrix function: evaluated at once, whole, or with the fixed angles filled in."""
    function, derivative = row.function, row.derivative
    assert function is not None
    assert derivative is not None
    slots = tuple(angle.column for angle in angles if isinstance(angle, Slot))
    fixed = tuple(None if isinstance(angle, Slot) else float(angle) for angle in angles)
    if not slots:
        return replace(step, matrix=function(np.array(fixed, np.float64)))
    if len(slots) < len(fixed):
        function = PartlyFixed(function, fixed)
        derivative = PartlyFixed(derivative, fixed, is_derivative=True)
    pairs = zip(row.spectra, fixed, strict=True)
    spectra = tuple([spectrum for spectrum, angle in pairs if angle is None])
    return replace(step, slots=slots, function=function, derivative=derivative, spectra=spectra)


def _swaps(pattern: NDArray[np.int64], targets: tuple[int, ...]) -> list[tuple[int, int]]:
    """Exchanges of two qubits, in order, after which target j holds what pattern[j] held."""
    held = list(range(len(pattern)))
    pairs = []
    for j, wanted in enumerate(pattern.tolist()):
        where = held.index(wanted)
        if where != j:
            pairs.append((targets[j], targets[where]))
            held[j], held[where] = held[where], held[j]
    return pairs
