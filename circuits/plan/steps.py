"""What an engine sees of a circuit: steps with a structure, matrices and qubits, no gate's name.

The amplitude of basis state ``i`` stands at index ``i``; qubit ``q`` is bit ``q`` of ``i``. A local
matrix on ``targets`` is indexed by ``sum(bit(targets[k]) << k)``: the first target is the least
significant bit. Controls never enter a matrix; they are a mask and a value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

ComplexArray = NDArray[np.complexfloating]
RealArray = NDArray[np.floating]
MatrixFunction = Callable[[RealArray], ComplexArray]
Spectra = tuple[tuple[float, ...], ...]
"""For each angle t of a function all w for which e^{i w t} occurs in what the function gives."""


class Structure(Enum):
    """How a step acts on its targets."""

    ROTATION = "rotation"
    """exp(-i t/2 P) for a Pauli word P; one slot, or a fixed angle."""
    DIAGONAL = "diagonal"
    """Multiplies by a diagonal of 2**len(targets) entries; no targets at all is a phase."""
    PERMUTATION = "permutation"
    """Moves local basis state j to ``permutation[j]``."""
    DENSE = "dense"
    """A unitary of 2**len(targets) rows."""


@dataclass(frozen=True, eq=False)
class Step:
    """One gate, lowered.

    Exactly one of ``word``, ``permutation``, ``matrix``, ``function``, ``source`` says what acts on
    the targets (a rotation has ``word`` and either ``slots`` or ``angle``).

    Attributes:
        structure: how it acts.
        targets: qubits, least significant first.
        controls: qubits that must hold ``control_state`` (bit k belongs to controls[k]).
        slots: columns of the angle table that the step reads, in the order of its parameters.
        word: Pauli letters, ``word[k]`` acts on ``targets[k]`` (ROTATION).
        angle: the fixed angle of a rotation without slots, in radians.
        matrix: fixed ``(d, d)`` matrix (DENSE) or ``(d,)`` diagonal (DIAGONAL).
        function: angles ``(..., len(slots))`` to matrices ``(..., d, d)`` or diagonals
            ``(..., d)``.
        derivative: the same angles to ``(..., len(slots), d, d)`` or ``(..., len(slots), d)``.
        spectra: of ``function``, for each slot.
        source: position of this step's matrix among the matrices given at run time (DENSE).
        permutation: ``(d,)`` int64 (PERMUTATION).
        position: index of the instruction in the circuit that this step came from.
    """

    structure: Structure
    targets: tuple[int, ...]
    controls: tuple[int, ...] = ()
    control_state: int = 0
    slots: tuple[int, ...] = ()
    word: str | None = None
    angle: float | None = None
    matrix: ComplexArray | None = None
    function: MatrixFunction | None = None
    derivative: MatrixFunction | None = None
    spectra: Spectra = ()
    source: int | None = None
    permutation: NDArray[np.int64] | None = None
    position: int = -1

    @property
    def control_mask(self) -> int:
        """Bits of the basis index that the controls occupy."""
        return sum(1 << q for q in self.controls)

    @property
    def control_value(self) -> int:
        """What those bits must hold."""
        return sum(((self.control_state >> k) & 1) << q for k, q in enumerate(self.controls))

    @property
    def x_mask(self) -> int:
        """Bits that the rotation's word flips (letters X and Y)."""
        return sum(
            1 << q
            for q, letter in zip(self.targets, self.word or "", strict=False)
            if letter in "XY"
        )

    @property
    def z_mask(self) -> int:
        """Bits whose parity is the sign of the rotation's word (letters Z and Y)."""
        return sum(
            1 << q
            for q, letter in zip(self.targets, self.word or "", strict=False)
            if letter in "ZY"
        )


@dataclass(frozen=True, eq=False)
class Plan:
    """An immutable snapshot of a circuit for the engines.

    Attributes:
        num_qubits: width.
        steps: in order of application.
        num_slots: columns of the angle table.
        num_matrices: matrices given at run time.
        partial: some of the circuit's steps were left out, so that angles may be there unread.
        memo: what an engine derives from the plan and wants to keep, by engine name. Angles are
            never in it, so it stays valid as long as the plan lives.
    """

    num_qubits: int
    steps: tuple[Step, ...]
    num_slots: int
    num_matrices: int = 0
    partial: bool = False
    memo: dict[str, object] = field(default_factory=dict, repr=False)
