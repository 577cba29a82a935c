"""An objective along one angle after the other, with what the other gates do kept.

A sweep stands at one step of a plan, and ``left`` is the state before it. With a general observable
a value is an evolution of ``left`` through the rest of the plan. With an observable

    O = constant + sum_r weight_r |b_r><b_r|

``right`` holds the states b_r as the gates after the step pull them back, and a value takes the
step alone: |<right_r|step|left>|^2. Passing a gate costs one application of it to either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor, enable_grad, no_grad
from circuits.compiled_observables import compile_observables
from circuits.errors import StateError
from circuits.execute import evolve, expectation_of
from circuits.observable_base import Observable
from circuits.plan.steps import Plan
from circuits.plan.terms import PauliTerm, ProjectorTerm, Terms
from circuits.run_methods import Run
from circuits.state import initial_state

Parts = dict[tuple[int, int], Plan]
"""Cuts of a plan by first and last step. They are kept, since engines remember plans."""

BRAS_PER_STEP = 0.25
"""More states b_r than this, for each step, cost more than evolving through the rest."""


class Sweep(ABC):
    """The objective of one run as a function of single angles.

    Args:
        run: what the circuit is run with; a single sample.
        parts: the cuts of its plan that are known; more are added.

    Attributes:
        rounding: the relative rounding of the run's precision.
    """

    def __init__(self, run: Run, parts: Parts) -> None:
        self._plan, self._engine = run.plan, run.engine
        self._matrices = tuple([m.detach() for m in run.matrices])
        self._dtype, self._device = run.angles.dtype, run.angles.device
        self._angles = run.angles.numpy().astype(np.float64)
        self._left, self._position = run.state.detach(), 0
        self._parts = parts
        self.rounding = float(np.finfo(run.state.dtype).eps)

    def go_to(self, position: int) -> None:
        """Move on to a later step."""
        self._left = self._evolved(self._left, self._position, position)
        self._position = position

    def turn(self, slot: int, x: float) -> None:
        """Change an angle of the present step by x radians."""
        self._angles[slot] += x

    @abstractmethod
    def values(self, slot: int, shifts: Sequence[float]) -> NDArray[np.float64]:
        """Return the objective for each shift of one angle of the present step."""

    def _part(self, first: int, end: int) -> Plan:
        if (first, end) not in self._parts:
            plan, steps = self._plan, self._plan.steps[first:end]
            cut = Plan(plan.num_qubits, steps, plan.num_slots, plan.num_matrices)
            self._parts[first, end] = cut
        return self._parts[first, end]

    def _shifted(self, slot: int, shifts: Sequence[float]) -> Tensor:
        batch = np.repeat(self._angles[None], len(shifts), axis=0)
        batch[:, slot] += shifts
        return Tensor(batch, dtype=self._dtype, device=self._device)

    def _evolved(self, state: Tensor, first: int, end: int) -> Tensor:
        """Return states after some steps at the present angles."""
        if end <= first:
            return state
        angles = Tensor(self._angles, dtype=self._dtype, device=self._device)
        return evolve(state, angles, self._matrices, self._part(first, end), self._engine)


class GeneralSweep(Sweep):
    """The objective is any observable.

    Args:
        run: what the circuit is run with.
        parts: the cuts of its plan that are known.
        terms: the observable, one row.
        coefficients: ``(T,)``.
    """

    def __init__(self, run: Run, parts: Parts, terms: Terms, coefficients: Tensor) -> None:
        super().__init__(run, parts)
        self._terms, self._coefficients = terms, coefficients.detach().to(self._device)

    def values(self, slot: int, shifts: Sequence[float]) -> NDArray[np.float64]:
        """Return the objective for each shift of one angle of the present step."""
        rest = self._part(self._position, len(self._plan.steps))
        operands = (self._left, self._shifted(slot, shifts), self._coefficients, self._matrices)
        with no_grad():
            found = expectation_of(*operands, rest, self._terms, self._engine, single=True)
        return found.numpy().astype(np.float64)


class BraSweep(Sweep):
    """The objective is constant + sum_r weight_r |<b_r|psi>|^2.

    Args:
        run: what the circuit is run with.
        parts: the cuts of its plan that are known.
        states: b_r, ``(R, 2**n)``.
        weights: ``(R,)``.
        constant: the constant.
    """

    def __init__(
        self,
        run: Run,
        parts: Parts,
        states: NDArray[np.complexfloating],
        weights: NDArray[np.float64],
        constant: float,
    ) -> None:
        super().__init__(run, parts)
        self._weights, self._constant = weights, constant
        self._right = self._pulled_back(states.astype(run.state.dtype))

    def _pulled_back(self, states: NDArray[np.complexfloating]) -> Tensor:
        """Undo all steps but the first: a reverse sweep's gradient by the state is U^dagger b."""
        start = Tensor(np.zeros_like(states), device=self._device, requires_grad=True)
        with enable_grad():
            final = self._evolved(start, 1, len(self._plan.steps))
            final.backward(gradient=Tensor(states, device=self._device))
        assert start.grad is not None
        return start.grad

    def go_to(self, position: int) -> None:
        """Move on to a later step."""
        self._right = self._evolved(self._right, self._position + 1, position + 1)
        super().go_to(position)

    def values(self, slot: int, shifts: Sequence[float]) -> NDArray[np.float64]:
        """Return the objective for each shift of one angle of the present step."""
        step = self._part(self._position, self._position + 1)
        angles = self._shifted(slot, shifts)
        with no_grad():
            states = evolve(self._left, angles, self._matrices, step, self._engine)
            amplitudes = (self._right.conj() @ states.T).numpy().astype(np.complex128)
        return self._constant + self._weights @ np.abs(amplitudes) ** 2


def sweep_of(run: Run, objective: Observable | Any, parts: Parts) -> Sweep:
    """Return the sweep of an observable, or of a state's infidelity.

    Args:
        run: what the circuit is run with; a single sample.
        objective: an Observable, or ``(2**n,)`` amplitudes of norm 1. Any: array-like or a Tensor.
        parts: the cuts of the run's plan that are known.

    Raises:
        ObservableError: not Hermitian, or of another width.
        StateError: not of shape ``(2**n,)``, or not of norm 1.
    """
    width = run.plan.num_qubits
    if not isinstance(objective, Observable):
        return BraSweep(run, parts, _checked_state(objective, run)[None], -np.ones(1), 1.0)
    compiled = compile_observables([objective], width)
    coefficients = compiled.coefficients()
    terms, c = compiled.terms.terms, coefficients.numpy().astype(np.float64)
    full = (1 << width) - 1
    constants = [isinstance(t, PauliTerm) and t.x_mask == t.z_mask == 0 for t in terms]
    kets = [t.value for t in terms if isinstance(t, ProjectorTerm) and t.mask == full]
    few = len(kets) <= max(1.0, BRAS_PER_STEP * len(run.plan.steps))
    if not kets or not few or len(kets) + sum(constants) < len(terms):
        return GeneralSweep(run, parts, compiled.terms, coefficients)
    states = np.zeros((len(kets), 1 << width), np.complex128)
    states[range(len(kets)), kets] = 1
    fixed = np.array(constants)
    return BraSweep(run, parts, states, c[~fixed], float(c[fixed].sum()))


def _checked_state(given: Any, run: Run) -> NDArray[np.complexfloating]:
    """Return a state's amplitudes, or refuse."""
    state = initial_state(given, run.plan.num_qubits, run.state.dtype).numpy()
    norm = np.linalg.norm(state)
    if state.ndim != 1 or not abs(norm - 1) < 1e-5:
        raise StateError(
            f"an objective needs an Observable or one state of norm 1, got shape {state.shape} and "
            f"norm {norm:.6g}. Divide it by its norm."
        )
    return state
