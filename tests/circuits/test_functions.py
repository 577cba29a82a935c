"""The run methods as functions: of circuits the methods, of states the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from programs import random_state

import circuits
from autodiff import Parameter, Tensor
from circuits import Circuit, Hermitian, ObservableError, QubitError, StateError, X, Z
from circuits.errors import EngineError

#: Function by name, and its arguments after the source.
CALLS: dict[str, tuple[Any, ...]] = {
    "expectation": ([Z(0) @ X(2), Hermitian(np.diag([1, 2]), 1)],),
    "probabilities": ([2, 0],),
    "density_matrix": ([2, 0],),
    "purity": ([1],),
    "entropy": ([1],),
    "bloch_vector": (2,),
    "marginal": (1,),
    "variance": (Z(0) @ X(2) + 0.5 * Z(1),),
}


def some_circuit() -> Circuit:
    return Circuit(3).h([0, 1]).cry(Parameter(0.3), 0, 2).u(0.1, 0.2, 0.3, 1).cx(1, 2)


@pytest.mark.parametrize("name", CALLS)
def test_function_of_a_circuit_is_its_method(name: str) -> None:
    circuit, arguments = some_circuit(), CALLS[name]
    expected = getattr(circuit, name)(*arguments, engine="reference").numpy()
    found = getattr(circuits, name)(circuit, *arguments, engine="reference").numpy()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", CALLS)
def test_function_of_a_state_gives_the_same(name: str) -> None:
    circuit, arguments = some_circuit(), CALLS[name]
    state = circuits.statevector(circuit, engine="reference")
    expected = getattr(circuit, name)(*arguments, engine="reference").numpy()
    found = getattr(circuits, name)(state, *arguments).numpy()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", CALLS)
def test_batches_of_states(name: str) -> None:
    rows = random_state(np.random.default_rng(0), 4, 8)
    function, arguments = getattr(circuits, name), CALLS[name]
    found = function(Tensor(rows), *arguments).numpy()
    expected = np.stack([function(Tensor(row), *arguments).numpy() for row in rows])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_one_observable_of_a_state_has_no_axis() -> None:
    state = some_circuit().statevector(engine="reference")
    assert circuits.expectation(state, Z(0), engine="reference").shape == ()
    assert circuits.expectation(state, [Z(0)], engine="reference").shape == (1,)


def test_unitary() -> None:
    circuit = some_circuit()
    expected = circuit.unitary(engine="reference").numpy()
    np.testing.assert_array_equal(circuits.unitary(circuit, engine="reference").numpy(), expected)


def test_samples_and_counts() -> None:
    circuit = Circuit(2).x(1)
    assert circuits.sample(circuit, 3, seed=0, engine="reference").tolist() == [2, 2, 2]
    state = circuit.statevector(engine="reference")
    assert circuits.sample(state, 3, seed=0).tolist() == [2, 2, 2]
    assert circuits.counts(circuit, 3, seed=0, engine="reference") == {"10": 3}


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda s: circuits.probabilities(s, inputs={}), StateError, r"no \['inputs'\], which"),
        (lambda s: circuits.probabilities(s.numpy()), StateError, "a complex Tensor of shape"),
        (lambda s: circuits.probabilities(s.real), StateError, "a complex Tensor of shape"),
        (lambda s: circuits.expectation(s, Z(5)), QubitError, "needs qubits below 3"),
        (lambda s: circuits.expectation(s, "Z"), ObservableError, "an observable or a sequence"),
        (lambda s: circuits.expectation(s, []), ObservableError, "one or more observables"),
        (lambda s: circuits.expectation(s, Z(0), engine="x"), EngineError, "engine needs one of"),
        (lambda s: circuits.purity(s, [3]), QubitError, "below 3"),
        (lambda s: circuits.bloch_vector(s, -1), QubitError, "below 3"),
        (lambda s: circuits.sample(s[:3], 1), StateError, r"2\*\*n amplitudes, got 3"),
    ],
)
def test_bad_calls_are_refused(
    call: Callable[[Tensor], Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        call(some_circuit().statevector(engine="reference"))
