"""Public bug reports of neighbouring tools, O23 and O24: shots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from qiskit import QuantumCircuit

from circuits import Circuit, Parameter, from_qiskit

Close = Callable[..., None]


def test_o23_measuring_some_qubits(engine: str) -> None:
    """Qiskit 1583: the position in the measured list is not the qubit's number."""
    qc = QuantumCircuit(5, 3)
    qc.x(4)
    qc.measure(1, 0)
    qc.measure(3, 1)
    qc.measure(4, 2)
    imported = from_qiskit(qc)
    assert imported.counts(16, seed=1, engine=engine) == {"100": 16}
    assert imported.counts(16, seed=1, engine=engine) == {"100": 16}


@pytest.mark.parametrize("seed", range(20))
def test_o23_any_qubits_to_any_bits(engine: str, seed: int) -> None:
    """A basis state is read through a random map from qubits to classical bits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    ones = rng.random(n) < 0.5
    measured = rng.permutation(n)[: rng.integers(1, n + 1)]
    clbits = rng.permutation(n)[: len(measured)]
    circuit = Circuit(n)
    for qubit in np.flatnonzero(ones):
        circuit.x(int(qubit))
    circuit.measure(measured, clbits)
    bits = ["0"] * (clbits.max() + 1)
    for qubit, clbit in zip(measured, clbits, strict=True):
        bits[-1 - clbit] = str(int(ones[qubit]))
    assert circuit.counts(3, seed=0, engine=engine) == {"".join(bits): 3}


def test_o23_seeds(engine: str) -> None:
    """One seed gives the same counts each time; a generator goes on."""
    circuit = Circuit(3).h(0).h(1).h(2)
    first = circuit.sample(200, seed=5, engine=engine)
    np.testing.assert_array_equal(first, circuit.sample(200, seed=5, engine=engine))
    generator = np.random.default_rng(5)
    np.testing.assert_array_equal(first, circuit.sample(200, seed=generator, engine=engine))
    assert (first != circuit.sample(200, seed=generator, engine=engine)).any()


def test_o24_probability_a_hair_above_one(engine: str) -> None:
    """Qiskit 9761: rounding above 1 must not stop the draw."""
    a = 0.10233442882782584
    circuit = Circuit(1).ry(a, 0).ry(-a, 0)
    assert circuit.counts(1024, seed=7, engine=engine) == {"0": 1024}


@pytest.mark.parametrize(("dtype", "rounding"), [("complex64", 1e-6), ("complex128", 1e-12)])
def test_o24_a_thousand_angles(engine: str, close: Close, dtype: str, rounding: float) -> None:
    a = Parameter(0.0)
    circuit = Circuit(1).ry(a, 0).ry(-a, 0)
    options = {"values": np.random.default_rng(7).uniform(-4, 4, (1000, 1))}
    options |= {"dtype": dtype, "engine": engine}
    chances = circuit.probabilities(**options).numpy()
    assert (chances >= 0).all()
    assert (chances <= 1 + rounding).all()
    close(chances.sum(axis=1), np.ones(1000), atol=rounding)
    counted = circuit.counts(1024, seed=7, **options)
    stray = 1 if dtype == "complex64" else 0
    assert all(1024 - each["0"] <= stray for each in counted)
    assert all(sum(each.values()) == 1024 for each in counted)
