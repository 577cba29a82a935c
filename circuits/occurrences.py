"""Where symbolic angles stand: the order in which the angle table counts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from circuits.angles import Angle
from circuits.instruction import Instruction


@dataclass(frozen=True)
class Occurrence:
    """One symbolic angle of one gate.

    Attributes:
        position: index of the gate in the circuit.
        instruction: the gate.
        slot: index of the angle among the gate's own.
    """

    position: int
    instruction: Instruction
    slot: int

    @property
    def angle(self) -> Angle:
        """The expression."""
        angle = self.instruction.angles[self.slot]
        assert isinstance(angle, Angle)
        return angle


def symbolic_angles(instructions: Sequence[Instruction]) -> list[Occurrence]:
    """Return every symbolic angle in order: column k of the angle table is that of entry k.

    >>> from circuits import Circuit, Parameter
    >>> t = Parameter(0.1)
    >>> [
    ...     (o.position, o.slot)
    ...     for o in symbolic_angles(Circuit(1).h(0).u(t, 0.2, t, 0).instructions)
    ... ]
    [(1, 0), (1, 2)]
    """
    return [
        Occurrence(position, instruction, slot)
        for position, instruction in enumerate(instructions)
        for slot, angle in enumerate(instruction.angles)
        if isinstance(angle, Angle)
    ]
