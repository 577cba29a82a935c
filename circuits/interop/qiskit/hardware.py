"""Our circuits on any EstimatorV2: values with standard errors, gradients by parameter shift."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from numbers import Real
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from qiskit import QuantumCircuit
from qiskit.primitives import BaseEstimatorV2
from qiskit.primitives.containers.bindings_array import BindingsArray
from qiskit.quantum_info import Operator, SparseObservable, SparsePauliOp

import autodiff as ad
from autodiff import GradientError, Tensor
from autodiff.dispatch import apply
from autodiff.node import Meta, Op
from circuits.angles import Angle, Input
from circuits.binding import Binding, bind
from circuits.circuit import Circuit
from circuits.compiled import Compiled
from circuits.compiled_observables import compile_observables, observable_list
from circuits.errors import BindingError
from circuits.first_order import refuse_second_order
from circuits.instruction import TrainableMatrix
from circuits.interop.qiskit.exporting import export_circuit
from circuits.interop.qiskit.observables import observable_to_qiskit
from circuits.observable_base import Observable
from circuits.parameter_shift import ShiftRule, slot_rules

_SLOT = "slot"

# Any in this file: values and inputs, which ``binding`` checks; Qiskit's untyped estimators and
# pass managers; a backend's arrays.
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """What was measured.

    Attributes:
        values: the estimates.
        standard_errors: their standard deviations from shot noise, of the same shape.
    """

    values: Reals
    standard_errors: Reals


class HardwareRunner:
    """Runs circuits through an EstimatorV2: hardware, a noisy simulator, or Qiskit's own.

    Every symbolic angle becomes a symbol of its own, so one compilation serves every run of a
    circuit and all shifts of its angles; a gradient is one pub. Angles are computed here, so the
    chain rule through their expressions is exact.

    Args:
        estimator: a ``BaseEstimatorV2``.
        pass_manager: compiles for the backend; None for estimators that take any circuit.
        precision: standard error asked of the estimator; None for its default.

    Example:
        >>> from circuits import Circuit, Parameter, Z
        >>> from qiskit.primitives import StatevectorEstimator
        >>> runner = HardwareRunner(StatevectorEstimator())
        >>> qc = Circuit(1).rx(Parameter(0.5, name="t"), 0)
        >>> runner.gradient(qc, Z(0)).values.round(4).tolist()
        [-0.4794]

    Reference:
        Wierichs et al. (2022), arXiv:2107.12390, for the rule of gates with several frequencies.
    """

    def __init__(
        self,
        estimator: BaseEstimatorV2,
        pass_manager: Any = None,
        *,
        precision: float | None = None,
    ) -> None:
        if not isinstance(estimator, BaseEstimatorV2):
            raise BindingError(
                f"HardwareRunner needs an EstimatorV2, got {type(estimator).__name__}. "
                "Use BackendEstimatorV2(backend=backend) for a backend."
            )
        if pass_manager is not None and not callable(getattr(pass_manager, "run", None)):
            raise BindingError(
                f"HardwareRunner needs a pass manager, got {pass_manager!r:.60}. "
                "Use qiskit.generate_preset_pass_manager(backend=backend)."
            )
        if precision is not None and not (isinstance(precision, Real) and 0 <= precision < inf):
            raise BindingError(
                f"HardwareRunner needs a precision from 0 on, got {precision!r:.60}. "
                "It is the standard error asked of the estimator; None is the estimator's own."
            )
        self.estimator = estimator
        self.pass_manager = pass_manager
        self.precision = precision
        self._prepared: WeakKeyDictionary[Compiled, _Prepared] = WeakKeyDictionary()

    def estimate(
        self,
        circuit: Circuit,
        observable: Observable | Sequence[Observable],
        *,
        inputs: Mapping[str, Any] | None = None,
        values: Any = None,
    ) -> Estimate:
        """Measure expectation values.

        Args:
            circuit: without matrix Tensors.
            observable: one, or a sequence of K; Tensors in it enter with their present values.
            inputs: features by Input name, ``(size,)`` or ``(B, size)``.
            values: in place of the Parameters' values; see ``Circuit``'s run methods.

        Returns:
            Values and standard errors ``()`` or ``(K,)``; with a batch ``(B,)`` or ``(B, K)``.

        Raises:
            BindingError: values that do not fit, a matrix Tensor.
            ObservableError: an observable of another width.
        """
        job = self._job(circuit, observable)
        with ad.no_grad():
            angles = bind(circuit, inputs, values).angles().numpy()
        return job.shaped(*job.measure(np.atleast_2d(angles)), batched=angles.ndim == 2)

    def expectation(
        self,
        circuit: Circuit,
        observable: Observable | Sequence[Observable],
        *,
        inputs: Mapping[str, Any] | None = None,
        values: Any = None,
    ) -> Tensor:
        """Measure expectation values that ``backward`` differentiates by parameter shift.

        Only angles with a leaf that requires grad are shifted. See ``estimate`` for the arguments
        and the shape.

        Raises:
            GradientError: an observable with Tensors that require grad.
        """
        job = self._job(circuit, observable)
        compiled = compile_observables(job.observables, circuit.num_qubits)
        if any(x.requires_grad for x in compiled.tensors):
            raise GradientError(
                "HardwareRunner needs observables with fixed coefficients, got Tensors that "
                "require grad. Multiply the expectation values of their terms by them instead."
            )
        bound = bind(circuit, inputs, values)
        return apply(_MEASURE, bound.angles(), job=job, wanted=_wanted(job.prepared, bound))

    def gradient(
        self,
        circuit: Circuit,
        observable: Observable | Sequence[Observable],
        *,
        inputs: Mapping[str, Any] | None = None,
        values: Any = None,
    ) -> Estimate:
        """Measure the derivatives by all elements of the Parameters, with standard errors.

        Args:
            circuit: see ``estimate``.
            observable: see ``estimate``.
            inputs: a single sample.
            values: ``(P,)`` or a mapping; a single sample.

        Returns:
            Derivatives and standard errors ``(P,)``, or ``(K, P)`` for a sequence, the elements of
            the Parameters in registration order.

        Raises:
            BindingError: a batch, or what ``estimate`` refuses.
        """
        job = self._job(circuit, observable)
        rates = _angle_jacobian(circuit, inputs, values)
        with ad.no_grad():
            angles = bind(circuit, inputs, values).angles().numpy()
        used = np.flatnonzero(rates.any(axis=1))
        slopes, variances = job.slopes(angles[None], tuple(used.tolist()))
        found = np.einsum("bks,sp->bkp", slopes, rates[used])
        spread = np.einsum("bks,sp->bkp", variances, rates[used] ** 2)
        axis = 0 if job.single else slice(None)
        return Estimate(found[0, axis], np.sqrt(spread)[0, axis])

    def _job(self, circuit: Circuit, observable: Any) -> _Job:
        if not isinstance(circuit, Circuit):
            raise BindingError(
                f"HardwareRunner needs a Circuit, got {type(circuit).__name__}. Use from_qiskit."
            )
        observables = observable_list(observable)
        compiled = circuit.compiled()
        if compiled not in self._prepared:
            self._prepared[compiled] = _Prepared.build(circuit, self.pass_manager)
        return _Job(self, self._prepared[compiled], observables, isinstance(observable, Observable))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """A compiled circuit whose symbols are the slots of the angle table.

    Attributes:
        circuit: what the estimator runs.
        slots: the slot of each of its symbols; compilation may drop some.
        rules: the shift rule of every slot.
        width: number of qubits before the compilation.
        angles: what stands in the slots.
    """

    circuit: QuantumCircuit
    slots: tuple[int, ...]
    rules: Sequence[ShiftRule]
    width: int
    angles: Sequence[Angle]

    @classmethod
    def build(cls, circuit: Circuit, pass_manager: Any) -> _Prepared:
        if any(isinstance(step.payload, TrainableMatrix) for step in circuit.instructions):
            raise BindingError(
                "HardwareRunner needs matrices that are numbers, got a circuit with a matrix "
                "Tensor. Append matrix.numpy()."
            )
        steps = circuit.instructions
        symbolic = [a for step in steps for a in step.angles if isinstance(a, Angle)]
        slot = Input(_SLOT, max(len(symbolic), 1))
        places = iter(range(len(symbolic)))
        opened = Circuit(circuit.num_qubits, circuit.name)
        for step in steps:
            angles = [
                Angle(((slot, next(places)),), (1.0,), leaves=(slot,))
                if isinstance(a, Angle)
                else a
                for a in step.angles
            ]
            opened.extend([replace(step, angles=tuple(angles))])
        qc = export_circuit(opened)
        made = qc if pass_manager is None else pass_manager.run(qc)
        slots = tuple([symbol.index for symbol in made.parameters])
        return cls(made, slots, slot_rules(steps), circuit.num_qubits, symbolic)

    def observable(self, given: Observable) -> SparsePauliOp:
        """Return Qiskit's operator on the qubits of the compiled circuit."""
        operator = observable_to_qiskit(given, self.width)
        if isinstance(operator, SparseObservable):
            operator = SparsePauliOp.from_sparse_observable(operator.as_paulis())
        elif isinstance(operator, Operator):
            operator = SparsePauliOp.from_operator(operator)
        if self.circuit.layout is None:
            return operator
        return operator.apply_layout(self.circuit.layout)


@dataclass(frozen=True, eq=False)
class _Job:
    """One circuit with its observables.

    Attributes:
        runner: where it runs.
        prepared: the circuit.
        observables: K of them.
        single: whether the user gave one, not a sequence.
    """

    runner: HardwareRunner
    prepared: _Prepared
    observables: list[Observable]
    single: bool

    @cached_property
    def operators(self) -> list[SparsePauliOp]:
        """Qiskit's operators on the compiled circuit's qubits."""
        return [self.prepared.observable(o) for o in self.observables]

    def measure(self, angles: Reals) -> tuple[Reals, Reals]:
        """Return values and standard errors ``(N, K)`` at angles ``(N, S)``, by one pub."""
        symbols = self.prepared.circuit.parameters
        columns = np.ascontiguousarray(angles[:, None, list(self.prepared.slots)])
        given = {tuple(p.name for p in symbols): columns} if len(symbols) else None
        bindings = BindingsArray(given, shape=(len(angles), 1))
        pub = (self.prepared.circuit, [self.operators], bindings, self.runner.precision)
        (result,) = self.runner.estimator.run([pub]).result()
        return np.asarray(result.data.evs), np.asarray(result.data.stds)

    def slopes(self, angles: Reals, slots: Sequence[int]) -> tuple[Reals, Reals]:
        """Return derivatives by the angles in some slots and their variances ``(B, K, slots)``."""
        rules = [self.prepared.rules[s] for s in slots]
        counts = [rule.shifts.size for rule in rules]
        shifts = np.concatenate([np.zeros(0), *[rule.shifts for rule in rules]])
        factors = np.concatenate([np.zeros(0), *[rule.coefficients for rule in rules]])
        moves = np.zeros((shifts.size, angles.shape[1]))
        moves[np.arange(shifts.size), np.repeat(slots, counts).astype(np.int64)] = shifts
        shape = (len(angles), 2, shifts.size, len(self.observables))
        if not shifts.size:
            nothing = np.zeros((shape[0], shape[3], len(slots)))
            return nothing, nothing
        shifted = angles[:, None, None, :] + np.stack([moves, -moves])
        values, errors = self.measure(shifted.reshape(-1, angles.shape[1]))
        values, errors = values.reshape(shape), errors.reshape(shape)
        owner = np.repeat(np.eye(len(slots)), counts, axis=0)  # which slot a shift belongs to
        slopes = np.einsum("bmk,ms->bks", values[:, 0] - values[:, 1], factors[:, None] * owner)
        noise = (errors**2).sum(axis=1)
        return slopes, np.einsum("bmk,ms->bks", noise, factors[:, None] ** 2 * owner)

    def shaped(self, values: Reals, errors: Reals, *, batched: bool) -> Estimate:
        """Drop the axes that the caller did not ask for."""
        return Estimate(*[self.drop_axes(x, batched=batched) for x in (values, errors)])

    def drop_axes(self, values: Reals, *, batched: bool) -> Reals:
        """Return values ``(B, K)`` without the axes that the caller did not ask for."""
        values = values[:, 0] if self.single else values
        return values if batched else values[0]


def _wanted(prepared: _Prepared, bound: Binding) -> tuple[int, ...]:
    """Return the slots whose angle depends on a value that requires grad."""
    values = bound.by_leaf()
    return tuple(
        slot
        for slot, angle in enumerate(prepared.angles)
        if any(values[id(leaf._meta)][0].requires_grad for leaf in angle.leaves)
    )


def _angle_jacobian(circuit: Circuit, inputs: Mapping[str, Any] | None, values: Any) -> Reals:
    """Return the derivatives of the angles by the elements of the Parameters, ``(S, P)``."""
    names, parameters = circuit.parameter_names(), circuit.parameters()
    count = sum(p.numel() for p in parameters)
    chosen = bind(circuit, inputs, values)
    if chosen.batch is not None:
        raise BindingError(
            f"HardwareRunner.gradient needs a single sample, got a batch of {chosen.batch}. "
            "Use expectation and backward, or call it once a sample."
        )
    slots = len(circuit.compiled().table.offsets)
    if not count or not slots:
        return np.zeros((slots, count))
    values_of = chosen.by_leaf()
    present = [values_of[id(p._meta)][0].detach() for p in parameters]
    rates = ad.jacobian(
        lambda *given: bind(circuit, inputs, dict(zip(names, given, strict=True))).angles(),
        *present,
    )
    parts = rates if isinstance(rates, tuple) else (rates,)
    return np.concatenate([part.numpy().reshape(slots, -1) for part in parts], axis=1)


# -- the differentiable op -------------------------------------------------------------------------


def _measure(xp: Any, angles: Any, job: _Job, wanted: tuple[int, ...]) -> Any:
    values, _ = job.measure(np.atleast_2d(angles))
    return job.drop_axes(values, batched=angles.ndim == 2).astype(angles.dtype)


def _measure_vjp(xp: Any, g: Any, angles: Any, job: _Job, wanted: tuple[int, ...]) -> Any:
    rows = np.atleast_2d(angles)
    slopes, _ = job.slopes(rows, wanted)
    weights = np.reshape(g, (len(rows), len(job.observables)))
    gradient = np.zeros(rows.shape, angles.dtype)
    gradient[:, list(wanted)] = np.einsum("bk,bks->bs", weights, slopes)
    return gradient.reshape(angles.shape)


def _measure_rule(
    gs: Sequence[Tensor], outs: Sequence[Tensor], inputs: Sequence[Tensor], **attrs: Any
) -> list[Tensor]:
    return [apply(_MEASURE_VJP, gs[0], inputs[0], **attrs)]


def _measure_meta(angles: Meta, job: _Job, **_: Any) -> tuple[Meta, ...]:
    shape = (*angles[0][:-1], *(() if job.single else (len(job.observables),)))
    return ((shape, angles[1]),)


# They draw: what hardware answers is random, and is an array on the CPU.
_MEASURE = Op("measure_on_hardware", _measure, _measure_rule, _measure_meta, draws=True)
_MEASURE_VJP = Op(
    "measure_on_hardware_vjp",
    _measure_vjp,
    refuse_second_order,
    lambda g, angles, **_: (angles,),
    draws=True,
)
