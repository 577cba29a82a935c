"""What the passes make of steps: blocks, each of one simple kind, on wires.

A wire holds one qubit's content; exchanges of qubits only rename wires. Controls are pairs of a
wire and the bit that it must hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from circuits.plan.steps import MatrixFunction, Spectra, Step

Controls = tuple[tuple[int, int], ...]
Quaternion = tuple[float, float, float, float]
"""w, x, y, z of the matrix w - i (x X + y Y + z Z)."""


class Slot(NamedTuple):
    """A rotation by an angle of the call about X, Y or Z (0, 1, 2), or about a block's word."""

    column: int
    axis: int = 2


class Constant(NamedTuple):
    """Numbers that the plan knows."""

    values: tuple[float, ...]


class Made(NamedTuple):
    """What a function of angles makes: ``member`` of ``Fused.functions[group]``."""

    group: int
    member: int


class Given(NamedTuple):
    """A matrix of the call."""

    source: int


Source = Slot | Constant | Made | Given


class Turn(NamedTuple):
    """A block in SU(2) on one wire: the product of its factors, the first one first."""

    wire: int
    factors: tuple[Source, ...]
    controls: Controls = ()


class Word(NamedTuple):
    """exp(-i t/2 P), or if ``negative`` exp(i t/2 P), for a word P that flips something.

    A constant is cos(t/2), sin(t/2).
    """

    x_mask: int
    z_mask: int
    source: Source
    controls: Controls = ()
    negative: bool = False


class Phase(NamedTuple):
    """exp(-i t/2 Z...Z) for a slot, else a phase (cos, sin), conjugated where the parity is odd."""

    z_mask: int
    source: Source
    controls: Controls = ()


class Table(NamedTuple):
    """A diagonal on wires, least significant first; a constant lists real and imaginary parts."""

    wires: tuple[int, ...]
    source: Source
    controls: Controls = ()


class Matrix(NamedTuple):
    """A matrix on wires, least significant first; a constant lists real and imaginary parts."""

    wires: tuple[int, ...]
    source: Source
    controls: Controls = ()


class Exchange(NamedTuple):
    """Exchange of the basis states ``first`` and ``second`` of some wires."""

    wires: tuple[int, ...]
    first: int
    second: int
    controls: Controls = ()


class Cx(NamedTuple):
    """Flips ``target`` where ``control`` holds 1."""

    control: int
    target: int


Block = Turn | Word | Phase | Table | Matrix | Exchange | Cx


@dataclass(eq=False)
class Function:
    """Steps whose numbers one function makes.

    Attributes:
        function: of all of them.
        derivative: the same.
        size: rows of the matrix, or entries of the diagonal.
        diagonal: whether it makes diagonals.
        spectra: for each angle the frequencies in what it makes.
        slots: columns of the angle table, a row a member.
        controlled: whether a member has controls, so that its phase is a block of its own.
    """

    function: MatrixFunction
    derivative: MatrixFunction
    size: int
    diagonal: bool
    spectra: Spectra = ()
    slots: list[tuple[int, ...]] = field(default_factory=list)
    controlled: list[bool] = field(default_factory=list)

    @property
    def is_turn(self) -> bool:
        """Whether the members are factors of turns, or mere phases (size 1)."""
        return self.size <= 2


@dataclass(frozen=True, eq=False)
class Fused:
    """A plan as blocks.

    Attributes:
        num_qubits: width.
        num_slots: columns of the angle table.
        blocks: in order of application.
        wires: the wire of every qubit after the last block.
        functions: what makes numbers from angles.
        phase: the fixed part of the global phase, in radians.
        phase_slots: angles t that add -t/2 to it.
        matrices: rows of the matrices given for a call, by source.
    """

    num_qubits: int
    num_slots: int
    blocks: tuple[Block, ...]
    wires: tuple[int, ...]
    functions: tuple[Function, ...]
    phase: float
    phase_slots: tuple[int, ...]
    matrices: dict[int, int]

    @property
    def learns_phase(self) -> bool:
        """Whether angles change the global phase."""
        return bool(self.phase_slots) or any(f.is_turn for f in self.functions)

    @property
    def is_phased(self) -> bool:
        """Whether there is a global phase."""
        return self.learns_phase or self.phase != 0


def step_controls(step: Step, wires: list[int] | tuple[int, ...]) -> Controls:
    """Return a step's controls as pairs of wire and bit."""
    return tuple([(wires[q], (step.control_state >> k) & 1) for k, q in enumerate(step.controls)])


def quaternion_product(p: Quaternion, q: Quaternion) -> Quaternion:
    """Return the quaternion of the product of two matrices, ``q`` applied first."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] + p[2] * q[0] + p[3] * q[1] - p[1] * q[3],
        p[0] * q[3] + p[3] * q[0] + p[1] * q[2] - p[2] * q[1],
    )


def split_unitaries(
    matrices: NDArray[np.complexfloating],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return quaternions ``(..., 4)`` and phases ``(...)`` of unitaries ``(..., 2, 2)``.

    U = e^{i phase} (w - i (x X + y Y + z Z)), where e^{2 i phase} is the determinant.

    >>> split_unitaries(np.array([[0, 1], [1, 0]], complex))[1] / np.pi
    np.float64(0.5)
    """
    determinants = matrices[..., 0, 0] * matrices[..., 1, 1]
    determinants = determinants - matrices[..., 0, 1] * matrices[..., 1, 0]
    phases = np.angle(determinants) / 2
    special = matrices * np.exp(-1j * phases)[..., None, None]
    a, b = special[..., 0, 0], special[..., 0, 1]
    return np.stack([a.real, -b.imag, -b.real, -a.imag], axis=-1), phases
