"""Public bug reports of neighbouring tools, O36 to O39: depth, identity, and what is not there."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from functools import cache
from math import cos, sin

import numpy as np
import pytest

from autodiff import Parameter, ParameterError, Tensor, grad
from circuits import BindingError, Circuit, Hermitian, QubitError, X, Z
from qml import SGD, Adam, AdamW

Close = Callable[..., None]


def test_o36_deep_graph(close: Close) -> None:
    """PyTorch 5534: neither backward nor freeing, copying or pickling recurses along a chain."""
    x = Parameter(1.0)
    y: Tensor = x
    for _ in range(50000):
        y = y * 1.00001
    unused = y * 1.0
    for copied in (copy.deepcopy(y), copy.copy(y), pickle.loads(pickle.dumps(y)), y.deep_clone()):
        close(copied, 1.6487171489)
    del copied
    y.backward(retain_graph=True)
    close(x.grad, 1.6487171489)
    assert "1.648" in repr(y)
    del y, unused  # the graph dies here, after a pass and without one


@pytest.mark.parametrize("wide", [False, True])
def test_o36_deep_graph_that_was_never_differentiated(wide: bool) -> None:
    """Freeing is iterative for graphs with two links a node and through views, too."""
    x = Parameter(np.ones(2))
    y: Tensor = x
    for _ in range(20000):
        y = y + y * 0.0 if wide else y.reshape(1, 2).reshape(2)
    assert y.tolist() == [1.0, 1.0]
    del y
    assert x.grad is None


@cache
def deep_circuit() -> tuple[Circuit, Parameter]:
    """20000 gates of one parameter."""
    theta = Parameter(0.4, name="theta")
    circuit = Circuit(1)
    for _ in range(20000):
        circuit.rx(theta / 20000, 0)
    return circuit, theta


@cache
def deep_angles() -> tuple[Circuit, Parameter]:
    """Two angles that are thousands of ops deep, one affine, one not."""
    theta = Parameter(0.4, name="theta")
    affine, curved = theta * 1.0, theta * 1.0
    for _ in range(2000):
        affine = affine + 2.5e-4
        curved = curved * curved / curved
    return Circuit(2).rx(affine, 0).rx(curved, 1), theta


def test_o36_deep_circuit(engine: str, close: Close) -> None:
    circuit, theta = deep_circuit()
    f = circuit.expectation(Z(0), engine=engine)
    close(f, 0.9210609940)
    close(grad(f, theta), -0.3894183423, atol=1e-8)


def test_o36_deep_angles(engine: str, close: Close) -> None:
    circuit, theta = deep_angles()
    f = circuit.expectation(Z(0) + Z(1), engine=engine)
    close(f, cos(0.9) + cos(0.4))
    close(grad(f, theta), -sin(0.9) - sin(0.4))


@pytest.mark.parametrize("build", [deep_circuit, deep_angles])
def test_o36_copies_of_what_is_deep(build: Callable[[], tuple[Circuit, Parameter]]) -> None:
    circuit, _ = build()
    assert copy.deepcopy(circuit) == circuit
    assert pickle.loads(pickle.dumps(circuit)) == circuit
    assert Circuit.from_json(circuit.to_json()) == circuit


def run_in_worker(pickled: tuple[bytes, str]) -> bytes:
    """What a worker process does: read a circuit, bind by name and by Parameter, send it back."""
    text, engine = pickled
    circuit, parameter = pickle.loads(text)
    value = circuit.expectation(Z(0), values={parameter: 1.0}, engine=engine).item()
    return pickle.dumps((circuit, parameter, value))


def through_a_worker(circuit: Circuit, engine: str) -> Circuit:
    """The circuit after a spawned process had it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        sent = pickle.dumps((circuit, circuit.parameters()[0])), engine
        returned, parameter, value = pickle.loads(pool.apply(run_in_worker, (sent,)))
    assert abs(value - 0.5403023059) < 1e-9
    assert parameter.uuid == circuit.parameters()[0].uuid
    return returned


COPIES: dict[str, Callable[[Circuit, str], Circuit]] = {
    "pickle": lambda circuit, engine: pickle.loads(pickle.dumps(circuit)),
    "deepcopy": lambda circuit, engine: copy.deepcopy(circuit),
    "deep_clone": lambda circuit, engine: circuit.deep_clone(),
    "json": lambda circuit, engine: Circuit.from_json(circuit.to_json()),
    "worker": through_a_worker,
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_o37_identity_of_parameters(
    engine: str, close: Close, copied: Callable[[Circuit, str], Circuit]
) -> None:
    """Qiskit 2429: the original Parameter still binds a circuit that was copied or sent."""
    a = Parameter(0.0, name="a")
    circuit = Circuit(1).rx(a, 0)
    other = copied(circuit, engine)
    close(other.expectation(Z(0), values={a: 1.0}, engine=engine), 0.5403023059)
    assert other == circuit
    assert other.parameters()[0].uuid == a.uuid
    other.assign({a: 1.0})
    assert (a.item(), other.parameters()[0].item()) == (0.0, 1.0)


def test_o37_same_name_is_not_the_same_parameter(engine: str) -> None:
    """Two Parameters that share a name alone are told apart."""
    a, namesake = Parameter(0.0, name="a"), Parameter(0.0, name="a")
    circuit = Circuit(1).rx(a, 0)
    with pytest.raises(BindingError, match="Parameters of the circuit"):
        circuit.expectation(Z(0), values={namesake: 1.0}, engine=engine)
    with pytest.raises(BindingError, match="two named 'a'"):
        circuit.rx(namesake, 0)
    assert circuit.parameters() == [a]
    assert circuit != Circuit(1).rx(namesake, 0)


def test_o38_nothing_to_train(engine: str, close: Close) -> None:
    """Catalyst 813: a circuit without a trainable gate has gradients of the right shape: 0."""
    x = Parameter(1.1)
    circuit = Circuit(1).x(0)
    loss = circuit.probabilities(engine=engine)[0] + 0 * x
    close(loss, 0.0)
    loss.backward()
    close(x.grad, 0.0)
    close(grad(circuit.probabilities(engine=engine)[0], x), 0.0)
    vector = Parameter([1.0, 2.0])
    close(grad(circuit.expectation(Z(0), engine=engine), vector), [0.0, 0.0])
    assert circuit.parameters() == []
    close(circuit.expectation(Z(0), values=[], engine=engine), -1.0)
    close(circuit.expectation(Z(0), values=np.zeros((3, 0)), engine=engine), -np.ones(3))


@pytest.mark.parametrize("num_qubits", [0, 1, 3])
def test_o38_no_gates(engine: str, close: Close, num_qubits: int) -> None:
    circuit = Circuit(num_qubits)
    for q in range(num_qubits):
        close(circuit.expectation(Z(q), engine=engine), 1.0)
    close(circuit.statevector(engine=engine), np.eye(1 << num_qubits)[0])
    assert circuit.counts(7, seed=0, engine=engine) == {"0" * num_qubits: 7}


def test_o38_gates_that_cancel_or_do_nothing(engine: str, close: Close) -> None:
    """No influence is a gradient of 0, on an angle that the planner could remove, too."""
    a = Parameter(0.7)
    circuit = Circuit(2).id(0).barrier().rx(a, 0).rx(-a, 0).rz(a, 1)
    f = circuit.expectation(Z(0) + Z(1), engine=engine)
    close(f, 2.0)
    close(grad(f, a), 0.0)
    f = Circuit(1).rx(0.3 * a, 0).expectation(0.0 * X(0), engine=engine)
    close(grad(f, a), 0.0)


@pytest.mark.parametrize("optimizer", [SGD, Adam, AdamW])
def test_o38_optimizer_without_parameters(optimizer: Callable[..., object]) -> None:
    with pytest.raises(ParameterError, match="needs"):
        optimizer([], lr=0.1)
    with pytest.raises(ValueError, match="needs"):
        optimizer(Circuit(1).x(0).parameters(), lr=0.1)


TWICE: list[tuple[str, Callable[[], object]]] = [
    ("cx", lambda: Circuit(2).cx(0, 0)),
    ("crx", lambda: Circuit(2).crx(0.1, 1, 1)),
    ("unitary", lambda: Circuit(2).unitary(np.eye(4), [1, 1])),
    ("swap", lambda: Circuit(3).swap(2, 2)),
    ("ccx", lambda: Circuit(3).ccx(0, 1, 0)),
    ("rx", lambda: Circuit(3).append("rx", [0], [0.1], controls=[0])),
    ("rx", lambda: Circuit(3).append("rx", [0], [0.1], controls=[1, 1])),
    ("compose", lambda: Circuit(3).compose(Circuit(2).h(0), [1, 1])),
    ("probabilities", lambda: Circuit(2).probabilities([1, 1])),
]


@pytest.mark.parametrize(("name", "build"), TWICE)
def test_o39_one_qubit_twice(name: str, build: Callable[[], object]) -> None:
    """bloqade-circuit 554: refused when it is built, with the gate and the qubits named."""
    with pytest.raises(QubitError, match=rf"{name} needs distinct qubits, got \("):
        build()


@pytest.mark.parametrize("qubit", [2, -1, 10**6, 0.0, True, None, "0"])
def test_o39_no_such_qubit(qubit: object) -> None:
    circuit = Circuit(2).h(0)
    with pytest.raises(QubitError, match="cx needs integer qubits from 0 on, below 2"):
        circuit.cx(0, qubit)
    with pytest.raises(QubitError, match="rx needs integer qubits from 0 on, below 2"):
        circuit.rx(0.1, qubit)
    assert circuit == Circuit(2).h(0)


def test_o39_observables(engine: str) -> None:
    with pytest.raises(QubitError, match=r"different qubits.*\[0, 0\]"):
        Hermitian(np.eye(4), [0, 0])
    for build in (lambda: Z(-1), lambda: Hermitian(np.eye(2), -1)):
        with pytest.raises(QubitError, match="from 0 to 65535"):
            build()
    with pytest.raises(QubitError, match=r"below 2.*Z\(2\)"):
        Circuit(2).expectation(Z(2), engine=engine)
    with pytest.raises(ValueError, match="needs"):
        Circuit(2).unitary(np.eye(4), [0, 2])
