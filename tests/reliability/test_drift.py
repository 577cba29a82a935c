"""Rounding over a hundred thousand gates: measured, and bounded by what the arithmetic allows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from circuits import Circuit

GATES, QUBITS = 100_000, 3
every_engine = pytest.mark.parametrize("engine", ["numba", "reference"])


def long_circuit(repeats: int) -> Circuit:
    """Ten gates of every structure at angles without a pattern, ``repeats`` times."""
    turn = Circuit(QUBITS).u(0.3, 1.1, -0.7, 0).rx(0.71, 1).crz(0.37, 1, 2).h(2).cx(2, 0)
    turn.rzz(0.53, 0, 1).ry(1.9, 2).cp(0.77, 0, 2).swap(1, 2).rxx(0.21, 0, 2)
    return turn.repeat(repeats)


@cache
def final(engine: str, dtype: str) -> NDArray[Any]:
    """The state after a hundred thousand gates."""
    circuit = long_circuit(GATES // 10)
    assert circuit.size() == GATES
    return circuit.statevector(engine=engine, dtype=dtype).numpy()


@pytest.mark.slow
@every_engine
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_norm_drifts_no_faster_than_rounding(engine: str, dtype: str) -> None:
    """Measured: 0.06 to 0.12 eps a gate. Bounded by half an eps a gate, and a random walk.

    An amplitude after a gate on k targets is a sum of 2^k complex products, with entries that are
    rounded once: the squared norm changes by at most 2 (2^k + 3) eps a gate, k = 2: by 14 eps.
    Roundings that differ from gate to gate make a random walk: 14 eps sqrt(gates). Matrices that
    are unitary only to half an eps do the same every time that they occur: eps gates / 2.
    """
    eps = float(np.finfo(np.dtype(dtype)).eps)
    norm = np.linalg.norm(final(engine, dtype).astype(np.complex128))
    assert abs(norm**2 - 1) < 14 * eps * np.sqrt(GATES) + 0.5 * eps * GATES


@pytest.mark.slow
@every_engine
def test_gates_undone_give_the_start(engine: str) -> None:
    """Measured: 0.06 eps a gate, the global phase included; half an eps a gate is allowed."""
    there = long_circuit(GATES // 20)
    state = there.compose(there.inverse()).statevector(engine=engine).numpy()
    bound = 0.5 * float(np.finfo(np.float64).eps) * GATES
    assert np.linalg.norm(state - np.eye(1 << QUBITS)[0]) < bound


@pytest.mark.slow
def test_fast_engine_drifts_from_the_reference_by_rounding_alone() -> None:
    """Measured: 0.05 eps a gate. Once 55: the fused blocks' global phase was a running sum."""
    bound = 0.5 * float(np.finfo(np.float64).eps) * GATES
    difference = final("numba", "complex128") - final("reference", "complex128")
    assert np.linalg.norm(difference) < bound


@every_engine
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("seed", range(5))
def test_probabilities_are_a_distribution(engine: str, dtype: str, seed: int) -> None:
    """Non-negative, and of sum one within 14 eps a gate (see above), marginals of batches, too."""
    rng = np.random.default_rng(seed)
    circuit = Circuit(6)
    for qubit in rng.integers(0, 6, 40).tolist():
        circuit.ry(rng.normal(), qubit).rz(rng.normal(), qubit).cx(qubit, (qubit + 1) % 6)
    start = rng.normal(size=(3, 128)).view(complex)
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    bound = 14 * circuit.size() * float(np.finfo(np.dtype(dtype)).eps)
    for qubits in (None, [0], [5, 2], []):
        found = circuit.probabilities(
            qubits, initial_state=start.astype(dtype), engine=engine, dtype=dtype
        ).numpy()
        assert (found >= 0).all()
        assert np.abs(found.sum(axis=-1, dtype=np.float64) - 1).max() < bound
