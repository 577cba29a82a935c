"""Arithmetic, powers and exponentials at the points where their formulas are delicate."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import DTypeError, ShapeError, Tensor, grad, gradcheck
from autodiff.ops.elementwise import add, divide, exp, hypot, log, power, sqrt, square
from autodiff.table import OPS


def derivatives(y: Tensor, x: Tensor, orders: int) -> list[list[float]]:
    """Derivatives of the elements of y, each of its own element of x."""
    found = []
    for _ in range(orders):
        y = grad(y.sum(), x, create_graph=True)
        found.append(y.tolist())
    return found


def test_product_with_itself_is_pulled_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made, forward = [], OPS["multiply"].forward
    monkeypatch.setattr(OPS["multiply"], "forward", lambda *xs: made.append(xs) or forward(*xs))
    x = Tensor([2.0, -3.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, -6.0]
    assert len(made) == 2
    assert gradcheck(lambda z: z * z, [1 + 2j, -0.5j], order=2)


@pytest.mark.parametrize("exponent", [2, 2.0, np.float64(2)])
def test_square_has_finite_derivatives_at_zero(exponent: float) -> None:
    x = Tensor([0.0, 3.0], requires_grad=True)
    assert derivatives(x**exponent, x, 2) == [[0.0, 6.0], [2.0, 2.0]]


def test_power_zero_and_one_at_zero() -> None:
    x = Tensor([0.0, 3.0], requires_grad=True)
    assert (x**0).tolist() == [1.0, 1.0]
    assert grad((x**0).sum(), x).tolist() == [0.0, 0.0]
    assert grad((x**1).sum(), x).tolist() == [1.0, 1.0]


def test_third_power_by_each_order() -> None:
    x = Tensor([0.0, -2.0], requires_grad=True)
    assert derivatives(x**3, x, 3) == [[0.0, 12.0], [0.0, -12.0], [6.0, 6.0]]


def test_exponent_has_a_gradient_only_when_asked() -> None:
    x, y = Tensor(-2.0, requires_grad=True), Tensor(3.0)
    (x**y).backward()  # log(-2) would warn
    assert x.grad is not None
    assert x.grad.item() == 12.0
    assert y.grad is None


def test_exponent_over_a_zero_base() -> None:
    y = Tensor([0.0, 0.5, 2.0], requires_grad=True)
    assert grad((Tensor([0.0, 0.0, 0.0]) ** y).sum(), y).tolist() == [0.0, 0.0, 0.0]


def test_both_operands_at_zero() -> None:
    x, y = Tensor(0.0, requires_grad=True), Tensor(0.0, requires_grad=True)
    assert [g.item() for g in grad(x**y, (x, y))] == [0.0, 0.0]


def test_mixed_derivative_where_the_exponent_is_zero() -> None:
    x, y = Tensor(2.0, requires_grad=True), Tensor(0.0, requires_grad=True)
    by_x = grad(x**y, x, create_graph=True)
    assert grad(by_x, y).item() == 0.5  # x**(y-1) (1 + y log x)


def test_number_to_a_tensor() -> None:
    assert gradcheck(lambda y: 2.0**y, [0.5, -1.5], order=2)
    assert gradcheck(lambda y: (1 + 2j) ** y, np.array([0.5 + 1j]), order=2)


def test_complex_base_with_an_integer_exponent() -> None:
    z = Tensor(0j, requires_grad=True)
    assert grad((z**2).real, z).item() == 0
    assert gradcheck(lambda z: z**3, np.array([-1 + 0.5j]), order=2)


def test_square_is_what_power_two_gives() -> None:
    value = np.array([1.5, -2.0, 1e100])
    assert power(value, 2).tolist() == square(value).tolist() == (value**2).tolist()
    assert power([3, 4], 2).dtype == np.int64


def test_root_at_zero_is_steep() -> None:
    x = Tensor(0.0, requires_grad=True)
    assert grad(sqrt(x), x).item() == np.inf


def test_hypot_does_not_square() -> None:
    x, y = Tensor([3e-200, 3e200], requires_grad=True), Tensor([4e-200, 4e200], requires_grad=True)
    h = hypot(x, y)
    np.testing.assert_allclose(h.numpy(), [5e-200, 5e200], rtol=1e-14)
    by_x, by_y = grad(h.sum(), (x, y))
    np.testing.assert_allclose(by_x.numpy(), [0.6, 0.6], rtol=1e-14)
    np.testing.assert_allclose(by_y.numpy(), [0.8, 0.8], rtol=1e-14)


def test_hypot_at_the_origin() -> None:
    x = Tensor(0.0, requires_grad=True)
    assert grad(hypot(x, 0.0), x).item() == 0.0


def test_exp_keeps_its_higher_derivatives() -> None:
    x = Tensor([0.0, 1.0], requires_grad=True)
    wanted = np.exp([0.0, 1.0]).tolist()
    assert derivatives(exp(x), x, 4) == [wanted] * 4


def test_log_of_a_complex_number_takes_the_principal_branch() -> None:
    assert log(Tensor(-1 + 0j)).item() == 1j * np.pi


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"shapes that broadcast, got \(2,\), \(3,\)"):
        add(Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0]))
    with pytest.raises(ShapeError, match=r"shapes that broadcast, got \(2,\), \(3,\)"):
        power(Tensor([1.0, 2.0]), Tensor([1.0, 2.0, 3.0]))


def test_dtypes_that_numpy_refuses_are_refused() -> None:
    with pytest.raises(DTypeError, match=r"subtract needs operands .* got dtypes bool, bool"):
        Tensor([True]) - Tensor([False])
    with pytest.raises(DTypeError, match=r"power needs operands .* are not allowed\. Convert"):
        Tensor([2]) ** Tensor([-1])


def test_refused_arguments_keep_their_own_message() -> None:
    with pytest.raises(DTypeError, match="an op needs Tensors, arrays or numbers, got str"):
        add(Tensor(1.0), "two")


def test_division_of_integers() -> None:
    assert divide(3, 2).dtype == np.float64
