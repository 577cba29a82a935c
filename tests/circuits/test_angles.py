"""What an angle may be, what it stands for, and when it is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import qiskit.circuit

import autodiff as ad
from autodiff import Parameter, Tensor, no_grad
from circuits import AngleError, Circuit, Input, Z
from circuits.angles import Angle, capture_angle
from circuits.errors import BindingError

A, B = 0.3, 0.7


def value(circuit: Circuit, **options: Any) -> Tensor:
    return circuit.expectation(Z(0), engine="reference", **options)


def make() -> tuple[Parameter, Parameter]:
    return Parameter(A, name="a"), Parameter(B, name="b")


# -- expressions -----------------------------------------------------------------------------------

# Expression, its value and its derivatives by a and b.
EXPRESSIONS: list[tuple[Callable[..., Any], float, float, float]] = [
    (lambda a, b: a, A, 1, 0),
    (lambda a, b: 2 * a + b, 2 * A + B, 2, 1),
    (lambda a, b: b - a / 4 + 1, B - A / 4 + 1, -0.25, 1),
    (lambda a, b: -(a + 0.5) * 3, -(A + 0.5) * 3, -3, 0),
    (lambda a, b: a - a + b, B, 0, 1),
    (lambda a, b: np.float64(2) * a + np.array(0.5), 2 * A + 0.5, 2, 0),
    (lambda a, b: a * b, A * B, B, A),
    (lambda a, b: ad.sin(a) / b, np.sin(A) / B, np.cos(A) / B, -np.sin(A) / B**2),
    (lambda a, b: (a * np.array([1.0, 2.0]))[1] + b, 2 * A + B, 2, 1),
    (lambda a, b: ad.abs(ad.exp(1j * a)) * b, B, 0, 1),
    (lambda a, b: ad.maximum(a, b), B, 0, 1),
]


@pytest.mark.parametrize(("make_angle", "angle", "by_a", "by_b"), EXPRESSIONS)
def test_expression_is_evaluated_and_trains_its_parameters(
    make_angle: Callable[..., Any], angle: float, by_a: float, by_b: float
) -> None:
    a, b = make()
    e = value(Circuit(1).register(a, b).rx(make_angle(a, b), 0))
    e.backward()
    assert e.item() == pytest.approx(np.cos(angle), abs=1e-14)
    for p, factor in ((a, by_a), (b, by_b)):
        got = 0.0 if p.grad is None else p.grad.item()
        assert got == pytest.approx(-np.sin(angle) * factor, abs=1e-14)


@pytest.mark.parametrize(("make_angle", "angle"), [(row[0], row[1]) for row in EXPRESSIONS[:6]])
def test_affine_expressions_need_no_program(make_angle: Callable[..., Any], angle: float) -> None:
    captured = capture_angle(make_angle(*make()), "rx")
    assert isinstance(captured, Angle)
    assert captured.program is None
    total = captured.offset
    for (leaf, element), c in zip(captured.atoms, captured.coefficients, strict=True):
        total += c * leaf.numpy().ravel()[element]
    assert total == pytest.approx(angle)


@pytest.mark.parametrize("pick", [lambda w: w[3], lambda w: w[-2], lambda w: w[3:4]])
def test_element_of_a_vector_is_affine(pick: Callable[[Any], Any]) -> None:
    w = Parameter([0.1, 0.2, 0.3, 0.4, 0.5])
    captured = capture_angle(pick(w), "rx")
    assert isinstance(captured, Angle)
    assert [(leaf is w, element) for leaf, element in captured.atoms] == [(True, 3)]
    value(Circuit(1).rx(pick(w), 0)).backward()
    assert w.grad is not None
    np.testing.assert_allclose(w.grad.numpy(), [0, 0, 0, -np.sin(0.4), 0], rtol=0, atol=1e-15)


def test_element_of_a_matrix() -> None:
    w = Parameter(np.arange(6.0).reshape(2, 3))
    value(Circuit(1).ry(w[1, 0], 0)).backward()
    assert w.grad is not None
    np.testing.assert_allclose(w.grad.numpy(), [[0, 0, 0], [-np.sin(3.0), 0, 0]], atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parameter_of_shape_one_gets_a_gradient_of_its_shape_and_dtype(dtype: Any) -> None:
    p = Parameter(np.array([0.4], dtype))
    value(Circuit(1).rx(p, 0).rx(2 * p, 0)).backward()
    assert p.grad is not None
    assert (p.grad.shape, p.grad.dtype) == ((1,), dtype)
    assert p.grad.numpy() == pytest.approx(-3 * np.sin(1.2), abs=1e-6)


def test_shared_parameters_add_up() -> None:
    a, _ = make()
    value(Circuit(1).rx(a, 0).rx(a, 0).rx(3 * a, 0)).backward()
    assert a.grad is not None
    assert a.grad.item() == pytest.approx(-5 * np.sin(5 * A))


@pytest.mark.parametrize("number", [0.5, 1, np.float32(0.5), np.int64(2), np.array(0.5), True])
def test_real_numbers_are_fixed(number: Any) -> None:
    circuit = Circuit(1).rx(number, 0)
    assert circuit.parameters() == []
    assert value(circuit).item() == pytest.approx(np.cos(float(number)))


def test_nan_gives_nan() -> None:
    assert np.isnan(value(Circuit(1).rx(np.nan, 0)).item())
    assert np.isnan(value(Circuit(1).rx(Parameter(np.nan), 0)).item())


# -- what is refused -------------------------------------------------------------------------------

MYSTERY = ad.custom_op("mystery", lambda xp, x: x * x, lambda gs, outs, ins: 2 * gs[0] * ins[0])


def under_no_grad() -> Tensor:
    with no_grad():
        return 2 * Parameter(A)


def freed() -> Tensor:
    used = 2 * Parameter(A)
    (used * used).backward()
    return used


def without_recording() -> Tensor:
    p = Parameter(A)
    p.requires_grad_(False)
    return 2 * p


REFUSED_TENSORS: list[Callable[[], Tensor]] = [
    under_no_grad,
    freed,
    without_recording,
    lambda: (2 * Parameter(A)).detach(),
    lambda: Tensor(A),
    lambda: Tensor(A, requires_grad=True) * 2,
    lambda: ad.where(Parameter(A) > 0, Parameter(A), 0.0),
]
AROUND: list[Callable[[Any], Any]] = [
    lambda t: t,
    lambda t: 2 * t,
    lambda t: Parameter(B) * t,
    lambda t: Input("x", 2)[0] * t,
    lambda t: ad.sin(t) + Input("x", 2)[1],
]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("tensor", REFUSED_TENSORS)
def test_tensor_whose_origin_is_unknown_is_never_baked_in(
    tensor: Callable[[], Tensor], around: Callable[[Any], Any]
) -> None:
    circuit = Circuit(1).h(0)
    with pytest.raises(AngleError, match=r"rx on qubits \(0,\) needs an expression of Parameters"):
        circuit.rx(around(tensor()), 0)
    assert circuit == Circuit(1).h(0)
    assert circuit.parameters() == []


def test_the_refusal_says_what_to_do() -> None:
    features = Tensor(A, name="f")
    with pytest.raises(AngleError, match=r"Pass float\(x\) .* or declare Input\('f', 1\)"):
        Circuit(1).rx(features, 0)


@pytest.mark.parametrize(
    ("angle", "match"),
    [
        (lambda: Parameter(1j), "needs float32 or float64 leaves"),
        (lambda: (Parameter(1j) * 2).real, "needs float32 or float64 leaves"),
        (lambda: ad.abs(Parameter(1j)) * Input("x", 1)[0], "needs float32 or float64 leaves"),
        (lambda: 1j * Parameter(A), "needs a real expression"),
        (lambda: Parameter([0.1, 0.2]), r"needs one element, got .*shape \(2,\)"),
        (lambda: Input("x", 2), r"needs one element, got Input 'x'.* Index it: x\[0\]"),
        (lambda: qiskit.circuit.Parameter("t"), r"or use from_qiskit"),
        (lambda: MYSTERY(Parameter(A)), "evaluated per sample needs .* got 'mystery'"),
        (lambda: "0.5", "needs a real number, a Parameter.*got str"),
        (lambda: 10**400, "needs a finite number, got int 1000"),
        (lambda: float("inf"), "needs a finite number, got float inf"),
        (lambda: np.float32(-np.inf), "needs a finite number, got float32"),
        (lambda: None, "needs a real number, a Parameter.*got NoneType"),
        (lambda: 1j, "needs a real number, a Parameter.*got complex"),
        (lambda: [0.5], "needs a real number, a Parameter.*got list"),
        (lambda: np.array([0.5]), "got ndarray .* or make it a Parameter: Parameter"),
    ],
)
def test_other_angles_are_refused(angle: Callable[[], Any], match: str) -> None:
    circuit = Circuit(1).h(0)
    with pytest.raises(AngleError, match=match):
        circuit.rx(angle(), 0)
    assert circuit == Circuit(1).h(0)


# -- when it is evaluated --------------------------------------------------------------------------


@pytest.mark.parametrize("expression", [lambda a, b: 2 * a + b, lambda a, b: ad.sin(a) * b])
def test_captured_expression_outlives_backward_and_follows_values(
    expression: Callable[..., Any],
) -> None:
    a, b = make()
    angle = expression(a, b)
    circuit = Circuit(1).rx(angle, 0)
    (angle * angle).backward()
    value(circuit).backward()
    with no_grad():
        assert value(circuit).item() == pytest.approx(np.cos(expression(A, B)))
    a.set_(1.1)
    del angle
    assert value(circuit).item() == pytest.approx(np.cos(expression(1.1, B)))


def test_constant_of_an_expression_is_copied() -> None:
    a, data = Parameter(A), np.array([1.0, 2.0])
    circuit = Circuit(1).rx((a * data)[1], 0)
    data[:] = 100
    assert value(circuit).item() == pytest.approx(np.cos(2 * A))


def test_expression_made_before_a_change_has_the_new_value() -> None:
    a, _ = make()
    angle = 2 * a
    a.set_(0.9)
    assert value(Circuit(1).rx(angle, 0)).item() == pytest.approx(np.cos(1.8))


def test_append_under_no_grad_records_the_parameter() -> None:
    a, _ = make()
    with no_grad():
        circuit = Circuit(1).rx(a, 0)
    value(circuit).backward()
    assert a.grad is not None


def test_handle_of_a_shared_tensor_is_its_parameter() -> None:
    t = Tensor(A)
    p = Parameter(t, name="a")
    circuit = Circuit(1).rx(t, 0).rx(2 * t, 0).rx(p.clone(), 0)
    assert circuit.parameter_names() == ["a"]
    value(circuit).backward()
    assert p.grad is not None
    assert p.grad.item() == pytest.approx(-4 * np.sin(4 * A))


# -- inputs ----------------------------------------------------------------------------------------


def test_input_describes_itself() -> None:
    x = Input("x", 3, dtype=np.float32)
    assert (x.shape, x.dtype, x.name) == ((3,), np.float32, "x")
    assert isinstance(x.deep_clone(), Input)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("", 1), "needs a name"),
        ((3, 1), "needs a name"),
        (("x", 0), "size of at least 1"),
        (("x", 1.5), "size of at least 1"),
        (("x", True), "size of at least 1"),
        (("x", 1, complex), "float32 or float64"),
        (("x", 1, int), "float32 or float64"),
    ],
)
def test_bad_inputs_are_refused(arguments: tuple[Any, ...], match: str) -> None:
    with pytest.raises(BindingError, match=match):
        Input(*arguments)


PER_SAMPLE: list[Callable[..., Any]] = [
    lambda m, x, w: (x[0] * w)[2],
    lambda m, x, w: (w * x[1])[0] + x[0],
    lambda m, x, w: (x * w).sum(),
    lambda m, x, w: (x.reshape(3, 1) * w).sum(axis=0)[1],
    lambda m, x, w: m.exp(x).max() * w[0],
    lambda m, x, w: x[1:].sum() / (1 + w[2] * w[2]),
    lambda m, x, w: (x[:, None] * w[None, :]).sum(axis=-1)[2],
]


@pytest.mark.parametrize("batch", [None, 1, 3])
@pytest.mark.parametrize("expression", PER_SAMPLE)
def test_expression_is_evaluated_as_if_per_sample(
    expression: Callable[..., Any], batch: int | None
) -> None:
    w, x = Parameter([0.3, -0.4, 0.9]), Input("x", 3)
    circuit = Circuit(1).rx(expression(ad, x, w), 0)
    rng = np.random.default_rng(0)
    data = Tensor(rng.normal(size=(3,) if batch is None else (batch, 3)), requires_grad=True)
    e = value(circuit, inputs={"x": data})
    rows = np.atleast_2d(data.numpy())
    expected = [np.cos(expression(np, row, w.numpy())) for row in rows]
    np.testing.assert_allclose(e.numpy(), np.reshape(expected, e.shape), rtol=0, atol=1e-14)

    e.sum().backward()
    by_sample = [ad.Tensor(row, requires_grad=True) for row in rows]
    other = Parameter(w.numpy())
    for row in by_sample:
        ad.cos(expression(ad, row, other)).backward()
    assert w.grad is not None
    assert data.grad is not None
    assert other.grad is not None
    np.testing.assert_allclose(w.grad.numpy(), other.grad.numpy(), rtol=0, atol=1e-13)
    rows_grad = np.reshape([row.grad.numpy() for row in by_sample], data.shape)
    np.testing.assert_allclose(data.grad.numpy(), rows_grad, rtol=0, atol=1e-13)
