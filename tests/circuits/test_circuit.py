"""Building circuits: what is accepted, what is refused and leaves them unchanged."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import dense
import numpy as np
import pytest
from qiskit.circuit.library import HGate
from random_circuits import random_case

from autodiff import Parameter, Tensor
from circuits import (
    GATES,
    AngleError,
    BindingError,
    Circuit,
    CircuitError,
    GateError,
    Input,
    QubitError,
    Z,
)


def matrix(circuit: Circuit) -> Any:
    return circuit.unitary(engine="reference").numpy()


def close(actual: Any, expected: Any) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)


# -- width -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [-1, 1.0, "2", None, True, [2]])
def test_bad_widths_are_refused(width: Any) -> None:
    with pytest.raises(QubitError, match="Circuit needs a number of qubits from 0 on, got"):
        Circuit(width)


def test_numpy_integers_count() -> None:
    assert Circuit(np.int64(2)).x(np.int32(1)).num_qubits == 2


def test_no_qubits_no_gates_no_parameters() -> None:
    empty = Circuit(0)
    assert empty.statevector(engine="reference").tolist() == [1.0]
    assert (empty.depth(), empty.size(), empty.count_ops(), empty.parameters()) == (0, 0, {}, [])
    for engine in ("reference", "numba"):
        assert Circuit(1).expectation(Z(0), engine=engine).item() == 1.0
        phase = Circuit(0).global_phase(np.pi).statevector(engine=engine)
        close(phase.numpy(), [-1])
        assert Circuit(2).expectation(Z(0), values=[], engine=engine).item() == 1.0


# -- append ----------------------------------------------------------------------------------------

BAD: list[tuple[Callable[[Circuit], Any], type[CircuitError], str]] = [
    (lambda c: c.cx(0, 0), QubitError, r"cx needs distinct qubits, got \(0, 0\)"),
    (lambda c: c.crx(0.1, 1, 1), QubitError, r"crx needs distinct qubits, got \(1, 1\)"),
    (lambda c: c.unitary(np.eye(4), [1, 1]), QubitError, "unitary needs distinct qubits"),
    (lambda c: c.x(2), QubitError, "x needs integer qubits from 0 on, below 2, got 2"),
    (lambda c: c.x(-1), QubitError, "x needs integer qubits from 0 on, below 2, got -1"),
    (lambda c: c.x(0.0), QubitError, "x needs integer qubits .*got 0.0"),
    (lambda c: c.x("0"), QubitError, "x needs integer qubits .*got '0'"),
    (lambda c: c.x(None), QubitError, "x needs integer qubits .*got None"),
    (lambda c: c.x(True), QubitError, "x needs integer qubits .*got True"),
    (lambda c: c.x([0, 5]), QubitError, "x needs integer qubits .*got 5"),
    (lambda c: c.x(np.array(0.5)), QubitError, "x needs integer qubits"),
    (lambda c: c.rx(0, Parameter(0.1)), QubitError, "rx needs integer qubits .*angles come before"),
    (lambda c: c.rx(0, Tensor([1, 0])[None]), QubitError, "rx needs integer qubits"),
    (lambda c: c.append("foo", [0]), GateError, "gate name needs one of .* got 'foo'"),
    (lambda c: c.append("rxx", [0], 0.1), GateError, r"rxx needs 2 qubits, got 1: \(0,\)"),
    (lambda c: c.append("x", [0, 1]), GateError, "x needs 1 qubits, got 2"),
    (lambda c: c.append("cx", [0]), GateError, "cx needs 2 qubits, got 1"),
    (lambda c: c.append("mcx", [0]), GateError, "mcx needs 2 qubits, got 1"),
    (lambda c: c.append("x", []), GateError, "x needs 1 qubits, got 0"),
    (lambda c: c.append("rx", [0]), GateError, "rx needs theta, got 0 angles"),
    (lambda c: c.append("u", [0], [0.1]), GateError, "u needs theta, phi, lam, got 1 angles"),
    (lambda c: c.append("x", [0], [0.1]), GateError, "x needs no angles, got 1 angles"),
    (lambda c: c.append("x", [0], payload=[1]), GateError, "x needs no matrix or label"),
    (lambda c: c.append("x", 0, controls=[1], ctrl_state=2), GateError, "ctrl_state from 0 to 1"),
    (lambda c: c.append("x", 0, controls=[1], ctrl_state="11"), GateError, "ctrl_state from 0"),
    (lambda c: c.append("x", 0, controls=[1], ctrl_state=True), GateError, "ctrl_state from 0"),
    (lambda c: c.append("x", 0, ctrl_state=1), GateError, "ctrl_state from 0 to 0"),
    (lambda c: c.append("x", 0, controls=[0]), QubitError, "x needs distinct qubits"),
    (lambda c: c.append(Circuit(1), [0], [0.1]), GateError, "append of a circuit needs qubits"),
    (lambda c: c.append(Circuit(1), [0], controls=[1]), GateError, "append of a circuit needs"),
    (lambda c: c.append(Circuit(1), [0], ctrl_state=1), GateError, "append of a circuit needs"),
    (lambda c: c.append(Circuit(1), [0, 1]), QubitError, "compose needs 1 qubits, got 2"),
    (lambda c: c.append(Circuit(2), [0, 0]), QubitError, "compose needs distinct qubits"),
    (lambda c: c.compose(Circuit(3)), QubitError, "compose needs integer qubits .*got 2"),
    (lambda c: Circuit(2, 2), CircuitError, r"name needs text, got 2\..*measure\(qubit, bit\)"),
    (lambda c: c.append(HGate(), [0]), GateError, "got Instruction.* Give the name as text"),
    (lambda c: c.compose("x"), GateError, "compose needs a Circuit, got 'x'.*from_qiskit"),
    (lambda c: c.rx(Parameter(1j), 0), AngleError, "float32 or float64"),
    (lambda c: c.rx([0.1], 0), AngleError, "needs a real number"),
    (lambda c: c.unitary([[1, 1], [0, 1]], 0), GateError, "needs a unitary matrix"),
    (lambda c: c.unitary(np.eye(2), [0, 1]), GateError, r"a matrix of shape \(4, 4\)"),
    (
        lambda c: c.unitary(np.eye(2)),
        GateError,
        "unitary needs a matrix and qubits, got qubits None",
    ),
    (lambda c: c.unitary([["a", 1], [0, 1]], 0), GateError, "with finite numbers"),
    (lambda c: c.unitary(np.full((2, 2), np.nan), 0), GateError, "with finite numbers"),
    (lambda c: c.unitary(Tensor(np.eye(2)), 0), GateError, "a complex matrix of shape"),
    (lambda c: c.unitary(Parameter(np.ones((2, 2)) + 0j), 0), GateError, "a unitary matrix"),
    (lambda c: c.unitary(Parameter(np.eye(4) + 0j), 0), GateError, "a complex matrix of shape"),
    (lambda c: c.unitary(np.eye(2), 0, engine="numba"), GateError, r"and \['engine'\]"),
    (lambda c: c.diagonal([1, 2], 0), GateError, "entries of modulus 1"),
    (lambda c: c.diagonal(Parameter([1j, 1]), 0), GateError, "fixed numbers, got Parameter"),
    (lambda c: c.permutation([0, 0], [0, 1]), GateError, "every integer from 0 to 1 once"),
    (lambda c: c.pauli("XQ", [0, 1]), GateError, "a label of 2 letters"),
    (lambda c: c.pauli_rotation(0.1, "X", [0, 1]), GateError, "a label of 2 letters"),
    (lambda c: c.compose(Circuit(1).rx(Parameter(0.0, name="a"), 0)), BindingError, "names"),
    (lambda c: c.rx(Input("x", 3)[0], 0), BindingError, "one Input a name"),
]


@pytest.mark.parametrize(("change", "error", "match"), BAD)
def test_bad_calls_change_nothing(
    change: Callable[[Circuit], Any], error: type[CircuitError], match: str
) -> None:
    circuit = Circuit(2).rx(Parameter(0.1, name="a"), 0).ry(Input("x", 2)[0], 1)
    before = circuit.copy()
    with pytest.raises(error, match=match):
        change(circuit)
    assert circuit == before
    assert circuit.parameter_names() == ["a"]
    assert [x.shape for x in circuit.inputs] == [(2,)]


def test_append_takes_names_aliases_rows_and_circuits() -> None:
    expected = Circuit(3).cx(0, 1).rx(0.5, 2)
    made = Circuit(3).append("cnot", (0, 1)).append(GATES["rx"], 2, 0.5)
    assert made == expected
    assert Circuit(3).append(Circuit(2).cx(0, 1), [0, 1]).append(Circuit(1).rx(0.5, 0), 2) == made


def test_single_angle_needs_no_list() -> None:
    p = Parameter(0.1)
    assert Circuit(1).append("rx", 0, p) == Circuit(1).append("rx", [0], [p])


@pytest.mark.parametrize("state", [None, 0, 1, 2, 3, "00", "01", "10", np.int64(2)])
def test_any_gate_takes_controls_with_states(state: Any) -> None:
    bits = 3 if state is None else int(state, 2) if isinstance(state, str) else int(state)
    made = matrix(Circuit(3).append("ry", [1], [0.7], controls=[2, 0], ctrl_state=state))
    local = matrix(Circuit(1).ry(0.7, 0))
    close(made, dense.embed(local, [1], 3, [2, 0], bits))


# -- composition -----------------------------------------------------------------------------------


def test_compose_places_qubits() -> None:
    inner = Circuit(2).crx(0.3, 0, 1)
    assert Circuit(3).compose(inner, [2, 0]) == Circuit(3).crx(0.3, 2, 0)
    assert Circuit(3).compose(inner) == Circuit(3).crx(0.3, 0, 1)


def test_compose_with_itself() -> None:
    circuit = Circuit(1).h(0)
    assert circuit.compose(circuit) == Circuit(1).h(0).h(0)


def test_composing_leaves_the_other_alone() -> None:
    p = Parameter(0.1)
    inner = Circuit(1).rx(p, 0)
    outer = Circuit(1).compose(inner)
    inner.x(0)
    assert outer == Circuit(1).rx(p, 0)
    assert outer.parameters() == [p]


def test_compose_keeps_the_order_of_registration() -> None:
    a, b, c = (Parameter(0.1, name=name) for name in "abc")
    inner = Circuit(1).register(b, c, a).rx(a, 0).rx(b, 0)
    assert Circuit(1).compose(inner).parameter_names() == ["b", "a"]


def test_bindings_map_parameters_to_existing_ones() -> None:
    a, b, c = Parameter(0.1, name="a"), Parameter(0.2, name="b"), Parameter(0.3, name="c")
    inner = Circuit(1).rx(2 * a, 0).ry(a * b, 0)
    outer = Circuit(1).rx(c, 0).compose(inner, bindings={a: c})
    assert outer == Circuit(1).rx(c, 0).rx(2 * c, 0).ry(c * b, 0)
    assert outer.parameter_names() == ["c", "b"]


def test_bindings_may_exchange_or_merge_parameters() -> None:
    a, b = Parameter(0.1, name="a"), Parameter(0.2, name="b")
    inner = Circuit(1).register(a, b).rx(a - 2 * b, 0)
    swapped = Circuit(1).register(a, b).compose(inner, bindings={a: b, b: a})
    assert swapped == Circuit(1).register(a, b).rx(b - 2 * a, 0)
    merged = Circuit(1).compose(Circuit(1).rx(a * b, 0), bindings={a: b})
    merged.expectation(Z(0), engine="reference").backward()
    assert b.grad is not None
    assert b.grad.item() == pytest.approx(-np.sin(0.04) * 0.4)


def test_bindings_may_name_parameters() -> None:
    a, b = Parameter(0.1, name="a"), Parameter(0.2)
    inner = Circuit(1).rx(a, 0).ry(b, 0)
    c, d = Parameter(0.3), Parameter(0.4)
    assert Circuit(1).compose(inner, bindings={"a": c, "p0": d}) == Circuit(1).rx(c, 0).ry(d, 0)


@pytest.mark.parametrize(
    ("bindings", "match"),
    [
        ({"b": Parameter(0.1)}, r"or their names, got 'b'. It has \['a'\]"),
        ({"a": 0.5}, "got 0.5. For a number, compose and then assign it"),
        ({"a": 2 * Parameter(0.1)}, "for an expression, build the gates with it"),
        ({"a": Parameter([0.1, 0.2])}, "Make one of that shape"),
    ],
)
def test_other_bindings_are_refused(bindings: Any, match: str) -> None:
    inner = Circuit(1).rx(Parameter(0.1, name="a"), 0)
    with pytest.raises(BindingError, match=match):
        Circuit(1).compose(inner, bindings=bindings)


def test_bad_bindings_change_nothing() -> None:
    a = Parameter(0.1, name="a")
    circuit = Circuit(1)
    with pytest.raises(BindingError, match="Parameters of the other circuit"):
        circuit.compose(Circuit(1).rx(a, 0), bindings={Parameter(0.2): a})
    assert circuit == Circuit(1)


# -- derived circuits ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(1, 33, 4))
def test_inverse_undoes(seed: int) -> None:
    case = random_case(seed)
    inputs = None if case.inputs is None else {"x": case.inputs[0]}
    circuit = case.circuit
    whole = circuit.copy().compose(circuit.inverse())
    close(whole.unitary(inputs=inputs, engine="reference").numpy(), np.eye(1 << circuit.num_qubits))
    assert [p.uuid for p in circuit.inverse().parameters()] == [p.uuid for p in case.parameters]


@pytest.mark.parametrize("exponent", [-2, -1, 0, 1, 3])
def test_power_is_the_matrix_power(exponent: int) -> None:
    circuit = Circuit(2).u(0.1, 0.2, Parameter(0.3), 0).cx(0, 1).global_phase(0.4)
    expected = np.linalg.matrix_power(matrix(circuit), exponent)
    close(matrix(circuit.power(exponent)), expected)
    if exponent >= 0:
        assert circuit.repeat(exponent) == circuit.power(exponent)


@pytest.mark.parametrize("state", [None, 0, 1, 2, "10"])
def test_control_stands_in_front(state: Any) -> None:
    circuit = Circuit(2).cry(Parameter(0.3), 1, 0, ctrl_state=0).global_phase(0.5).ecr(0, 1)
    made = circuit.control(2, state)
    bits = 3 if state is None else int(state, 2) if isinstance(state, str) else state
    close(matrix(made), dense.embed(matrix(circuit), [2, 3], 4, [0, 1], bits))


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda c: c.power(0.5), "power needs an integer, got 0.5"),
        (lambda c: c.power(True), "power needs an integer, got True"),
        (lambda c: c.repeat(-1), "repeat needs a count from 0 on, got -1"),
        (lambda c: c.repeat(1.0), "repeat needs a count from 0 on, got 1.0"),
        (lambda c: c.control(0), "control needs a number of controls from 1 on, got 0"),
        (lambda c: c.control(1, ctrl_state=2), "ctrl_state from 0 to 1"),
    ],
)
def test_bad_derivations_are_refused(call: Callable[[Circuit], Any], match: str) -> None:
    with pytest.raises(CircuitError, match=match):
        call(Circuit(1).x(0))


@pytest.mark.parametrize("way", [Circuit.copy, copy.copy])
def test_copies_share_parameters_and_nothing_else(way: Callable[[Circuit], Circuit]) -> None:
    p = Parameter(0.1)
    circuit = Circuit(1, name="one").rx(p, 0).measure_all()
    made = way(circuit)
    assert made == circuit
    assert (made.name, made.measured) == ("one", {0: 0})
    assert made.parameters()[0] is p
    fresh = way(Circuit(1))
    fresh.x(0).register(Parameter(0.0)).measure_all()
    assert Circuit(1).size() == 0
    assert made.size() == circuit.size() == 1


def test_mcx_with_twenty_controls_has_no_large_matrix() -> None:
    circuit = Circuit(21)
    circuit.x(range(20)).mcx(range(20), 20)
    (instruction,) = circuit.instructions[20:]
    assert instruction.payload is None
    assert all(
        step.matrix is None or step.matrix.size <= 4 for step in circuit.compiled().plan.steps
    )
    assert circuit.expectation(Z(20), engine="numba").item() == pytest.approx(-1)
    assert circuit.x(0).expectation(Z(20), engine="numba").item() == pytest.approx(-1)
    assert Circuit(21).mcx(range(20), 20, ctrl_state=0).expectation(Z(20)).item() == -1


# -- queries ---------------------------------------------------------------------------------------


def test_counts_depth_and_size() -> None:
    circuit = Circuit(3).h(0).cx(0, 1).cx(1, 2).h(0).barrier().global_phase(0.1)
    assert circuit.size() == len(circuit) == len(list(circuit)) == 5
    assert circuit.depth() == 3
    assert circuit.count_ops() == {"h": 2, "cx": 2, "global_phase": 1}
    assert [i.name for i in circuit] == ["h", "cx", "cx", "h", "global_phase"]


def test_repr_names_the_numbers() -> None:
    circuit = Circuit(2, "bell").rx(Parameter(0.1), 0).ry(Input("x", 1)[0], 0)
    assert repr(circuit) == "Circuit('bell', 2 qubits, 2 gates, 1 parameters, 1 inputs)"


def test_compiled_snapshot_is_kept_until_a_change() -> None:
    circuit = Circuit(1).rx(Parameter(0.1), 0)
    first = circuit.compiled()
    assert circuit.compiled() is first
    circuit.x(0)
    assert circuit.compiled() is not first
    assert len(first.plan.steps) == 1
