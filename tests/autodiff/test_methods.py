"""Operators and methods: what the op table gives to Tensor."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from autodiff import F32, DTypeError, GradientError, Parameter, Tensor, no_grad
from autodiff.methods import COMPARISONS, OPERATORS

A, B = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[2.0, 2.0], [0.5, 4.0]])


@pytest.mark.parametrize("name", [*OPERATORS, *COMPARISONS])
def test_operator_computes_what_numpy_computes(name: str) -> None:
    op = getattr(operator, name)
    expected = op(A, B)
    for result in (op(Tensor(A), Tensor(B)), op(Tensor(A), B), op(A, Tensor(B))):
        assert isinstance(result, Tensor)
        assert np.array_equal(result.numpy(), expected)


@pytest.mark.parametrize("name", [n for n in (*OPERATORS, *COMPARISONS) if n != "matmul"])
def test_operator_takes_numbers_on_both_sides(name: str) -> None:
    op = getattr(operator, name)
    assert np.array_equal(op(Tensor(A), 2.0).numpy(), op(A, 2.0))
    assert np.array_equal(op(2.0, Tensor(A)).numpy(), op(2.0, A))


def test_unary_operators() -> None:
    t = Tensor([-1.0, 2.0])
    assert (-t).tolist() == [1.0, -2.0]
    assert abs(t).tolist() == [1.0, 2.0]
    assert +t is t


class Foreign:
    """Something that knows what to do with a Tensor, such as an observable."""

    def answer(self, other: object) -> str:
        return "foreign"

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rmatmul__ = __rpow__ = answer
    __lt__ = __le__ = __gt__ = __ge__ = answer


@pytest.mark.parametrize("name", [*OPERATORS, *[n for n in COMPARISONS if n not in ("eq", "ne")]])
def test_other_operand_is_asked_for_what_a_tensor_does_not_know(name: str) -> None:
    assert getattr(operator, name)(Tensor(1.0), Foreign()) == "foreign"


@pytest.mark.parametrize("name", OPERATORS)
def test_nonsense_is_a_type_error(name: str) -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        getattr(operator, name)(Tensor(1.0), None)
    with pytest.raises(TypeError, match="unsupported operand"):
        getattr(operator, name)(None, Tensor(1.0))


def test_tensor_equals_nothing_else() -> None:
    t = Tensor(1.0)
    assert (t == None) is False  # noqa: E711 - what is tested
    assert (t != "one") is True


def test_properties() -> None:
    z = Tensor([[1 + 2j, 3.0]], requires_grad=True)
    assert z.real.tolist() == [[1.0, 3.0]]
    assert z.imag.tolist() == [[2.0, 0.0]]
    assert z.T.shape == (2, 1)
    (z.real * 2 + z.imag * 3).sum().backward()
    assert z.grad.tolist() == [[2 + 3j, 2 + 3j]]


def test_index_selects() -> None:
    assert Tensor(A)[1, 0].item() == 3.0


@pytest.mark.parametrize("name", OPERATORS)
def test_update_in_place_under_no_grad(name: str) -> None:
    in_place = getattr(operator, f"i{name}")
    p = Tensor(A, requires_grad=True)
    with no_grad():
        result = in_place(p, B)
    assert result is p
    assert p.requires_grad
    assert np.array_equal(p.numpy(), getattr(operator, name)(A, B))


def test_update_in_place_keeps_the_dtype() -> None:
    p = Tensor([1.0], dtype=F32, requires_grad=True)
    with no_grad():
        p += np.float64(1.0)
    assert (p.dtype, p.tolist()) == (F32, [2.0])


def test_in_place_operator_of_anything_else_makes_a_new_tensor() -> None:
    p = Tensor(1.0, requires_grad=True)
    recorded = p
    recorded *= 2
    assert p.item() == 1.0
    assert not recorded.is_leaf
    total = first = Tensor(0.0)
    total += p
    assert total.requires_grad
    assert first.item() == 0.0


@pytest.mark.parametrize("name", OPERATORS)
def test_update_of_a_parameter_in_grad_mode_is_refused(name: str) -> None:
    p = Parameter(A)
    with pytest.raises(GradientError, match="needs no_grad, got grad mode and Parameter"):
        getattr(operator, f"i{name}")(p, B)
    assert np.array_equal(p.numpy(), A)


def test_update_in_place_with_a_foreign_operand_is_a_type_error() -> None:
    p = Tensor(1.0, requires_grad=True)
    with no_grad(), pytest.raises(TypeError, match="unsupported operand"):
        p += None


def test_backward_forms() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = x * x
    g = Tensor([1.0, 10.0])
    y.backward_with_grad_retain_graph(g)
    assert x.grad.tolist() == [2.0, 40.0]
    y.backward(g, retain_graph=True)
    assert x.grad.tolist() == [4.0, 80.0]
    y.backward_with_grad(g)
    assert x.grad.tolist() == [6.0, 120.0]


def test_elements_are_not_assigned() -> None:
    t = Tensor([1.0, 2.0])
    with pytest.raises(DTypeError, match=r"t\[i\] = v needs an array.*set_.*storage_mut"):
        t[0] = 1.0
    t[0].set_(5.0)
    assert t.tolist() == [5.0, 2.0]
