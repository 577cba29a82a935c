"""What is written comes back: circuits, observables, checkpoints; Qiskit's formats, too."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from qiskit import qpy
from random_circuits import WITH_INPUT, WITHOUT_INPUT
from strategies import AFFINE, STATES, DrawnCircuit, circuits, symbolic_circuits

import qml
from circuits import Circuit, Parameter, from_qasm, from_qiskit, to_qasm, to_qiskit

WAYS: dict[str, Callable[[Circuit], Circuit]] = {
    "pickle": lambda circuit: pickle.loads(pickle.dumps(circuit)),
    "json": lambda circuit: Circuit.from_json(circuit.to_json()),
    "deepcopy": copy.deepcopy,
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def through_qpy(circuit: Circuit) -> Circuit:
    """Exported, written by Qiskit, read by Qiskit, imported."""
    file = io.BytesIO()
    qpy.dump(to_qiskit(circuit), file)
    file.seek(0)
    (foreign,) = qpy.load(file)
    return from_qiskit(foreign, values=present_values(circuit, foreign))


def present_values(circuit: Circuit, foreign: Any) -> dict[str, float]:
    """The values of our Parameters by the names of Qiskit's, which are one for each element."""
    values: dict[str, float] = {}
    for name, p in zip(circuit.parameter_names(), circuit.parameters(), strict=True):
        if p.ndim == 0:
            values[name] = p.item()
        else:
            values |= {f"{name}[{k}]": x for k, x in enumerate(p.tolist())}
    return {symbol.name: values[symbol.name] for symbol in foreign.parameters}


def same_states(found: Circuit, expected: Circuit, tolerance: float) -> None:
    inputs = {"x": [0.3, -0.2, 0.7]}
    states = [
        c.statevector(inputs=inputs if c.inputs else None, engine="reference").numpy()
        for c in (found, expected)
    ]
    np.testing.assert_allclose(*states, rtol=0, atol=tolerance)


@every_way
@settings(max_examples=60)
@given(drawn=circuits())
def test_numbers_and_payloads_survive(
    way: Callable[[Circuit], Circuit], drawn: DrawnCircuit
) -> None:
    made = way(drawn.circuit)
    assert made == drawn.circuit
    same_states(made, drawn.circuit, 0.0)


@every_way
@settings(max_examples=60)
@given(circuit=symbolic_circuits([*WITHOUT_INPUT, *WITH_INPUT]))
def test_expressions_survive(way: Callable[[Circuit], Circuit], circuit: Circuit) -> None:
    made = way(circuit)
    assert made == circuit
    assert made.parameter_names() == circuit.parameter_names()
    same_states(made, circuit, 0.0)


@settings(max_examples=60)
@given(circuits(most=4))
def test_qpy_is_exact_in_numbers(drawn: DrawnCircuit) -> None:
    same_states(through_qpy(drawn.circuit), drawn.circuit, 1e-12)


@settings(max_examples=60)
@given(symbolic_circuits(AFFINE))
@example(Circuit(3).append("cu", [0, 1], [Parameter(0.3, name="a"), 0.1, 0.2, 0.4], controls=[2]))
def test_qpy_is_exact_in_symbols(circuit: Circuit) -> None:
    same_states(through_qpy(circuit), circuit, 1e-12)


@settings(max_examples=60)
@given(symbolic_circuits(AFFINE))
def test_openqasm_3_keeps_affine_angles(circuit: Circuit) -> None:
    made = from_qasm(to_qasm(circuit))
    same_states(made, circuit, 1e-12)
    moved = {"a": 0.3, "b": -0.7, "w": np.array([0.2, 1.1, -0.4])}
    elements = {"a": 0.3, "b": -0.7, "w[0]": 0.2, "w[1]": 1.1, "w[2]": -0.4}
    circuit.assign({name: moved[name] for name in circuit.parameter_names()})
    made.assign({name: elements[name] for name in made.parameter_names()})
    same_states(made, circuit, 1e-12)


@settings(max_examples=40)
@given(circuits(most=4))
def test_openqasm_2_keeps_numbers_up_to_the_phase(drawn: DrawnCircuit) -> None:
    made = from_qasm(to_qasm(drawn.circuit, 2))
    found, expected = made.statevector().numpy(), drawn.matrix()[:, 0]
    # The text has some 15 digits of every angle.
    assert abs(abs(np.vdot(found, expected)) - 1) < 1e-12


@settings(max_examples=150)
@given(state=STATES)
def test_checkpoints_keep_every_bit(tmp_path_factory: pytest.TempPathFactory, state: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "round_trip.ket"
    same_bits(qml.load(qml.save(state, path)), state)


def same_bits(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for key, value in expected.items():
            same_bits(found[key], value)
    elif isinstance(expected, list | tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same_bits(one, other)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    else:
        assert repr(found) == repr(expected)
