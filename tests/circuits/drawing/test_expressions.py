from __future__ import annotations

from collections.abc import Callable
from math import inf, nan, pi
from typing import Any

import numpy as np
import pytest

import autodiff as ad
from circuits import Circuit, Input, Parameter
from circuits.drawing.expressions import angle_text, leaf_names, number_text

A, B = Parameter(0.7, name="a"), Parameter(-0.4, name="b")
W, X = Parameter([0.2, 0.5, 0.9], name="w"), Input("x", 3)
VALUES = {"a": 0.7, "b": -0.4, "w": np.array([0.2, 0.5, 0.9]), "x": np.array([0.3, -0.6, 1.1])}

Expression = Callable[..., Any]
EXPRESSIONS: list[tuple[Expression, str]] = [
    (lambda m, a, b, w, x: a, "a"),
    (lambda m, a, b, w, x: -a, "-a"),
    (lambda m, a, b, w, x: w[2], "w[2]"),
    (lambda m, a, b, w, x: 2 * a - b / 2 + 0.25, "2*a - 0.5*b + 0.25"),
    (lambda m, a, b, w, x: pi * x[0] - pi / 2, "π*x[0] - π/2"),
    (lambda m, a, b, w, x: a - (b - x[1]) * 3, "a - 3*b + 3*x[1]"),
    (lambda m, a, b, w, x: a * b, "a*b"),
    (lambda m, a, b, w, x: -(a * b), "-a*b"),
    (lambda m, a, b, w, x: a - (b - a * b), "a - (b - a*b)"),
    (lambda m, a, b, w, x: a / (b * a), "a/(b*a)"),
    (lambda m, a, b, w, x: (pi - x[0]) * (pi - x[1]), "(π - x[0])*(π - x[1])"),
    (lambda m, a, b, w, x: m.sin(a) * b + w[0], "sin(a)*b + w[0]"),
    (lambda m, a, b, w, x: (2 * w)[1] * a, "(2*w)[1]*a"),
    (lambda m, a, b, w, x: m.tanh(w[::-1] * a)[0], "tanh(w[::-1]*a)[0]"),
]


def text_of(angle: Any) -> str:
    """The text of the only angle of a circuit."""
    circuit = Circuit(1).rx(angle, 0)
    return angle_text(circuit.instructions[0].angles[0], leaf_names(circuit))


@pytest.mark.parametrize(("expression", "text"), EXPRESSIONS, ids=[t for _, t in EXPRESSIONS])
def test_text_of_an_expression_says_the_same_in_python(expression: Expression, text: str) -> None:
    assert text_of(expression(ad, A, B, W, X)) == text
    names = VALUES | {"π": pi, "sin": np.sin, "tanh": np.tanh}
    value = eval(text, {"__builtins__": {}}, names)  # our own list above
    np.testing.assert_allclose(value, expression(np, *VALUES.values()), rtol=1e-12)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (0.1, "0.1"),
        (1 / 3, "0.3333"),
        (-1234567.0, "-1.235e+06"),
        (1e-12, "1e-12"),
        (pi, "π"),
        (-pi, "-π"),
        (2 * pi, "2π"),
        (pi / 16, "π/16"),
        (-7 * pi / 8, "-7π/8"),
        (pi / 2 + 1e-6, "1.571"),
        (nan, "nan"),
        (-inf, "-inf"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert number_text(value) == text


def test_unnamed_parameters_have_the_names_of_the_circuit() -> None:
    first, second = Parameter(0.1), Parameter([0.2])
    circuit = Circuit(1).rx(first, 0).ry(2 * second[0], 0)
    names = leaf_names(circuit)
    assert [angle_text(i.angles[0], names) for i in circuit] == ["p0", "2*p1"]


def test_element_of_a_matrix_has_both_indices() -> None:
    assert text_of(Parameter(np.ones((2, 3)), name="M")[1, 2]) == "M[1, 2]"


def test_long_expression_becomes_a_function_of_its_leaves() -> None:
    assert text_of(ad.sin(A) * ad.cos(B) * ad.tanh(W[0]) * ad.exp(X[1])) == "f(a, b, w, x)"


def test_inverse_changes_signs() -> None:
    circuit = Circuit(1).rx(A - 0.5, 0).ry(A * B, 0).inverse()
    names = leaf_names(circuit)
    assert [angle_text(i.angles[0], names) for i in circuit] == ["-a*b", "-a + 0.5"]
