"""Circuit.retain_angle_grads and angle_grads: the derivative by each angle where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from autodiff import GradientError, Tensor
from circuits.angle_table import wanted_slots
from circuits.instruction import Instruction
from circuits.occurrences import symbolic_angles

if TYPE_CHECKING:
    from circuits.circuit import Circuit


class AngleGradient(NamedTuple):
    """The derivative by one angle of one gate.

    Attributes:
        position: index of the gate in the circuit.
        gate: its name.
        slot: index of the angle among the gate's own.
        gradient: ``()``, or ``(B,)`` where the angles have a batch axis.
    """

    position: int
    gate: str
    slot: int
    gradient: Tensor


class RetainedAngles(NamedTuple):
    """The angles of one run, and the gates that they belong to."""

    instructions: Sequence[Instruction]
    angles: Tensor
    wanted: bool | tuple[bool, ...]


class AngleGradMethods:
    """What becomes of gradients before the chain rule adds them up by Parameter."""

    _retains_angle_grads = False
    _retained: RetainedAngles | None = None

    def retain_angle_grads(self, retain: bool = True) -> Circuit:
        """Keep the gradient by each angle of the following runs, and return self.

        A Parameter's ``grad`` is a sum over all gates that it feeds; ``angle_grads`` shows the
        terms. Copies of the circuit start without.

        Args:
            retain: False stops it, and forgets what was kept.

        >>> from circuits import Circuit, Parameter, Z
        >>> t = Parameter(0.3, name="t")
        >>> qc = Circuit(1).rx(t, 0).rx(2 * t, 0).retain_angle_grads()
        >>> qc.expectation(Z(0), engine="reference").backward()
        >>> [(g.position, g.gate, round(g.gradient.item(), 6)) for g in qc.angle_grads()]
        [(0, 'rx', -0.783327), (1, 'rx', -0.783327)]
        """
        self._retains_angle_grads, self._retained = bool(retain), None
        return cast("Circuit", self)

    def angle_grads(self) -> list[AngleGradient]:
        """Return the gradient by each angle, of the last recorded run and its backward pass.

        Returns:
            One entry for each symbolic angle, in the order of the gates; angles that only depend on
            values with ``requires_grad=False`` are left out, as no gradient was computed.

        Raises:
            GradientError: no run since ``retain_angle_grads``, or no backward pass since that run.
        """
        kept = self._retained
        grad = None if kept is None else kept.angles.grad
        if kept is None or grad is None:
            missing = "no recorded run" if kept is None else "a run without a backward pass"
            raise GradientError(
                f"angle_grads needs a run after retain_angle_grads, and its backward pass, got "
                f"{missing}. Call qc.retain_angle_grads(), then qc.expectation(...).backward()."
            )
        found = symbolic_angles(kept.instructions)
        flags = [kept.wanted] * len(found) if isinstance(kept.wanted, bool) else kept.wanted
        return [
            AngleGradient(o.position, o.instruction.name, o.slot, grad[..., column])
            for column, (o, flag) in enumerate(zip(found, flags, strict=True))
            if flag
        ]

    def _kept(self, angles: Tensor) -> Tensor:
        """Return the angles of a run, noted if they are to keep their gradient and have one."""
        if not (self._retains_angle_grads and angles.requires_grad):
            return angles
        # Before the backward pass, which frees the history that says what is wanted. A copy, since
        # the angles may be the elements of a leaf, whose own gradient is another matter.
        wanted = wanted_slots(angles)
        kept = angles.copy().retain_grad()
        self._retained = RetainedAngles(cast("Circuit", self).instructions, kept, wanted)
        return kept
