"""What two circuits must share to be equal."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from random_circuits import random_case

import autodiff as ad
from autodiff import Parameter, Tensor
from circuits import Circuit, Input
from circuits.description import Packed, attribute, attribute_value, describe, number, real
from circuits.errors import ConversionError

A, B, W = Parameter(0.1, name="a"), Parameter(0.2, name="b"), Parameter([0.1, 0.2])
MATRIX = Parameter(np.eye(2, dtype=complex))
TWIN = pickle.loads(pickle.dumps(A))


def base() -> Circuit:
    circuit = Circuit(3, name="one").register(A, B, W).rx(A, 0).cx(0, 1, ctrl_state=0)
    return circuit.rz(2 * A + B, 2).ry(ad.sin(A) * Input("x", 2)[0], 1).unitary(np.eye(2), 0)


EQUAL: list[tuple[Callable[[Circuit], Any], Callable[[Circuit], Any]]] = [
    (lambda c: c, lambda c: c),
    (lambda c: c.rx(A + B, 0), lambda c: c.rx(B + A, 0)),
    (lambda c: c.rx(2 * A, 0), lambda c: c.rx(A + A, 0)),
    (lambda c: c.rx(np.nan, 0), lambda c: c.rx(float("nan"), 0)),
    (lambda c: c.rx(ad.sin(W)[1], 0), lambda c: c.rx(ad.sin(W)[1], 0)),
    (lambda c: c.cnot(0, 1), lambda c: c.cx(0, 1)),
    (lambda c: c.unitary(MATRIX, 0), lambda c: c.unitary(MATRIX.clone(), 0)),
    (
        lambda c: c.unitary(Tensor(np.eye(2, dtype=complex)), 0),
        lambda c: c.unitary(Tensor(np.eye(2, dtype=complex)), 0),
    ),
    (lambda c: c.measure([0, 1], [1, 0]), lambda c: c.measure([1, 0], [0, 1])),
]
DIFFERENT: list[tuple[Callable[[Circuit], Any], Callable[[Circuit], Any]]] = [
    (lambda c: c, lambda c: c.x(0)),
    (lambda c: c.x(0), lambda c: c.x(1)),
    (lambda c: c.x(0).y(1), lambda c: c.y(1).x(0)),
    (lambda c: c.cx(0, 1), lambda c: c.cx(1, 0)),
    (lambda c: c.cx(0, 1), lambda c: c.cx(0, 1, ctrl_state=0)),
    (lambda c: c.cx(0, 1), lambda c: c.append("x", 1, controls=0)),
    (lambda c: c.p(0.1, 0), lambda c: c.u1(0.1, 0)),
    (lambda c: c.rx(0.1, 0), lambda c: c.rx(0.2, 0)),
    (lambda c: c.rx(0.1, 0), lambda c: c.rx(A, 0)),
    (lambda c: c.rx(A, 0), lambda c: c.rx(B, 0)),
    (lambda c: c.rx(A, 0), lambda c: c.rx(2 * A, 0)),
    (lambda c: c.rx(A, 0), lambda c: c.rx(A + 0.1, 0)),
    (lambda c: c.rx(W[0], 0), lambda c: c.rx(W[1], 0)),
    (lambda c: c.rx(A * B, 0), lambda c: c.rx(A / B, 0)),
    (lambda c: c.rx(A * B, 0), lambda c: c.rx(A * B + 1, 0)),
    (lambda c: c.rx(ad.sin(W)[0], 0), lambda c: c.rx(ad.sin(W)[1], 0)),
    (lambda c: c.rx((W * np.ones(2)).sum(), 0), lambda c: c.rx((W * np.zeros(2)).sum(), 0)),
    (lambda c: c.rx(Input("y", 2)[0], 0), lambda c: c.rx(Input("y", 3)[0], 0)),
    (lambda c: c.rx(Input("y", 2)[0], 0), lambda c: c.rx(Input("z", 2)[0], 0)),
    (lambda c: c.diagonal([1, -1], 0), lambda c: c.diagonal([-1, 1], 0)),
    (lambda c: c.pauli("XY", [0, 1]), lambda c: c.pauli("YX", [0, 1])),
    (lambda c: c.unitary(MATRIX, 0), lambda c: c.unitary(MATRIX.deep_clone(), 0)),
    (lambda c: c.unitary(MATRIX, 0), lambda c: c.unitary(np.eye(2), 0)),
    (lambda c: c.register(Parameter(0.0)), lambda c: c),
    (lambda c: c.measure(0, 0), lambda c: c),
    (lambda c: c.measure(0, 0), lambda c: c.measure(0, 1)),
]


@pytest.mark.parametrize(("left", "right"), EQUAL)
def test_equal(left: Callable[[Circuit], Any], right: Callable[[Circuit], Any]) -> None:
    assert left(base()) == right(base())


@pytest.mark.parametrize(("left", "right"), DIFFERENT)
def test_different(left: Callable[[Circuit], Any], right: Callable[[Circuit], Any]) -> None:
    assert left(base()) != right(base())


def test_name_and_values_are_no_part_of_it() -> None:
    other = base()
    other.name = "two"
    copied = pickle.loads(pickle.dumps(base()))
    copied.parameters()[0].set_(9.0)
    assert base() == other == copied


def test_parameters_are_equal_by_uuid() -> None:
    assert Circuit(1).rx(A, 0) == Circuit(1).rx(TWIN, 0)
    assert Circuit(1).rx(A, 0) != Circuit(1).rx(Parameter(0.1, name="a"), 0)


def test_width_counts() -> None:
    assert Circuit(1) != Circuit(2)


def test_other_things_are_not_equal() -> None:
    assert Circuit(1) != "Circuit(1)"
    assert Circuit(1) != None  # noqa: E711 - the comparison is what is tested


def test_a_circuit_changes_and_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Circuit(1))


@pytest.mark.parametrize("seed", range(10))
def test_random_circuits_equal_themselves_only(seed: int) -> None:
    circuit = random_case(seed).circuit
    assert circuit == circuit.copy()
    assert circuit != circuit.copy().global_phase(0.1)
    assert describe(circuit) == describe(circuit.copy())


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(()),
        np.array([[1.0, np.nan]], np.float32),
        np.arange(6).reshape(2, 3).T,
        np.array([1j, 2]),
        np.zeros((0, 2)),
    ],
)
def test_arrays_are_packed_by_value(array: Any) -> None:
    packed = Packed.of(array)
    np.testing.assert_array_equal(packed.array(), array)
    assert packed.array().dtype == array.dtype
    assert packed == Packed.of(array.copy())
    assert packed != Packed.of(array.astype(np.complex64))
    assert len({packed, Packed.of(array)}) == 1


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        "ij,j->i",
        0.1,
        float("inf"),
        (1, (2.5, None)),
        slice(None, 3),
        ...,
        np.dtype(np.float32),
    ],
)
def test_attributes_come_back(value: Any) -> None:
    result = attribute_value(attribute(value))
    assert result == value
    assert type(result) is type(value)


@pytest.mark.parametrize(
    "data", [{}, [], {"float": 1.0, "x": 1}, {"dtype": "object"}, {"slice": [1]}, 0.5, {"eval": 1}]
)
def test_other_attributes_are_refused(data: Any) -> None:
    with pytest.raises(ConversionError, match="need an op's attribute"):
        attribute_value(data)


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-320, 0.1, float("inf"), float("-inf")])
def test_numbers_come_back(value: float) -> None:
    assert real(number(value)) == value


@pytest.mark.parametrize("data", [None, True, "1", "NaN", [1], {}])
def test_other_numbers_are_refused(data: Any) -> None:
    with pytest.raises(ConversionError, match="need a number"):
        real(data)
