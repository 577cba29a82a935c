"""A hybrid model trains on ``"cuda"`` as on the CPU; here on a stand-in for CuPy, by g++."""

from __future__ import annotations

import fake_cupy
import numpy as np
import pytest

import qml
from autodiff import stats

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Y = np.sign(X[:, 0])


@pytest.fixture
def _cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cupy.install(monkeypatch)


def model() -> qml.Module:
    """A dense layer before a circuit whose angles are affine in its parameters."""
    x, circuit = qml.Input("x", 2), qml.Circuit(2)
    w = [qml.Parameter(0.2 + 0.1 * k, name=f"w{k}") for k in range(3)]
    circuit.rx(x[0], 0).rx(x[1] + 0.3, 1).ry(2 * w[0], 0).ry(w[1], 1).cx(0, 1).rz(w[2] - 1, 0)
    circuit.ry(w[0] + w[2], 1)
    return qml.Sequential(
        qml.Linear(2, 2, seed=1), qml.Tanh(), qml.QuantumLayer(circuit, [qml.Z(0)])
    )


def losses(where: str, *, graph: bool = False) -> list[float]:
    """Three steps of Adam."""
    trained = model()
    trained.to(where)
    optimizer = qml.Adam(trained.parameters(), lr=0.1)
    x, y = qml.Tensor(X, device=where), qml.Tensor(Y, device=where)
    found = []
    with qml.local_graph_mode(graph):
        for _ in range(3):
            optimizer.zero_grad()
            loss = ((trained(x)[:, 0] - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
    assert {p.device for p in trained.parameters()} == {where}
    return found


@pytest.mark.usefixtures("_cuda")
@pytest.mark.parametrize("graph", [False, True])
def test_losses_are_those_of_the_cpu(graph: bool) -> None:
    np.testing.assert_allclose(losses("cuda", graph=graph), losses("cpu"), rtol=1e-12)
    counted = stats("cuda")
    assert counted.kernels > 0  # the circuit's engine is the device's
    assert (counted.graphs > 0) == graph
    assert counted.downloads == 3  # the losses
