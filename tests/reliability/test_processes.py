"""Forked and spawned workers compute what their parent computes, after it has used the engine."""

from __future__ import annotations

import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest

from autodiff import Parameter
from circuits import Circuit, PauliSum

WIDTH = 16
"""Wide enough that threads share a state: the parent has helpers when it forks."""


def layered(theta: Parameter) -> Circuit:
    circuit = Circuit(WIDTH)
    for qubit in range(WIDTH):
        circuit.ry(theta * (1 + 0.1 * qubit), qubit)
        circuit.cx(qubit, (qubit + 1) % WIDTH)
    return circuit


def value_and_gradient(circuit: Circuit) -> tuple[float, float]:
    (theta,) = circuit.parameters()
    theta.zero_grad()
    value = circuit.expectation(PauliSum({"Z" * WIDTH: 1.0, "X" * WIDTH: 0.5}))
    value.backward()
    assert theta.grad is not None
    return value.item(), theta.grad.item()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_give_the_parents_numbers(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A spawned interpreter finds this file by its name.
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    import test_processes

    circuit = layered(Parameter(0.3, name="theta"))
    expected = value_and_gradient(circuit)
    with multiprocessing.get_context(method).Pool(2) as pool:
        work = pool.map_async(test_processes.value_and_gradient, [circuit] * 4)
        found = work.get(timeout=120)
    np.testing.assert_array_equal(found, [expected] * 4)
    assert value_and_gradient(circuit) == expected
