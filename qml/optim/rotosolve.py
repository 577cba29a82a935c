"""Rotosolve: every Parameter goes to its exact minimum, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import atan2, cos, hypot, pi, sin
from typing import Any, ClassVar

from autodiff import Parameter, ParameterError, Tensor, no_grad
from circuits import Circuit
from circuits.compiled import Compiled
from circuits.engines.base import Engine
from circuits.observable_base import Observable
from qml.optim.base import Closure, Optimizer, StepCounts, refuse_closure
from qml.optim.circuit_angles import Slot, checked_circuit, refuse_batch, slots_of
from qml.optim.sweep import Parts, Sweep, sweep_of
from qml.settings import Check, real

# Any in this file: settings, state and inputs, as in ``base`` and in Circuit's methods.

FLAT = 50
"""An objective that varies by less roundings of its size does not depend on the angle."""


@dataclass(frozen=True)
class Coordinate:
    """One element of a Parameter.

    Attributes:
        parameter: position of the Parameter in the optimizer's list.
        element: flat index.
        slot: the angle that it enters.
        step: position of that angle's gate in the plan.
        factor: of the element in the angle.
        frequency: w; the objective is m + b cos(w a) + c sin(w a) of the angle a.
    """

    parameter: int
    element: int
    slot: int
    step: int
    factor: float
    frequency: float


@dataclass(frozen=True)
class _Known:
    """What is found out about a circuit once, until it changes."""

    compiled: Compiled
    coordinates: list[Coordinate]
    parts: Parts


class Rotosolve(Optimizer):
    """Sets one Parameter after the other to where the objective is least, without a gradient.

        f(p_k + x) = m + b cos(w x) + c sin(w x) for a Parameter that enters one rotation
        p_k <- p_k + lr x,  x = atan2(-c, -b) / w,  where b and c follow from three values

    One ``step`` is a sweep over all elements in the order of their gates; with lr = 1 none of its
    moves ever goes uphill. The state before gate k is kept, so that only two evolutions through the
    gates after it are new: P^2 + O(P) gates a sweep instead of 3 P^2. For an objective made of
    states (a state to be reached, or projectors on basis states) what the gates after k make of
    these is kept too, and a sweep is O(P) gates. PyTorch has no such optimizer.

    Args:
        params: Parameters of the circuit; see ``Optimizer``. Each element must enter one angle
            only, linearly, of a gate with one frequency: an uncontrolled Pauli rotation, ``p``, ...
        circuit: the circuit.
        objective: an observable whose expectation is minimised, or a state ``(2**n,)`` of norm 1,
            whose infidelity 1 - |<state|psi>|^2 is minimised.
        lr: which part of the way to the minimum is gone, at least 0.
        inputs: features by Input name, ``(size,)`` each.
        engine: see ``Circuit.expectation``.

    Raises:
        ParameterError: no Parameters, one of them twice, or one that enters otherwise.
        SettingError: no circuit, a batch of inputs, or a setting outside its range.
        ObservableError: an objective that is not Hermitian or of another width.

    Example:
        >>> from circuits import Z
        >>> p = Parameter(0.3)
        >>> circuit = Circuit(1).ry(2 * p, 0)
        >>> Rotosolve([p], circuit, Z(0)).step().updated, round(p.item(), 6)  # pi / 2
        (1, 1.570796)

    Reference:
        Ostaszewski, Grant, Benedetti (2021), arXiv:1905.09692; Nakanishi, Fujii, Todo (2020),
        arXiv:1903.12166.
    """

    checks: ClassVar[Mapping[str, Check]] = {"lr": real(0.0)}

    def __init__(
        self,
        params: Iterable[Parameter],
        circuit: Circuit,
        objective: Observable | Any,  # Any: array-like or a Tensor, a state
        lr: float = 1.0,
        *,
        inputs: Mapping[str, Any] | None = None,
        engine: str | Engine | None = None,
    ) -> None:
        super().__init__(params, {"lr": lr})
        checked_circuit("Rotosolve", circuit, self.parameters)
        self._circuit, self._objective = circuit, objective
        self._options: dict[str, Any] = {"inputs": inputs, "engine": engine}
        self._known = self._coordinates()
        self._sweep()

    def step(self, closure: Closure | None = None) -> StepCounts:
        """Make one sweep.

        Args:
            closure: refused; the objective is known.

        Returns:
            How many Parameters were updated and skipped, and the objective before the sweep.
        """
        refuse_closure("Rotosolve", closure)
        moving = [p.trainable for p in self.parameters]
        if self._circuit.compiled() is not self._known.compiled:
            self._known = self._coordinates()
        coordinates = [c for c in self._known.coordinates if moving[c.parameter]]
        values = [p.numpy().copy() for p in self.parameters]
        with no_grad():
            sweep = self._sweep()
            if coordinates:
                sweep.go_to(coordinates[0].step)
            now = before = float(sweep.values(0, [0.0])[0])
            for c in coordinates:
                sweep.go_to(c.step)
                x, now = self._move(sweep, c, now)
                values[c.parameter].reshape(-1)[c.element] += x
        for p, value, moved in zip(self.parameters, values, moving, strict=True):
            if moved:
                p.set_(value)
        return StepCounts(sum(moving), len(moving) - sum(moving), 0, Tensor(before))

    def _move(self, sweep: Sweep, c: Coordinate, now: float) -> tuple[float, float]:
        """Set one angle; return the element's change, and the objective after it."""
        quarter = pi / (2 * c.frequency)
        up, down = sweep.values(c.slot, (quarter, -quarter))
        middle, odd = (up + down) / 2, (up - down) / 2
        even = now - middle
        if hypot(even, odd) <= FLAT * sweep.rounding * max(abs(up), abs(down), abs(now)):
            return 0.0, now
        phase = self.lr * atan2(-odd, -even)
        turn = phase / c.frequency
        sweep.turn(c.slot, turn)
        return turn / c.factor, middle + even * cos(phase) + odd * sin(phase)

    def _sweep(self) -> Sweep:
        run = self._circuit._run(**self._options)
        refuse_batch("Rotosolve", run)
        return sweep_of(run, self._objective, self._known.parts)

    def _coordinates(self) -> _Known:
        checked_circuit("Rotosolve", self._circuit, self.parameters)
        compiled = self._circuit.compiled()
        return _Known(compiled, _coordinates(self._circuit, compiled, self.parameters), {})


def _coordinates(
    circuit: Circuit, compiled: Compiled, parameters: Sequence[Parameter]
) -> list[Coordinate]:
    slots = slots_of(circuit)
    step_of = {s: k for k, step in enumerate(compiled.plan.steps) for s in step.slots}
    uses: dict[tuple[int, int], list[tuple[int, float]]] = {}
    bent: dict[int, str] = {}
    for column, slot in enumerate(slots):
        for (leaf, element), factor in zip(slot.angle.atoms, slot.angle.coefficients, strict=True):
            if factor:
                uses.setdefault((id(leaf._meta), element), []).append((column, factor))
        if slot.angle.program is not None:
            bent |= {id(leaf._meta): slot.gate for leaf in slot.angle.program.slots}
    names = dict(zip(map(_key, circuit.parameters()), circuit.parameter_names(), strict=True))
    found = []
    for position, p in enumerate(parameters):
        for element in range(p.numel()):
            name = names[_key(p)] + (f"[{element}]" if p.ndim else "")
            if _key(p) in bent:
                raise _refusal(name, f"an expression that is not linear, in {bent[_key(p)]}")
            entered = uses.get((_key(p), element), [])
            column, factor = _only(name, entered, slots)
            (frequency,) = slots[column].frequencies
            found.append(Coordinate(position, element, column, step_of[column], factor, frequency))
    return sorted(found, key=lambda c: (c.step, c.slot))


def _only(
    name: str, entered: Sequence[tuple[int, float]], slots: Sequence[Slot]
) -> tuple[int, float]:
    """Return the one slot that an element enters, and its factor there, or refuse."""
    if len(entered) != 1:
        gates = ", ".join(slots[column].gate for column, _ in entered) or "none"
        raise _refusal(name, f"{len(entered)} angles ({gates})")
    slot = slots[entered[0][0]]
    if len(slot.frequencies) != 1:
        several = ", ".join(f"{w:g}" for w in slot.frequencies) or "none"
        raise _refusal(name, f"{slot.gate}, whose frequencies are {several}")
    return entered[0]


def _refusal(name: str, got: str) -> ParameterError:
    return ParameterError(
        f"Rotosolve needs Parameters that enter one angle of one uncontrolled rotation, linearly; "
        f"got {name!r}, which enters {got}. Leave it out and train it with another optimizer."
    )


def _key(parameter: Tensor) -> int:
    return id(parameter._meta)
