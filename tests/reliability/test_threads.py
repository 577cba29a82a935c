"""Several Python threads at once give the numbers of one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import qml
from autodiff import Parameter, no_grad
from circuits import Circuit, PauliSum

THREADS = 8


def train(seed: int, start: Callable[[], object] = lambda: None) -> list[float]:
    """Losses and the last parameters of a small training of its own."""
    rng = np.random.default_rng(seed)
    theta = Parameter(rng.normal(size=4), name="theta")
    circuit = Circuit(4)
    for layer in range(2):
        for qubit in range(4):
            circuit.ry(theta[qubit] * (layer + 1), qubit).cx(qubit, (qubit + 1) % 4)
    observable = PauliSum({"ZZZZ": 1.0, "IXXI": 0.5 + 0.1 * seed})
    optimizer = qml.Adam([theta], lr=0.1)
    losses = []
    start()
    for _ in range(25):
        optimizer.zero_grad()
        loss = circuit.expectation(observable)
        loss.backward()
        optimizer.step()
        with no_grad():
            losses.append(float(circuit.counts(100, seed=seed).get("0000", 0)))
        losses.append(loss.item())
    return losses + theta.tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_trainings_in_threads_give_the_same_bits(threads: int) -> None:
    before = qml.get_num_threads()
    qml.set_num_threads(threads)
    try:
        alone = [train(seed) for seed in range(THREADS)]
        barrier = threading.Barrier(THREADS)
        with ThreadPoolExecutor(THREADS) as pool:
            together = list(pool.map(lambda seed: train(seed, barrier.wait), range(THREADS)))
    finally:
        qml.set_num_threads(before)
    assert together == alone


def test_one_circuit_runs_in_many_threads() -> None:
    """A circuit that is not compiled yet, called from all threads at once, with values each."""
    theta = Parameter(0.0, name="theta")
    circuit = Circuit(3).rx(theta, 0).cx(0, 1).ry(2 * theta, 2).cx(2, 0)
    barrier = threading.Barrier(THREADS)

    def run(seed: int) -> list[float]:
        barrier.wait()
        return [circuit.expectation(PauliSum({"ZZZ": 1.0}), values=[0.1 * seed]).item()] * 2

    with ThreadPoolExecutor(THREADS) as pool:
        found = [first for first, _ in pool.map(run, range(THREADS))]
    observable = PauliSum({"ZZZ": 1.0})
    expected = [circuit.expectation(observable, values=[0.1 * k]).item() for k in range(THREADS)]
    assert found == expected
