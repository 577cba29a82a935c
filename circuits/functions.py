"""The run methods as functions, of a circuit or of a state Tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import autodiff as ad
from autodiff import Tensor
from circuits import execute, sampling, state
from circuits.circuit import Circuit
from circuits.compiled_observables import compile_observables, observable_list
from circuits.engines.base import Engine
from circuits.engines.registry import engine_for
from circuits.errors import StateError
from circuits.observable_base import Observable
from circuits.run_methods import coefficients_on, variance_of

# Any in this file: the run methods' keyword arguments, which Circuit checks.
Source = Circuit | Tensor


def statevector(circuit: Circuit, **options: Any) -> Tensor:
    """Return ``circuit.statevector(**options)``: the final state.

    >>> statevector(Circuit(1).x(0), engine="reference").real.tolist()
    [0.0, 1.0]
    """
    return _state(circuit, options)


def _state(source: Source, options: dict[str, Any]) -> Tensor:
    if isinstance(source, Circuit):
        return source.statevector(**options)
    if options:
        raise StateError(
            f"a state needs no {sorted(options)}, which belong to circuits. Leave them out."
        )
    state.num_qubits_of(source)
    return source


def _normalised(source: Tensor, what: str, options: dict[str, Any]) -> Tensor:
    """Return a state of norm 1; ``Circuit.probabilities`` and the like check their own."""
    vector = _state(source, options)
    state.check_normalised(vector, what)
    return vector


def expectation(
    source: Source,
    observable: Observable | Sequence[Observable],
    *,
    engine: str | Engine | None = None,
    **options: Any,
) -> Tensor:
    """Return expectation values in a circuit's final state, or in a given state.

    Args:
        source: a Circuit, or a state Tensor ``(2**n,)`` or ``(B, 2**n)``.
        observable: one, or a sequence of K.
        engine: see ``Circuit.expectation``.
        options: keyword arguments of ``Circuit.expectation``, for a circuit only.

    Returns:
        Real ``()`` or ``(K,)``; with a batch ``(B,)`` or ``(B, K)``.

    >>> from circuits import Z
    >>> expectation(Circuit(1).x(0), Z(0), engine="reference").item()
    -1.0
    """
    if isinstance(source, Circuit):
        return source.expectation(observable, engine=engine, **options)
    vector = _state(source, options)
    single = isinstance(observable, Observable)
    compiled = compile_observables(observable_list(observable), state.num_qubits_of(vector))
    chosen = engine_for(engine, vector.device)
    coefficients = coefficients_on(compiled, vector.device)
    return execute.expect(vector, coefficients, compiled.terms, chosen, single=single)


def variance(
    source: Source,
    observable: Observable,
    *,
    engine: str | Engine | None = None,
    **options: Any,
) -> Tensor:
    """Return <O^2> - <O>^2 in a circuit's final state, or in a given state, ``()`` or ``(B,)``.

    >>> from circuits import X
    >>> variance(Circuit(1), X(0), engine="reference").item()
    1.0
    """
    if isinstance(source, Circuit):
        return source.variance(observable, engine=engine, **options)
    vector = _normalised(source, "variance needs", options)
    return variance_of(vector, observable, engine_for(engine, vector.device))


def unitary(circuit: Circuit, **options: Any) -> Tensor:
    """Return ``circuit.unitary(**options)``: the circuit's matrix ``(2**n, 2**n)``.

    >>> unitary(Circuit(1).x(0), engine="reference").real.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    return circuit.unitary_matrix(**options)


def probabilities(
    source: Source, qubits: int | Sequence[int] | None = None, **options: Any
) -> Tensor:
    """Return the probabilities of basis states, of all or of some qubits.

    >>> probabilities(Circuit(2).x(1), [1], engine="reference").tolist()
    [0.0, 1.0]
    """
    if isinstance(source, Circuit):
        return source.probabilities(qubits, **options)
    return state.probabilities_of(_normalised(source, "probabilities need", options), qubits)


def marginal(source: Source, qubits: int | Sequence[int], **options: Any) -> Tensor:
    """Return ``probabilities(source, qubits, **options)``.

    >>> marginal(Circuit(2).x(1), 1, engine="reference").tolist()
    [0.0, 1.0]
    """
    return probabilities(source, qubits, **options)


def sample(
    source: Source, shots: int, *, seed: sampling.Seed = None, **options: Any
) -> NDArray[np.int64]:
    """Draw basis states: int64 ``(shots,)`` or ``(B, shots)``.

    >>> sample(Circuit(2).x(1), 2, seed=0, engine="reference").tolist()
    [2, 2]
    """
    count, generator = sampling.checked_shots(shots), sampling.generator_of(seed)
    with ad.no_grad():
        chances = probabilities(source, **options)
    return sampling.draw(chances.numpy(), count, generator)


def counts(
    circuit: Circuit, shots: int, *, seed: sampling.Seed = None, **options: Any
) -> dict[str, int] | list[dict[str, int]]:
    """Return ``circuit.counts(shots, seed=seed, **options)``.

    >>> counts(Circuit(2).x(1), 2, seed=0, engine="reference")
    {'10': 2}
    """
    return circuit.counts(shots, seed=seed, **options)


def density_matrix(
    source: Source, qubits: int | Sequence[int] | None = None, **options: Any
) -> Tensor:
    """Return the reduced density matrix of some qubits, ``(2**k, 2**k)``, B in front.

    >>> density_matrix(Circuit(1).x(0), engine="reference").real.tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    return state.density_matrix_of(_state(source, options), qubits)


def purity(source: Source, qubits: int | Sequence[int], **options: Any) -> Tensor:
    """Return Tr rho^2 of the reduced state of some qubits.

    >>> round(purity(Circuit(2).h(0).cx(0, 1), [0], engine="reference").item(), 10)
    0.5
    """
    return state.purity_of(_state(source, options), qubits)


def entropy(source: Source, qubits: int | Sequence[int], **options: Any) -> Tensor:
    """Return the von Neumann entropy of the reduced state of some qubits, in nats.

    >>> round(entropy(Circuit(2).h(0).cx(0, 1), [0], engine="reference").item(), 6)
    0.693147
    """
    return state.entropy_of(_state(source, options), qubits)


def bloch_vector(source: Source, qubit: int, **options: Any) -> Tensor:
    """Return (<X>, <Y>, <Z>) of one qubit, ``(3,)`` or ``(B, 3)``.

    >>> bloch_vector(Circuit(1).x(0), 0, engine="reference").tolist()
    [0.0, 0.0, -1.0]
    """
    return state.bloch_vector_of(_state(source, options), qubit)
