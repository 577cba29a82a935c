"""How Python and NumPy see a Tensor."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from autodiff import C128, F32, DTypeError, IterationError, ShapeError, Tensor

T = Tensor([1.0, 2.0])


def test_sequence() -> None:
    assert len(T) == 2
    assert [x.item() for x in T] == [1.0, 2.0]


@pytest.mark.parametrize("ask", [len, iter, list])
def test_tensor_without_axes_is_no_sequence(ask: object) -> None:
    with pytest.raises(IterationError, match="at least one axis"):
        ask(Tensor(1.0))
    assert not np.iterable(Tensor(1.0))


def test_numbers() -> None:
    assert (float(Tensor([1.5])), int(Tensor(2.9)), complex(Tensor(1j))) == (1.5, 2, 1j)
    assert bool(Tensor(1.0))
    assert not Tensor(0)
    assert operator.index(Tensor(3)) == 3
    assert [10, 11][Tensor(1)] == 11


@pytest.mark.parametrize("ask", [bool, float, int, complex])
def test_several_elements_are_no_number(ask: object) -> None:
    with pytest.raises(ShapeError, match="one element"):
        ask(T)


def test_float_is_no_index() -> None:
    with pytest.raises(DTypeError, match="an index needs an integer tensor, got Tensor of shape"):
        operator.index(Tensor(1.0))


def test_hash_is_that_of_the_object() -> None:
    assert len({T, T, Tensor([1.0, 2.0])}) == 2


def test_format() -> None:
    loss = Tensor(1.23456, requires_grad=True)
    assert f"{loss:.2f}" == "1.23"
    assert f"{T}" == str(T) == "Tensor([1., 2.], dtype=float64)"


def test_repr_says_what_matters() -> None:
    t = Tensor([1.0], dtype=F32, requires_grad=True, name="w")
    assert repr(t) == "Tensor([1.], dtype=float32, name='w', requires_grad=True)"


@pytest.mark.parametrize("ask", [bool, float, int, complex])
def test_number_of_several_elements_is_refused_in_its_own_words(ask: type) -> None:
    with pytest.raises(ShapeError, match=rf"^{ask.__name__}\(\) needs .*one element, got Tensor"):
        ask(T)


# -- NumPy -----------------------------------------------------------------------------------------


def test_asarray_is_the_read_only_value() -> None:
    assert np.shares_memory(np.asarray(T), T.numpy())
    assert not np.asarray(T).flags.writeable


def test_array_is_a_copy() -> None:
    copy = np.array(T)
    copy[0] = 9.0
    assert T.tolist() == [1.0, 2.0]
    assert np.asarray(T, dtype=np.float32).dtype == F32


def test_copy_that_is_not_allowed_is_refused() -> None:
    with pytest.raises(ValueError, match="copy"):
        np.asarray(T, dtype=np.float32, copy=False)


LEFT = (np.float64(2), np.float32(2), np.array(2.0), np.array([2.0, 2.0]))


@pytest.mark.parametrize("left", LEFT, ids=repr)
@pytest.mark.parametrize("op", [operator.mul, operator.add, operator.sub, operator.truediv])
def test_o29_numpy_on_the_left_gives_a_recorded_tensor(left: object, op: object) -> None:
    t = Tensor([1.0, 1.0], requires_grad=True)
    result = op(left, t)
    assert isinstance(result, Tensor)
    assert result.numpy().tolist() == op(np.array([2.0, 2.0]), np.ones(2)).tolist()
    result.sum().backward()
    slope = {operator.mul: 2.0, operator.add: 1.0, operator.sub: -1.0, operator.truediv: -2.0}
    assert t.grad.tolist() == [slope[op]] * 2


def test_array_at_tensor() -> None:
    t = Tensor([1.0, 1.0], requires_grad=True)
    y = np.array([[1.0, 2.0], [3.0, 4.0]]) @ t
    y.sum().backward()
    assert y.tolist() == [3.0, 7.0]
    assert t.grad.tolist() == [4.0, 6.0]


def test_numpy_function_dispatches_by_its_name() -> None:
    t = Tensor(0.0, requires_grad=True)
    y = np.sin(t)
    y.backward()
    assert isinstance(y, Tensor)
    assert t.grad.item() == 1.0


UNSUPPORTED = {
    "out": lambda: np.add(T, 1.0, out=np.zeros(2)),
    "where": lambda: np.add(T, 1.0, where=[True, False]),
    "reduce": lambda: np.add.reduce(T),
    "outer": lambda: np.multiply.outer(T, T),
    "no such op": lambda: np.spacing(T),
    "fmod": lambda: np.fmod(T, 2),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_the_table_cannot_do_is_refused_not_computed_without_history(name: str) -> None:
    with pytest.raises(DTypeError, match=r"plain call of a function of the op table.*t\.numpy\(\)"):
        UNSUPPORTED[name]()


def test_array_in_place_never_becomes_a_tensor() -> None:
    a = np.zeros(2)
    with pytest.raises(DTypeError, match=r"np\.add.*out="):
        a += T
    assert a.tolist() == [0.0, 0.0]


def test_label_names_the_tensor() -> None:
    assert Tensor(1j, name="z")._label() == f"Tensor 'z' of shape (), dtype {C128} on cpu"
