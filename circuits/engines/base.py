"""The protocol between the circuit ops and an engine: two calls, whatever the batch.

An engine works on plain arrays. States are ``(B or 1, 2**n)``, angles ``(B or 1, S)``, matrices
``(B or 1, d, d)``, coefficients ``(B or 1, T)``; B is the same in all of them. What an engine
returns is always per sample, ``(B, ...)``: sums over a shared operand are the ops' business.
Samples of a reverse call may share final states: F states, F a divisor of B, serve the samples in
turn, sample s has state s mod F. So R cotangents of one run need no copies of its final states.

Gradients follow the inner product <a, b> = Re sum conj(a) b: with cotangent lambda of the final
state, the gradient of a step's angle t is Re <lambda| dU/dt U^dagger |psi> with psi the state after
it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autodiff.dtypes import real_dtype
from circuits.plan import memory
from circuits.plan.forecast import Outline
from circuits.plan.steps import ComplexArray, Plan, RealArray
from circuits.plan.terms import Terms


class Wanted(NamedTuple):
    """Which gradients a reverse call must compute; the others come back as None.

    Attributes:
        state: of the initial state.
        angles: of all angles, or those of the slots that are True; of the others it is zero.
        matrices: of the given matrices.
        coefficients: of the observables' coefficients.
    """

    state: bool = False
    angles: bool | tuple[bool, ...] = True
    matrices: bool = False
    coefficients: bool = False

    @property
    def slots(self) -> bool:
        """Whether the gradient of any angle is wanted."""
        return self.angles if isinstance(self.angles, bool) else any(self.angles)

    def wants_slot(self, slot: int) -> bool:
        """Return whether the gradient of an angle is wanted."""
        return self.angles if isinstance(self.angles, bool) else self.angles[slot]


@dataclass(slots=True)
class Gradients:
    """Per-sample gradients of one reverse call.

    Attributes:
        state: ``(B, 2**n)`` complex, with respect to the initial state.
        angles: ``(B, S)`` real.
        matrices: one ``(B, d, d)`` complex array a matrix.
        coefficients: ``(B, T)`` real.
    """

    state: ComplexArray | None = None
    angles: RealArray | None = None
    matrices: tuple[ComplexArray, ...] | None = None
    coefficients: RealArray | None = None


class Engine(ABC):
    """Runs plans. Implementations hold no state that depends on a circuit."""

    name: ClassVar[str]

    @abstractmethod
    def forward(
        self,
        plan: Plan,
        state: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray] = (),
        terms: Terms | None = None,
        coefficients: RealArray | None = None,
    ) -> tuple[ComplexArray, RealArray | None]:
        """Apply the plan to ``state`` (not changed) and, where ``terms`` are given, measure them.

        Returns:
            The final state ``(B, 2**n)`` in the dtype of ``state``, and the values ``(B, K)`` in
            the matching real dtype, or None without terms.
        """

    @abstractmethod
    def reverse(
        self,
        plan: Plan,
        final: ComplexArray,
        angles: RealArray,
        matrices: Sequence[ComplexArray],
        wanted: Wanted,
        *,
        cotangent: ComplexArray | None = None,
        terms: Terms | None = None,
        coefficients: RealArray | None = None,
        weights: RealArray | None = None,
    ) -> Gradients:
        """Run the adjoint sweep from ``final`` ``(F, 2**n)`` (not changed).

        Either ``cotangent`` ``(B, 2**n)`` is given, or ``terms``, ``coefficients`` and ``weights``
        ``(B, K)``, the cotangent of the values; then the sweep starts from
        lambda = sum_t 2 w[rows[t]] c_t O_t psi.
        """

    def prepared_forward(
        self, plan: Plan, batch: int, dtype: np.dtype[Any], terms: Terms | None
    ) -> Callable[..., tuple[ComplexArray, RealArray | None]]:
        """Return ``forward`` for calls of one kind: what they have in common is found out once.

        Args:
            plan: of all calls.
            batch: samples of each call.
            dtype: of states.
            terms: those of all calls.
        """
        return self.forward

    def prepared_reverse(
        self, plan: Plan, batch: int, dtype: np.dtype[Any], terms: Terms | None, wanted: Wanted
    ) -> Callable[..., Gradients]:
        """Return ``reverse`` for calls of one kind; see ``prepared_forward``."""
        return self.reverse

    def available_memory(self) -> int:
        """Return the bytes that runs of this engine may still use; by default the host's."""
        return memory.available_memory()

    def outline(
        self,
        plan: Plan,
        batch: int,
        dtype: np.dtype[np.complexfloating[Any]],
        terms: Terms | None = None,
    ) -> Outline:
        """Say how a plan would run; this is the outline of an engine that keeps to the steps.

        Memory: nine arrays of the states, for a step's operands and products and for what a
        reverse call has beside the final states, and 40 bytes an amplitude for lists of indices.
        """
        states, indices = batch * dtype.itemsize << plan.num_qubits, 40 << plan.num_qubits
        kinds = Counter(step.structure.value for step in plan.steps)
        return Outline(
            layout="arrays",
            reason="steps act one by one, nothing is fused",
            blocks=dict(kinds.most_common()),
            stages=(1,) * len(plan.steps),
            threads=1,
            forward_bytes=5 * states + indices,
            reverse_bytes=9 * states + indices,
            angle_bytes=batch * plan.num_slots * real_dtype(dtype).itemsize,
        )


def check_batch(arrays: Sequence[NDArray[Any] | None]) -> int:
    """Return the batch size that the leading axes broadcast to."""
    return max([a.shape[0] for a in arrays if a is not None], default=1)


def swept_samples(cotangent: ComplexArray | None, weights: RealArray | None) -> int:
    """Return the number of samples of a reverse call, which starts from one or the other."""
    given = weights if cotangent is None else cotangent
    assert given is not None
    return int(given.shape[0])


def own_states(states: ComplexArray, batch: int) -> ComplexArray:
    """Return states ``(F, 2**n)`` that ``batch`` samples take in turn as ``(batch, 2**n)``.

    >>> own_states(np.array([[1.0], [2.0]]), 4)[:, 0].tolist()
    [1.0, 2.0, 1.0, 2.0]
    """
    if len(states) == batch:
        return states
    return states[None].repeat(batch // len(states), axis=0).reshape(batch, -1)
