"""One circuit, observable and set of values, with every way to its derivatives by single angles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autodiff import Tensor, no_grad
from autodiff.device import CPU
from autodiff.dtypes import DType, real_dtype
from circuits import execute
from circuits.audit_report import Fault
from circuits.binding import Binding, bind
from circuits.circuit import Circuit
from circuits.compiled_observables import compile_observables
from circuits.dense import apply_steps, fixed_matrix, matrix_by_function, matrix_on_tape
from circuits.drawing.expressions import angle_text, leaf_names
from circuits.engines.base import Engine
from circuits.engines.registry import get_engine
from circuits.observable_base import Observable
from circuits.occurrences import Occurrence, symbolic_angles
from circuits.parameter_shift import slot_rules
from circuits.plan.light_cone import observed
from circuits.plan.memory import require_memory
from circuits.plan.steps import ComplexArray, Plan, RealArray, Spectra, Step
from circuits.plan.terms import Terms

_H = 2e-3
"""Distance of central differences, of which five points make an error of order h^4."""
_STENCIL = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))
_ROWS = 1 << 22
"""Amplitudes that are evolved at once."""
_ARRAYS = 6
"""Arrays of the state's size that the tape keeps of a step."""


def central_differences(function: Callable[[RealArray], Any], point: RealArray) -> Any:
    """Return the derivatives ``(p, ...)`` of a function of rows ``(R, p)`` at a point ``(p,)``.

    Any: arrays, real or complex, of whatever shape the function gives after its rows.
    """
    if not point.size:
        return np.zeros(0)
    rows = [point + k * _H * e for e in np.eye(point.size) for k, _ in _STENCIL]
    values = function(np.array(rows))
    weights = np.array([w for _, w in _STENCIL]) / _H
    return np.tensordot(
        weights, values.reshape(point.size, len(weights), *values.shape[1:]), (0, 1)
    )


@dataclass(frozen=True, eq=False)
class AuditCase:
    """What all methods are given.

    Attributes:
        circuit: whose gradient is audited.
        plan: its steps, before any pass.
        terms: of the observable.
        coefficients: ``(T,)``.
        angles: ``(S,)``.
        matrices: of the plan's sources.
        bound: where the angles come from.
        device: where engines run.
    """

    circuit: Circuit
    plan: Plan
    terms: Terms
    coefficients: RealArray
    angles: RealArray
    matrices: tuple[ComplexArray, ...]
    bound: Binding
    device: str

    @classmethod
    def of(
        cls, circuit: Circuit, observable: Observable, bound: Binding, device: str = CPU
    ) -> AuditCase:
        """Read all values once."""
        compiled = circuit.compiled()
        measured = compile_observables([observable], circuit.num_qubits)
        state = np.dtype(np.complex128).itemsize << circuit.num_qubits
        what = f"an audit of {len(compiled.plan.steps)} steps on {circuit.num_qubits} qubits"
        require_memory(_ARRAYS * state * (len(compiled.plan.steps) + 1), what)
        with no_grad():
            return cls(
                circuit,
                compiled.plan,
                measured.terms,
                measured.coefficients().numpy().astype(np.float64),
                bound.angles().numpy().astype(np.float64),
                tuple([m.value().numpy().astype(np.complex128) for m in compiled.matrices]),
                bound,
                device,
            )

    @cached_property
    def occurrences(self) -> list[Occurrence]:
        """Where the angles stand."""
        return symbolic_angles(self.circuit.instructions)

    @cached_property
    def texts(self) -> list[str]:
        """The angles as drawings write them."""
        names = leaf_names(self.circuit)
        return [angle_text(o.angle, names) for o in self.occurrences]

    @property
    def scale(self) -> float:
        """A bound of the observable's values, at least 1."""
        return max(1.0, float(np.abs(self.coefficients).sum()))

    def spectra(self, step: Step) -> Spectra:
        """Return what the gate table says of the frequencies of a step's slots."""
        found = [self.occurrences[slot] for slot in step.slots]
        return tuple([o.instruction.gate.spectra[o.slot] for o in found])

    def fault(self, method: str, what: str, position: int, slots: Sequence[int]) -> Fault:
        """Return a fault of a gate, by its position and the slots that are concerned."""
        gate = self.circuit.instructions[position]
        angles = tuple([self.texts[slot] for slot in slots])
        return Fault(method, what, position, gate.name, gate.qubits, angles)

    # -- Parameters --------------------------------------------------------------------------------

    def parameter_values(self) -> RealArray:
        """Return the values of all Parameters ``(P,)`` that the run has."""
        end = len(self.bound.operands) - self.bound.num_features
        chosen = [x.detach().numpy().reshape(-1) for x in self.bound.operands[:end]]
        return np.concatenate(chosen).astype(np.float64)

    def angles_of(self, values: Tensor) -> Tensor:
        """Return the angles for values ``(P,)`` or ``(R, P)`` of the Parameters, recorded."""
        end = len(self.bound.operands) - self.bound.num_features
        inputs = {
            str(x.name): given
            for x, given in zip(self.circuit.inputs, self.bound.operands[end:], strict=True)
        }
        return bind(self.circuit, inputs, values).angles()

    def angles_at(self, rows: RealArray) -> RealArray:
        """Return the angles ``(R, S)`` for rows ``(R, P)`` of the Parameters' values."""
        with no_grad():
            return self.angles_of(Tensor(rows)).numpy().astype(np.float64)

    # -- values ------------------------------------------------------------------------------------

    def values_at(self, rows: RealArray) -> RealArray:
        """Return the expectation values ``(R,)`` at angles ``(R, S)``, by the table's functions."""
        size = max(1, _ROWS >> self.circuit.num_qubits)
        parts = [rows[k : k + size] for k in range(0, len(rows), size)]
        return np.concatenate([self._values(part) for part in parts])

    def _values(self, rows: RealArray) -> RealArray:
        states = self._start(len(rows))
        with no_grad():
            states = apply_steps(
                self.plan.steps, self.circuit.num_qubits, states, lambda s: self._number(s, rows)
            )
        half = self.cotangent(states.numpy()) / 2
        return np.einsum("bi,bi->b", states.numpy().conj(), half).real

    def _start(self, batch: int) -> Tensor:
        states = np.zeros((batch, 1 << self.circuit.num_qubits), np.complex128)
        states[:, 0] = 1
        return Tensor(states)

    def _number(self, step: Step, rows: RealArray) -> ComplexArray:
        if step.source is not None:
            return self.matrices[step.source]
        return matrix_by_function(step, rows) if step.slots else fixed_matrix(step)

    def cotangent(self, states: ComplexArray) -> ComplexArray:
        """Return 2 O|psi>, the cotangent of <psi|O|psi>, by the reference engine's terms."""
        with no_grad():
            applied = execute.apply_observable(
                Tensor(states), Tensor(self.coefficients), self.terms, get_engine("reference")
            )
        return 2 * applied.numpy()

    def value(self) -> float:
        """Return the expectation value."""
        return float(self.values_at(self.angles[None])[0])

    # -- derivatives by the angles, (S,) -----------------------------------------------------------

    def differences(self) -> RealArray:
        """Central differences of values."""
        return central_differences(self.values_at, self.angles)

    def shifted(self) -> RealArray:
        """The parameter-shift rule, with the frequencies that the gate table promises."""
        rows: list[RealArray] = []
        weights: list[tuple[int, float]] = []
        for slot, rule in enumerate(slot_rules(self.circuit.instructions)):
            unit = np.eye(len(self.angles))[slot]
            for shift, c in zip(rule.shifts, rule.coefficients, strict=True):
                rows += [self.angles + shift * unit, self.angles - shift * unit]
                weights += [(slot, c), (slot, -c)]
        gradient = np.zeros(len(self.angles))
        if rows:
            values = self.values_at(np.array(rows))
            np.add.at(gradient, [s for s, _ in weights], [c for _, c in weights] * values)
        return gradient

    def on_tape(self) -> RealArray:
        """Backward through the recorded product of all matrices."""
        return self.measured(self.plan.steps)[1]

    def measured(self, steps: Sequence[Step]) -> tuple[float, RealArray]:
        """Return value and gradient of the observable after steps, on the tape."""
        state, gradient = self.tape(steps, None)
        value = np.vdot(state, self.cotangent(state[None])[0]).real / 2
        return float(value), gradient

    def tape(
        self, steps: Sequence[Step], cotangent: ComplexArray | None
    ) -> tuple[ComplexArray, RealArray]:
        """Return the state ``(2**n,)`` after steps, and the gradient by all angles for a cotangent.

        Args:
            steps: of the plan.
            cotangent: of the state; None: that of the observable.
        """
        leaf = Tensor(self.angles, requires_grad=True)

        def matrix(step: Step) -> Any:
            if step.slots:
                return matrix_on_tape(step, leaf, self.spectra(step))
            return self._number(step, self.angles)

        states = apply_steps(steps, self.circuit.num_qubits, self._start(1), matrix)
        final = states.numpy()
        g = self.cotangent(final) if cotangent is None else cotangent[None]
        if states.requires_grad:
            states.backward(gradient=Tensor(g))
        return final[0], np.zeros(len(self.angles)) if leaf.grad is None else leaf.grad.numpy()

    # -- engines -----------------------------------------------------------------------------------

    def by_engine(
        self, engine: Engine, dtype: DType, steps: Sequence[Step] | None = None
    ) -> tuple[float, RealArray]:
        """Return value and gradient of the observable by the adjoint sweep, with all passes."""
        plan = self.plan if steps is None else self._part(steps)
        state, leaf, matrices = self._operands(dtype)
        coefficients = Tensor(self.coefficients, real_dtype(dtype), self.device)
        value = execute.expectation_of(
            state,
            leaf,
            coefficients,
            matrices,
            observed(plan, self.terms),
            self.terms,
            engine,
            single=True,
        )
        if leaf.numel():
            value.backward()
        return value.item(), self._gradient(leaf)

    def evolved(
        self, engine: Engine, dtype: DType, steps: Sequence[Step], cotangent: ComplexArray
    ) -> tuple[ComplexArray, RealArray]:
        """Return what ``tape`` does, by an engine."""
        state, leaf, matrices = self._operands(dtype)
        final = execute.evolve(state, leaf, matrices, self._part(steps), engine)
        if leaf.numel():
            final.backward(gradient=Tensor(cotangent, dtype, self.device))
        return final.numpy(), self._gradient(leaf)

    def _part(self, steps: Sequence[Step]) -> Plan:
        counts = len(self.angles), len(self.matrices)
        return Plan(self.circuit.num_qubits, tuple(steps), *counts)

    def _operands(self, dtype: DType) -> tuple[Tensor, Tensor, list[Tensor]]:
        state = self._start(1)[0].astype(dtype).to(self.device)
        leaf = Tensor(self.angles, real_dtype(dtype), self.device, requires_grad=True)
        return state, leaf, [Tensor(m, dtype, self.device) for m in self.matrices]

    @staticmethod
    def _gradient(leaf: Tensor) -> RealArray:
        return np.zeros(0) if leaf.grad is None else leaf.grad.numpy().astype(np.float64)


def beginning(steps: Sequence[Step], gates: int) -> list[Step]:
    """Return the steps of the first gates of a circuit."""
    return [step for step in steps if step.position < gates]


def random_cotangent(num_qubits: int) -> NDArray[np.complex128]:
    """Return a state that sees every amplitude, of norm 2**(n/2); always the same one."""
    parts = np.random.default_rng(0).normal(size=(2, 1 << num_qubits))
    return (parts[0] + 1j * parts[1]) / np.sqrt(2)
