"""Public bug reports of neighbouring tools, O40: where values of a device live."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, sin

import numpy as np
import pytest
from gate_circuits import circuit_of

from autodiff import Parameter, Tensor, reset_stats, stats
from circuits import Circuit, Hermitian, PauliSum, Z
from circuits.gates import GATES

Close = Callable[..., None]

ATOL = {"complex128": 1e-12, "complex64": 1e-6}
REAL = {"complex128": "float64", "complex64": "float32"}


@pytest.mark.parametrize("dtype", ATOL)
def test_o40_constants_left_on_the_cpu(engine: str, close: Close, dtype: str) -> None:
    """PennyLane 4003, 1927, 7774; 7955 and 1982 for results on another device."""

    def on(device: str) -> list[Tensor]:
        w1, w2 = (Parameter(Tensor(0.1, dtype=REAL[dtype], device=device)) for _ in range(2))
        circuit = Circuit(2).cry(w1, 0, 1).rx(w2, 0)
        state = circuit.statevector(engine=engine)
        value = circuit.expectation(Z(0), engine=engine)
        value.backward()
        assert w1.grad is not None
        assert w2.grad is not None
        return [state, value, w1.grad, w2.grad]

    found, here = on("emulated"), on("cpu")
    assert [x.device for x in found] == ["emulated"] * 4
    assert str(found[0].dtype) == dtype
    answers = [[0.9987502604, -0.0499791693j, 0, 0], 0.9950041653, 0.0, -0.0998334166]
    for mine, answer, other in zip(found, answers, here, strict=True):
        close(mine, answer, max(1e-9, ATOL[dtype]))
        close(mine, other.numpy(), ATOL[dtype])
    close(found[1], cos(0.1), ATOL[dtype])
    close(found[3], -sin(0.1), ATOL[dtype])


@pytest.mark.parametrize("extra", [0, 1], ids=["plain", "controlled"])
@pytest.mark.parametrize("name", GATES)
def test_o40_every_gate(close: Close, name: str, extra: int) -> None:
    """Gates mix device angles with constants: identity blocks, fixed angles, fixed matrices."""
    row = GATES[name]

    def on(device: str) -> list[Tensor]:
        w = Parameter(Tensor(np.linspace(0.4, 1.6, 4), device=device), name="w")
        fixed = [0.3] * (len(row.params) - 1)
        circuit = circuit_of(row, extra, [*fixed, 2 * w[1] * w[2]] if row.params else [])
        circuit.ry(w[0] + 0.5, 0)
        observable = PauliSum({"Z" * circuit.num_qubits: 1.0, "X" * circuit.num_qubits: 0.5})
        value = circuit.expectation(observable, engine="reference")
        value.backward()
        assert w.grad is not None
        return [circuit.statevector(engine="reference"), value, w.grad]

    found = on("emulated")
    assert [x.device for x in found] == ["emulated"] * 3
    for mine, other in zip(found, on("cpu"), strict=True):
        close(mine, other.numpy(), 1e-12)


RESULTS: dict[str, Callable[[Circuit, str], Tensor]] = {
    "probabilities": lambda qc, engine: qc.probabilities(engine=engine),
    "marginal": lambda qc, engine: qc.marginal([1], engine=engine),
    "density_matrix": lambda qc, engine: qc.density_matrix([0], engine=engine),
    "purity": lambda qc, engine: qc.purity(0, engine=engine),
    "entropy": lambda qc, engine: qc.entropy(0, engine=engine),
    "bloch_vector": lambda qc, engine: qc.bloch_vector(0, engine=engine),
    "variance": lambda qc, engine: qc.variance(Z(0), engine=engine),
    "unitary": lambda qc, engine: qc.unitary(engine=engine),
    "matrix observable": lambda qc, engine: qc.expectation(
        Hermitian([[1, 2j], [-2j, 0]], 1), engine=engine
    ),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_o40_every_result_stays_where_the_parameters_are(
    engine: str, close: Close, kind: str
) -> None:
    def on(device: str) -> tuple[Tensor, Tensor]:
        w = Parameter(Tensor([0.3, 0.7], device=device), name="w")
        result = RESULTS[kind](Circuit(2).ry(w[0], 0).cry(w[1], 0, 1).rx(0.4, 1), engine)
        loss = abs(result).sum() if result.shape else result
        loss.backward()
        assert w.grad is not None
        return result, w.grad

    result, gradient = on("emulated")
    assert (result.device, gradient.device) == ("emulated", "emulated")
    for mine, other in zip((result, gradient), on("cpu"), strict=True):
        close(mine, other.numpy(), 1e-12)


def test_o40_nothing_travels_once_the_constants_are_there(engine: str) -> None:
    w = Parameter(Tensor([0.1, 0.2], device="emulated"), name="w")
    circuit, observable = Circuit(2).cry(w[0], 0, 1).rx(w[1], 0), Z(0)
    for _ in range(2):
        reset_stats()
        circuit.expectation(observable, engine=engine).backward()
    assert stats("emulated").downloads == 0
    assert stats("emulated").upload_bytes <= 16 << 2  # the start state at most
