"""What users of PyTorch, Qiskit and PennyLane write at first is refused with what to write."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from qiskit import QuantumCircuit
from qiskit.circuit import Parameter as Symbol
from qiskit.quantum_info import SparsePauliOp

import qml

Z = qml.Z(0)
X = qml.Input("x", 2)


def circuit() -> qml.Circuit:
    return qml.Circuit(2).ry(qml.Parameter(0.3, name="theta"), 0).cx(0, 1)


def encoder() -> qml.Circuit:
    return circuit().rx(X[0], 0).ry(X[1], 1)


def energy() -> qml.Tensor:
    return circuit().expectation(Z)


def backward_twice() -> None:
    value = energy()
    value.backward()
    value.backward()


def backward_of_no_grad() -> None:
    with qml.no_grad():
        value = energy()
    value.backward()


def change_before_backward() -> None:
    weights = qml.Parameter([1.0, 2.0])
    loss = (weights * weights).sum()
    weights.set_([0.0, 0.0])
    loss.backward()


def differentiate_twice() -> None:
    theta = qml.Parameter(0.3)
    value = qml.Circuit(1).rx(theta, 0).expectation(Z)
    [slope] = qml.grad(value, [theta], create_graph=True)
    slope.backward()


def descend_in_grad_mode() -> None:
    theta = qml.Parameter(0.3)
    theta -= 0.1


def assign_element() -> None:
    qml.Parameter([1.0, 2.0])[0] = 3.0


def angle_of_a_network() -> None:
    features = qml.Linear(2, 1, seed=0)(np.ones((1, 2)))
    qml.Circuit(1).rx(features[0, 0], 0)


def optimizer_of_an_older_model() -> None:
    older, model = qml.Linear(2, 1, seed=0), qml.Linear(2, 1, seed=0)
    qml.Trainer(model, qml.Adam(older.parameters()), qml.mse_loss)


MISTAKES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "qubit out of range": (lambda: circuit().h(2), qml.QubitError, "from 0 on, below 2, got 2"),
    "qubit first": (lambda: circuit().rx(0, 0.3), qml.QubitError, "angles come before qubits"),
    "angle forgotten": (lambda: circuit().rx(0), qml.GateError, r"needs \(theta, qubit\)"),
    "qubits as a list": (lambda: circuit().cx([0, 1]), qml.GateError, "'target_qubit'"),
    "classical bits": (lambda: qml.Circuit(2, 2), qml.CircuitError, r"measure\(qubit, bit\)"),
    "gate misspelt": (lambda: circuit().append("cnott", [0, 1]), qml.GateError, "Did you mean"),
    "gate after measurement": (
        lambda: circuit().measure_all().h(0),
        qml.MeasurementError,
        "Put all gates before the measurements",
    ),
    "reset": (lambda: circuit().reset(0), qml.MeasurementError, "use a fresh qubit"),
    "symbol as an angle": (
        lambda: circuit().rx(Symbol("t"), 0),
        qml.AngleError,
        r"qml\.Parameter\(0\.0, name=",
    ),
    "Qiskit's circuit composed": (
        lambda: circuit().compose(QuantumCircuit(2)),
        qml.GateError,
        "from_qiskit",
    ),
    "Qiskit's operator": (
        lambda: circuit().expectation(SparsePauliOp("ZZ")),
        qml.ObservableError,
        r"PauliSum\.from_qiskit",
    ),
    "label as an observable": (
        lambda: circuit().expectation("ZZ"),
        qml.ObservableError,
        r"PauliSum\(\{'ZZ'",
    ),
    "label too long": (
        lambda: circuit().expectation(qml.PauliSum({"ZZZ": 1.0})),
        qml.ObservableError,
        r"Z\(0\) @ Z\(1\), which fits any width",
    ),
    "product with a star": (lambda: qml.Z(0) * qml.Z(1), qml.ObservableError, "is @"),
    "input missing": (lambda: encoder().expectation(Z), qml.BindingError, r"missing \['x'\]"),
    "input without a name": (
        lambda: encoder().expectation(Z, inputs=np.ones(2)),
        qml.BindingError,
        r"Write inputs=\{'x': x\}",
    ),
    "input of another shape": (
        lambda: encoder().expectation(Z, inputs={"x": np.ones((5, 3))}),
        qml.BindingError,
        r"needs shape \(2,\) or \(B, 2\), got \(5, 3\)",
    ),
    "whole input as an angle": (lambda: circuit().rx(X, 0), qml.AngleError, r"Index it: x\[0\]"),
    "math of an input": (lambda: math.sin(X[0]), qml.TraceError, r"Use np\.sin"),
    "network's output as an angle": (angle_of_a_network, qml.AngleError, r"declare Input\("),
    "Parameter of a name": (lambda: qml.Parameter("a"), qml.ParameterError, "0.0, name='a'"),
    "Parameter of an integer": (lambda: qml.Parameter(1), qml.ParameterError, "0.0, not 0"),
    "two Parameters of one name": (
        lambda: circuit().rx(qml.Parameter(0.1, name="theta"), 0),
        qml.BindingError,
        "Rename one, or use the same Parameter",
    ),
    "backward of many values": (
        lambda: circuit().expectation([Z, Z]).backward(),
        qml.GradientError,
        r"sum\(\) it, or call backward\(gradient=g\)",
    ),
    "backward twice": (backward_twice, qml.GradientError, "retain_graph=True"),
    "backward after no_grad": (backward_of_no_grad, qml.GradientError, "outside no_grad"),
    "backward of an estimate": (
        lambda: circuit().expectation(Z, shots=10, seed=0).backward(),
        qml.GradientError,
        "Leave shots out",
    ),
    "second derivative": (differentiate_twice, qml.GradientError, "shift the angle"),
    "value changed": (change_before_backward, qml.VersionError, "change it after backward"),
    "update in grad mode": (descend_in_grad_mode, qml.GradientError, r"under no_grad\(\)"),
    "element assigned": (assign_element, qml.DTypeError, "storage_mut"),
    "frozen by assignment": (
        lambda: setattr(qml.Parameter(0.1), "trainable", False),
        qml.ParameterError,
        r"Write p\.freeze\(\)",
    ),
    "one Parameter to an optimizer": (
        lambda: qml.SGD(qml.Parameter(0.1)),
        qml.ParameterError,
        r"Write \[p\]",
    ),
    "circuit to an optimizer": (
        lambda: qml.SGD(circuit()),
        qml.ParameterError,
        r"circuit\.parameters\(\)",
    ),
    "optimizer of an older model": (optimizer_of_an_older_model, qml.SettingError, "again"),
    "layers as a list": (
        lambda: qml.Sequential([qml.Linear(2, 1, seed=0)]),
        qml.SettingError,
        r"Sequential\(a, b\)",
    ),
    "loss that would broadcast": (
        lambda: qml.mse_loss(qml.Tensor(np.ones((4, 1))), np.ones(4)),
        qml.ShapeError,
        "nothing is broadcast",
    ),
    "device misspelt": (lambda: energy().to("gpu"), qml.DeviceUnavailable, "'cpu', 'emulated'"),
    "operands on two devices": (
        lambda: energy().to("emulated") + energy(),
        qml.DeviceMismatch,
        r"\.to\(device\)",
    ),
    "state too large": (
        lambda: qml.Circuit(40).h(0).statevector(),
        qml.CapacityError,
        "32 TiB of memory.*fewer qubits",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_refusal_says_what_to_write(name: str) -> None:
    call, error, remedy = MISTAKES[name]
    with pytest.raises(error, match=remedy):
        call()
