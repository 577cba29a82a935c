"""Numbers stay numbers; Tensors keep their identity and their gradients."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from qiskit.quantum_info import SparsePauliOp

from autodiff import Parameter, Tensor
from circuits.coefficients import Affine, as_coefficient, coefficient_value, number_text
from circuits.errors import ObservableError
from circuits.pauli import PauliSum, Z


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (2, 2.0),
        (True, 1.0),
        (Fraction(1, 4), 0.25),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3.0),
        (np.complex64(1j), 1j),
        (np.array(2.0), 2.0),
        (1 + 2j, 1 + 2j),
    ],
)
def test_numbers_become_python_numbers(given: object, wanted: complex) -> None:
    found = as_coefficient(given)
    assert found == wanted
    assert type(found) is type(wanted)


@pytest.mark.parametrize("given", ["1", None, [1.0], np.ones(2), np.array("x")])
def test_other_things_are_refused(given: object) -> None:
    with pytest.raises(ObservableError, match="a coefficient needs a number"):
        as_coefficient(given)


@pytest.mark.parametrize("data", [1j, 1, [1.0, 2.0], []])
def test_tensors_are_real_floats_of_one_element(data: object) -> None:
    with pytest.raises(ObservableError, match="float32 or float64 Tensor of one element"):
        as_coefficient(Tensor(data))


def test_arithmetic_is_that_of_the_values() -> None:
    x, y = Parameter(0.3, name="x"), Parameter([0.7], name="y")
    a = as_coefficient(x) * 2j + 0.5
    b = (1.5 + as_coefficient(y)) * (1 - 1j) + as_coefficient(x)
    p, q = 0.5 + 0.6j, (1.5 + 0.7) * (1 - 1j) + 0.3
    assert coefficient_value(a) == pytest.approx(p)
    assert coefficient_value(a + b) == pytest.approx(p + q)
    assert coefficient_value(a * b) == pytest.approx(p * q)
    assert coefficient_value(b.conjugate()) == pytest.approx(np.conj(q))


def test_a_tensor_stands_once_whatever_the_order() -> None:
    x, y = Parameter(0.3), Parameter(0.3)
    a, b = as_coefficient(x), as_coefficient(y)
    total = a + b + a * 2.0
    assert isinstance(total, Affine)
    assert [(t is x, factor) for t, factor in total.parts] == [(True, 3.0), (False, 1.0)]
    assert a + b == b + a
    assert hash(a + b) == hash(b + a)
    assert a != b
    assert a != 0.3


def test_tensors_that_cancel_leave_a_number() -> None:
    a = as_coefficient(Parameter(0.3)) + 0.5
    assert a + a * -1.0 == 0.0
    assert a * 0.0 == 0.0


def test_present_value_follows_the_parameter() -> None:
    x = Parameter(0.5)
    a = as_coefficient(x) * 2.0 + 1.0
    x.set_(1.5)
    assert coefficient_value(a) == 4.0


def test_pickle_keeps_tensor_and_factor() -> None:
    a = pickle.loads(pickle.dumps(as_coefficient(Parameter(0.5, name="x")) * 2.0))
    assert coefficient_value(a) == 1.0
    assert str(a) == "2.0 * x"


@pytest.mark.parametrize("value", [math.nan, math.inf, complex(0, math.nan), np.float32(-np.inf)])
def test_numbers_must_be_finite(value: complex) -> None:
    with pytest.raises(ObservableError, match="a coefficient needs a finite number, got"):
        as_coefficient(value)
    for make in (
        lambda: PauliSum({"ZZ": value}),
        lambda: value * Z(0),
        lambda: PauliSum.from_list([("ZZ", value)]),
        lambda: PauliSum.from_qiskit(SparsePauliOp("Z", [value])),
    ):
        # Qiskit multiplies by a phase, where NumPy warns
        with np.errstate(invalid="ignore"), pytest.raises(ObservableError, match="finite"):
            make()


@pytest.mark.parametrize(
    ("coefficient", "text"),
    [
        (as_coefficient(Parameter(0.5, name="x")) * 2.0 + 1.0, "(1.0 + 2.0 * x)"),
        (as_coefficient(Parameter(0.5)) * 1j, "1j * Parameter"),
        (as_coefficient(Tensor(0.5)), "Tensor"),
    ],
)
def test_text(coefficient: Affine, text: str) -> None:
    assert str(coefficient) == text


def test_number_text_is_real_where_the_number_is() -> None:
    assert number_text(complex(2.0, -0.0)) == "2.0"
    assert number_text(1 + 2j) == "(1+2j)"
