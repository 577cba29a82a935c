"""One entry of a circuit, and the checks of qubits, control states and counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Tensor
from circuits import Circuit, CircuitError, GateError, QubitError
from circuits.instruction import (
    Instruction,
    TrainableMatrix,
    checked_count,
    checked_ctrl_state,
    checked_qubits,
    listed,
)


def one(circuit: Circuit) -> Instruction:
    (instruction,) = circuit.instructions
    return instruction


def test_fields() -> None:
    p = Parameter(0.1)
    instruction = one(Circuit(4).crx(p, 2, 0, controls=3, ctrl_state="01"))
    assert (instruction.name, instruction.qubits) == ("crx", (3, 2, 0))
    assert (instruction.controls, instruction.targets) == ((3, 2), (0,))
    assert instruction.ctrl_state == 1


def test_controlled_puts_new_controls_in_front() -> None:
    made = one(Circuit(3).cx(0, 1, ctrl_state=0)).controlled([2], 1)
    assert (made.controls, made.ctrl_state) == ((2, 0), 1)


def test_on_moves_qubits() -> None:
    made = one(Circuit(3).cx(0, 1)).on(lambda q: q + 1)
    assert (made.controls, made.targets) == ((1,), (2,))


def test_substitute_replaces_leaves_and_matrices() -> None:
    p, q = Parameter(0.1), Parameter(0.2)
    made = one(Circuit(1).rx(2 * p, 0)).substitute(lambda leaf: q if leaf is p else leaf)
    assert Circuit(1).extend([made]) == Circuit(1).rx(2 * q, 0)
    u, v = Parameter(np.eye(2) + 0j), Parameter(np.eye(2) + 0j)
    swapped = one(Circuit(1).unitary(u, 0)).substitute(lambda leaf: v)
    assert swapped.payload.tensor is v


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("conjugated", [False, True])
def test_trainable_matrix_in_its_four_forms(conjugated: bool, transposed: bool) -> None:
    array = np.array([[1, 1j], [1j, 1]]) / np.sqrt(2) * np.exp(0.3j)
    matrix = TrainableMatrix(Tensor(array))
    matrix = matrix.conj() if conjugated else matrix
    matrix = matrix.T if transposed else matrix
    expected = array.conj() if conjugated else array
    np.testing.assert_array_equal(matrix.value().numpy(), expected.T if transposed else expected)
    assert matrix.conj().conj().T.T.conjugated == conjugated


def test_trainable_matrix_is_checked_when_it_is_read() -> None:
    u = Parameter(np.eye(2) + 0j)
    circuit = Circuit(1).unitary(u, 0)
    u.set_(2 * np.eye(2) + 0j)
    with pytest.raises(GateError, match=r"unitary needs a unitary matrix.*up to 3.0e\+00"):
        circuit.statevector(engine="reference")


# -- checks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("qubits", [(0, 1), [np.int64(0), 1], range(2), np.arange(2)])
def test_qubits_become_python_integers(qubits: Any) -> None:
    found = checked_qubits("x", qubits, 2)
    assert found == (0, 1)
    assert all(type(q) is int for q in found)


@pytest.mark.parametrize(
    "qubits", [(2,), (-1,), (0.0,), ("0",), (None,), (True,), (np.bool(1),), ([0],), (1 + 0j,)]
)
def test_other_qubits_are_refused(qubits: Any) -> None:
    with pytest.raises(QubitError, match="x needs integer qubits from 0 on, below 2, got"):
        checked_qubits("x", qubits, 2)


def test_repeated_qubits_are_refused() -> None:
    with pytest.raises(QubitError, match=r"x needs distinct qubits, got \(1, 1\)"):
        checked_qubits("x", (1, 1), 2)


@pytest.mark.parametrize(
    ("given", "bits"), [(None, 3), (0, 0), (2, 2), ("01", 1), ("10", 2), (np.int8(3), 3)]
)
def test_control_states(given: Any, bits: int) -> None:
    assert checked_ctrl_state("x", given, 2) == bits


@pytest.mark.parametrize("given", [4, -1, "0", "012", "1b", "", 1.0, True, [0, 1]])
def test_other_control_states_are_refused(given: Any) -> None:
    with pytest.raises(GateError, match="x needs a ctrl_state from 0 to 3 or 2 characters"):
        checked_ctrl_state("x", given, 2)


def test_counts() -> None:
    assert checked_count(np.int64(3), 1, "x needs a count", CircuitError) == 3
    assert checked_count(-3, None, "x needs a count", CircuitError) == -3
    for bad in (0, 1.0, "1", None, True):
        with pytest.raises(CircuitError, match="x needs a count from 1 on, got"):
            checked_count(bad, 1, "x needs a count", CircuitError)


@pytest.mark.parametrize(
    ("given", "result"),
    [(3, [3]), ("01", ["01"]), (None, [None]), ((1, 2), [1, 2]), (range(2), [0, 1]), ([], [])],
)
def test_one_or_several(given: Any, result: list[Any]) -> None:
    assert listed(given) == result


def test_what_has_no_axes_is_one() -> None:
    p = Parameter(0.1)
    assert listed(p)[0] is p
    assert listed(np.array(2)) == [np.array(2)]
