"""Circuit's run methods: values are bound, the ops called, shapes decided. In one place for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

import autodiff as ad
from autodiff import DeviceMismatch, GradientError, Parameter, Tensor
from autodiff.device import CPU, canonical_device
from autodiff.dtypes import C64, C128, DType
from circuits import binding, execute, sampling, state
from circuits.compiled_observables import (
    CompiledObservables,
    compile_observables,
    observable_list,
)
from circuits.engines.base import Engine
from circuits.engines.registry import engine_for, known_engine
from circuits.errors import BindingError, EngineError, MeasurementError
from circuits.observable_base import Observable
from circuits.plan.light_cone import observed
from circuits.plan.memory import require_memory
from circuits.plan.steps import Plan
from circuits.shots import sampled_expectation

if TYPE_CHECKING:
    from circuits.circuit import Circuit

# Any in this file: values and inputs are arrays, Tensors or mappings of them; ``binding`` checks.


class Run(NamedTuple):
    """Operands of one evaluation."""

    plan: Plan
    state: Tensor
    angles: Tensor
    matrices: tuple[Tensor, ...]
    engine: Engine
    moved: bool

    def final(self) -> Tensor:
        """Return the state after the plan."""
        return execute.evolve(self.state, self.angles, self.matrices, self.plan, self.engine)


class RunMethods:
    """What a circuit computes; every method takes these keyword arguments.

    Args:
        inputs: features by Input name, ``(size,)`` or ``(B, size)``.
        values: in place of the Parameters' values for this call: ``(P,)``, ``(B, P)`` or a mapping;
            a Tensor given there receives the gradient.
        initial_state: ``(2**n,)`` or ``(B, 2**n)`` in place of |0...0>, finite and not 0.
            ``sample``, ``counts``, ``probabilities``, ``marginal``, ``variance`` and ``shots=``
            need norm 1, to 1e-6 (complex64: 1e-3); the others take any norm, as derivatives with
            respect to amplitudes leave the sphere.
        dtype: complex64 or complex128; by default complex64 if all Parameters and Inputs are
            float32.
        device: where to run; None: where Parameters and inputs are. The angles' way there and the
            gradients' way back are recorded, counted moves; the result stays there.
        engine: ``"numba"`` or ``"reference"``, on a GPU ``"cuda"``; the default is the fast one.
    """

    num_qubits: int

    def _run(self, engine: str | Engine | None = None, **options: Any) -> Run:
        """Return a run's operands. They stay the same where all of them is a Parameter."""
        if options or not isinstance(engine, (str, NoneType)):
            return self._new_run(engine=engine, **options)
        circuit = cast("Circuit", self)
        runs = circuit.compiled().runs
        kept = None if circuit._retains_angle_grads else runs.get(engine)
        if isinstance(kept, Run) and kept.angles._cell.device == CPU:
            return kept
        run = self._new_run(engine=engine)
        plain = isinstance(run.angles, Parameter) and not run.matrices
        if plain and run.angles.device == CPU and state.is_kept(self.num_qubits):
            runs[engine] = run
        return run

    def _new_run(
        self,
        inputs: Mapping[str, Any] | None = None,
        values: Any = None,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        engine: str | Engine | None = None,
    ) -> Run:
        circuit = cast("Circuit", self)
        place = None if device is None else canonical_device(device)
        if engine is not None:
            known_engine(engine)
        compiled = circuit.compiled()
        precision = checked_dtype(dtype) if dtype is not None else compiled.dtype
        bound = binding.bind(circuit, inputs, values)
        operands, start = bound.operands, None
        if initial_state is not None:
            start = state.initial_state(initial_state, self.num_qubits, precision)
            bound.check_batch(start)
        matrices: tuple[Tensor, ...] = ()
        if compiled.matrices:
            matrices = tuple([_as(m.value(), precision) for m in compiled.matrices])
        first = operands[0] if operands else start
        home = place or (CPU if first is None else first._cell.device)
        chosen = engine_for(engine, home)
        angles = bound.angles()
        if circuit._retains_angle_grads:
            angles = circuit._kept(angles)
        # Without device=, only what is made here moves: the user's tensors stay where they are.
        if start is None:
            start = state.zero_state_on(home, self.num_qubits, precision, chosen)
        elif place or not isinstance(initial_state, Tensor):
            start = state.moved_state(start, home, chosen)
        if place or not operands:
            angles = on_device(angles, home)
        if place:
            matrices = tuple([on_device(m, home) for m in matrices])
        return Run(compiled.plan, start, angles, matrices, chosen, place is not None)

    def _normalised_run(self, what: str, options: dict[str, Any]) -> Run:
        """Return a run, or refuse an initial state of another norm than 1."""
        run = self._run(**options)
        if options.get("initial_state") is not None:
            state.check_normalised(run.state, what)
        return run

    def statevector(self, **options: Any) -> Tensor:
        """Return the final state ``(2**n,)`` or ``(B, 2**n)``, qubit 0 least significant.

        >>> from circuits import Circuit
        >>> Circuit(1).x(0).statevector(engine="reference").real.tolist()
        [0.0, 1.0]
        """
        return self._run(**options).final()

    def expectation(
        self,
        observable: Observable | Sequence[Observable],
        *,
        shots: int | None = None,
        seed: sampling.Seed = None,
        **options: Any,
    ) -> Tensor:
        """Return expectation values: one engine call for any batch and any number of observables.

        Args:
            observable: one, or a sequence of K.
            shots: estimate each term from this many samples; the result has no derivative.
            seed: integer or Generator for ``shots``.
            options: see the class.

        Returns:
            Real ``()`` or ``(K,)``; with a batch ``(B,)`` or ``(B, K)``.

        Raises:
            ObservableError: not Hermitian, or of another width.
            BindingError: missing, unknown or misshapen inputs and values.
            MeasurementError: a number of shots below 1, or a seed without shots.
            DeviceMismatch: coefficients made of Tensors on another device, without ``device``.

        >>> from circuits import Circuit, Z
        >>> Circuit(1).x(0).expectation(Z(0), engine="reference").item()
        -1.0
        """
        if shots is None and seed is not None:
            raise MeasurementError(
                f"expectation needs shots for a seed, got seed={seed!r:.40} alone. "
                "Give shots, or leave the seed out: the exact value draws nothing."
            )
        single = isinstance(observable, Observable)
        compiled = compile_observables(observable_list(observable), self.num_qubits)
        run = self._run(**options)
        whole, start, angles, matrices, chosen, moved = run
        coefficients = coefficients_on(compiled, start._cell.device, moved=moved)
        plan, terms = observed(whole, compiled.terms), compiled.terms
        operands = (start, angles, coefficients, matrices, plan, terms, chosen)
        if shots is None:
            return execute.expectation_of(*operands, single=single)
        count, generator = sampling.checked_shots(shots), sampling.generator_of(seed)
        return sampled_expectation(*operands, count, generator, single=single)

    def variance(self, observable: Observable, **options: Any) -> Tensor:
        """Return <O^2> - <O>^2 of an observable with fixed coefficients, ``()`` or ``(B,)``.

        >>> from circuits import Circuit, X
        >>> Circuit(1).variance(X(0), engine="reference").item()
        1.0
        """
        fixed_coefficients(observable, self.num_qubits)
        run = self._normalised_run("variance needs", options)
        return variance_of(run.final(), observable, run.engine, moved=run.moved)

    def probabilities(self, qubits: int | Sequence[int] | None = None, **options: Any) -> Tensor:
        """Return the probabilities of the basis states, of all or of some qubits.

        Args:
            qubits: which ones, the first one least significant; None for all.
            options: see the class.

        Returns:
            Real ``(2**k,)`` or ``(B, 2**k)``.

        >>> from circuits import Circuit
        >>> Circuit(2).x(1).probabilities([1], engine="reference").tolist()
        [0.0, 1.0]
        """
        final = self._normalised_run("probabilities need", options).final()
        return state.probabilities_of(final, qubits)

    def marginal(self, qubits: int | Sequence[int], **options: Any) -> Tensor:
        """Return ``probabilities(qubits)``.

        >>> from circuits import Circuit
        >>> Circuit(2).x(1).marginal(1, engine="reference").tolist()
        [0.0, 1.0]
        """
        return self.probabilities(qubits, **options)

    def sample(
        self, shots: int, *, seed: sampling.Seed = None, **options: Any
    ) -> NDArray[np.int64]:
        """Draw basis states: int64 ``(shots,)`` or ``(B, shots)``.

        >>> from circuits import Circuit
        >>> Circuit(2).x(1).sample(3, seed=0, engine="reference").tolist()
        [2, 2, 2]
        """
        count, generator = sampling.checked_shots(shots), sampling.generator_of(seed)
        with ad.no_grad():
            drawn = self.probabilities(**options)
        return sampling.draw(drawn.numpy(), count, generator)

    def counts(
        self, shots: int, *, seed: sampling.Seed = None, **options: Any
    ) -> dict[str, int] | list[dict[str, int]]:
        """Draw bit strings and count them; one dictionary a sample for a batch.

        The leftmost character is the highest classical bit: that of the measurements, or qubit
        k's bit k if nothing was measured.

        >>> from circuits import Circuit
        >>> Circuit(2).x(1).counts(3, seed=0, engine="reference")
        {'10': 3}
        """
        drawn = self.sample(shots, seed=seed, **options)
        measured = cast("Circuit", self).measured
        rows = [drawn] if drawn.ndim == 1 else list(drawn)
        counted = [sampling.count_bits(row, measured, self.num_qubits) for row in rows]
        return counted[0] if drawn.ndim == 1 else counted

    def density_matrix(self, qubits: int | Sequence[int] | None = None, **options: Any) -> Tensor:
        """Return the reduced density matrix of some qubits, ``(2**k, 2**k)``, B in front.

        >>> from circuits import Circuit
        >>> Circuit(2).x(1).density_matrix(1, engine="reference").real.tolist()
        [[0.0, 0.0], [0.0, 1.0]]
        """
        return state.density_matrix_of(self.statevector(**options), qubits)

    def purity(self, qubits: int | Sequence[int], **options: Any) -> Tensor:
        """Return Tr rho^2 of some qubits, ``()`` or ``(B,)``.

        >>> from circuits import Circuit
        >>> round(Circuit(2).h(0).cx(0, 1).purity(0, engine="reference").item(), 10)
        0.5
        """
        return state.purity_of(self.statevector(**options), qubits)

    def entropy(self, qubits: int | Sequence[int], **options: Any) -> Tensor:
        """Return the von Neumann entropy of some qubits in nats, ``()`` or ``(B,)``.

        >>> from circuits import Circuit
        >>> round(Circuit(2).h(0).cx(0, 1).entropy(0, engine="reference").item(), 6)
        0.693147
        """
        return state.entropy_of(self.statevector(**options), qubits)

    def bloch_vector(self, qubit: int, **options: Any) -> Tensor:
        """Return (<X>, <Y>, <Z>) of one qubit, ``(3,)`` or ``(B, 3)``.

        >>> from circuits import Circuit
        >>> Circuit(1).x(0).bloch_vector(0, engine="reference").tolist()
        [0.0, 0.0, -1.0]
        """
        return state.bloch_vector_of(self.statevector(**options), qubit)

    def unitary_matrix(self, **options: Any) -> Tensor:
        """Return the circuit's matrix ``(2**n, 2**n)``, by one evolution of all basis states.

        >>> from circuits import Circuit
        >>> Circuit(1).x(0).unitary_matrix(engine="reference").real.tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        if "initial_state" in options:
            raise BindingError("unitary_matrix needs no initial_state. Use statevector.")
        run = self._run(**options)
        if run.angles.ndim == 2:
            raise BindingError(
                f"unitary_matrix needs a single sample, got a batch of {run.angles.shape[0]}. "
                "Call it once a sample."
            )
        size, dtype = 1 << self.num_qubits, run.state.dtype
        what = f"a unitary of {self.num_qubits} qubits"
        require_memory(2 * dtype.itemsize * size**2, what, run.engine.available_memory)
        rows = Tensor(np.eye(size, dtype=dtype), device=run.angles.device)
        return execute.evolve(rows, run.angles, run.matrices, run.plan, run.engine).T

    def assign(self, values: Any) -> Circuit:
        """Set the Parameters' values and return self.

        Args:
            values: ``(P,)`` in registration order, or a mapping from Parameters or names.

        >>> from circuits import Circuit, Parameter
        >>> qc = Circuit(1).rx(Parameter(0.0, name="t"), 0).assign({"t": 0.5})
        >>> qc.parameters()[0].item()
        0.5
        """
        binding.assign(cast("Circuit", self), values)
        return cast("Circuit", self)


def fixed_coefficients(observable: Observable, num_qubits: int) -> CompiledObservables:
    """Compile an observable, or refuse one that is trained.

    Raises:
        GradientError: coefficients that require grad.
    """
    compiled = compile_observables([observable], num_qubits)
    if compiled.coefficients().requires_grad:
        raise GradientError(
            "variance needs fixed coefficients, got Tensors that require grad. "
            "Use float(c), or expectations of the observable and of its square."
        )
    return compiled


def variance_of(
    final: Tensor, observable: Observable, engine: Engine, *, moved: bool = False
) -> Tensor:
    """Return <O^2> - <O>^2 in a state ``(2**n,)`` or ``(B, 2**n)``: that of O|psi> and |psi>."""
    compiled = fixed_coefficients(observable, state.num_qubits_of(final))
    coefficients = coefficients_on(compiled, final.device, moved=moved)
    applied = execute.apply_observable(final, coefficients, compiled.terms, engine)
    mean = state.overlap(final, applied).real
    return state.overlap(applied, applied).real - mean * mean


def coefficients_on(compiled: CompiledObservables, device: str, *, moved: bool = False) -> Tensor:
    """Return coefficients for a state on a device. Numbers go there; Tensors only if ``moved``.

    Raises:
        DeviceMismatch: coefficients made of Tensors on another device.
    """
    found = compiled.coefficients()
    if moved or not compiled.tensors:
        return on_device(found, device)
    if found.device != device:
        raise DeviceMismatch(
            f"an expectation value on {device!r} needs coefficients there, got Tensors on "
            f"{found.device!r}. Move them with .to({device!r}), or give device=."
        )
    return found


def on_device(x: Tensor, device: str) -> Tensor:
    """Return what a run needs where it runs; a move is a recorded, counted op."""
    return x if x._cell.device == device else x.to(device)


def checked_dtype(dtype: DTypeLike) -> DType:
    """Return the precision of a run, complex64 or complex128.

    Raises:
        EngineError: another dtype.
    """
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        wanted = np.dtype(object)
    if wanted not in (C64, C128):
        raise EngineError(
            f"a circuit's dtype needs complex64 or complex128, got {dtype!r}. Leave it out for the "
            "precision of the Parameters."
        )
    return wanted


def _as(tensor: Tensor, dtype: DType) -> Tensor:
    return tensor if tensor.dtype == dtype else tensor.astype(dtype)
