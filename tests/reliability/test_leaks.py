"""Ten thousand training steps hold no more memory than a few."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest
from limits import MIB, resident

import qml
from autodiff import Parameter
from circuits import Circuit, Input, Z

STEPS = 10_000


@pytest.mark.slow
def test_training_leaks_nothing() -> None:
    """Python keeps under 20 bytes a step, less than any object; the process under 16 MiB."""
    theta, x = Parameter(0.1, name="theta"), Input("x", 1)
    circuit = Circuit(1).rx(x[0], 0).ry(theta, 0)
    model = qml.QuantumLayer(circuit, Z(0))
    optimizer = qml.Adam(model.parameters(), lr=1e-3)
    batch = np.linspace(-1, 1, 4).reshape(4, 1)

    def steps(count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            ((model(batch) - 0.5) ** 2).mean().backward()
            optimizer.step()

    steps(300)
    gc.collect()
    held = resident()
    steps(STEPS - 1000)
    gc.collect()
    assert resident() - held < 16 * MIB
    tracemalloc.start()
    try:
        steps(200)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        steps(800)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20 * 800
    finally:
        tracemalloc.stop()


def test_circuits_and_their_plans_are_freed() -> None:
    """New circuits, compiled and run, do not stay: 300 of 40 gates hold under 4 KiB each."""

    def once(seed: int) -> None:
        circuit = Circuit(3)
        for k in range(20):
            circuit.rx(Parameter(0.01 * seed), k % 3).cx(k % 3, (k + 1) % 3)
        circuit.expectation(Z(0)).backward()

    for seed in range(50):
        once(seed)
    gc.collect()
    held = resident()
    tracemalloc.start()
    try:
        for seed in range(300):
            once(seed)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 300 * 4096
    finally:
        tracemalloc.stop()
    assert resident() - held < 32 * MIB
