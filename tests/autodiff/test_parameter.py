"""Parameter: a leaf that optimizers update."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from autodiff import C64, C128, F32, F64, Parameter, ParameterError, Tensor, no_grad
from autodiff.node import Kind
from autodiff.program import placeholder

BAD = {
    "integers": ([1, 2], None),
    "float16": (np.float16(1), None),
    "bool": (True, None),
    "object": (np.array([None]), None),
    "text": ("one", None),
    "nothing": (None, None),
    "ragged": ([[1.0], [1.0, 2.0]], None),
    "too large": (10**400, F64),
    "complex to real": (np.array([1j]), F64),
    "unknown dtype": (1.0, "nonsense"),
    "integer dtype": (1.0, int),
    "result": (Tensor(1.0, requires_grad=True) * 2, None),
    "integer tensor": (Tensor(1), None),
    "other dtype than the tensor": (Tensor(1.0), F32),
    "unknown dtype of a tensor": (Tensor(1.0), "nonsense"),
    "input": (placeholder((), F64), None),
    "computed from an input": (placeholder((), F64) * 2, None),
}


@pytest.mark.parametrize("name", BAD)
def test_invalid_input_raises(name: str) -> None:
    with pytest.raises(ParameterError):
        Parameter(*BAD[name])
    assert issubclass(ParameterError, ValueError)


@pytest.mark.parametrize("name", BAD)
def test_try_new_never_raises_for_invalid_input(name: str) -> None:
    parameter, error = Parameter.try_new(*BAD[name])
    assert parameter is None
    assert isinstance(error, ParameterError)


def test_name_in_place_of_a_value_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(ParameterError, match=r"Write Parameter\(0\.0, name='theta'\)"):
        Parameter("theta")


def test_try_new_gives_a_parameter_and_no_error() -> None:
    parameter, error = Parameter.try_new(0.5, name="theta")
    assert error is None
    assert (parameter.item(), parameter.name) == (0.5, "theta")


@pytest.mark.parametrize("dtype", [F32, F64, C64, C128])
def test_parameter_is_a_tensor_that_requires_grad(dtype: np.dtype) -> None:
    p = Parameter([1, 2], dtype=dtype)
    assert isinstance(p, Tensor)
    assert (p.dtype, p.requires_grad, p.trainable, p.is_leaf) == (dtype, True, True, True)
    assert p._meta.kind is Kind.PARAMETER


def test_numbers_are_copied() -> None:
    data = np.array([1.0])
    p = Parameter(data)
    data[0] = 9.0
    assert p.tolist() == [1.0]


def test_tensor_that_is_given_is_shared() -> None:
    t = Tensor([1.0], name="t")
    p = Parameter(t)
    p.set_([2.0])
    (p * 3).backward(Tensor([1.0]))
    assert t.requires_grad
    assert (t.tolist(), t.grad.tolist(), p.name) == ([2.0], [3.0], "t")


def test_frozen_parameter_still_receives_gradients() -> None:
    p = Parameter(2.0)
    assert p.freeze() is p
    (p * p).backward()
    (p * p).backward()
    assert (p.trainable, p.requires_grad, p.grad.item()) == (False, True, 8.0)


@pytest.mark.parametrize(
    ("value", "remedy"), [(False, r"p\.freeze\(\)"), (True, r"p\.unfreeze\(\)")]
)
def test_trainable_is_not_assigned(value: bool, remedy: str) -> None:
    p = Parameter(2.0)
    with pytest.raises(ParameterError, match=f"got an assignment of {value}. Write {remedy}"):
        p.trainable = value
    assert p.trainable


def test_unfreeze_restores_updates_and_recording() -> None:
    p = Parameter(2.0).freeze()
    p.requires_grad = False
    assert p.unfreeze() is p
    assert (p.trainable, p.requires_grad) == (True, True)


def test_requires_grad_decides_backward_alone() -> None:
    p, q = Parameter(2.0), Parameter(3.0)
    p.requires_grad = False
    (p * q).backward()
    assert p.trainable
    assert p.grad is None


def test_repr_says_what_is_unusual() -> None:
    p = Parameter(0.5, name="theta")
    assert repr(p) == "Parameter(0.5, dtype=float64, name='theta')"
    p.freeze()
    p.requires_grad = False
    other = p.clone()
    flags = "requires_grad=False, shared=2, frozen"
    assert repr(other) == f"Parameter(0.5, dtype=float64, name='theta', {flags})"


def test_clone_is_the_same_parameter() -> None:
    p = Parameter(0.5)
    other = p.clone()
    other.freeze()
    assert isinstance(other, Parameter)
    assert not p.trainable
    assert other.uuid == p.uuid


@pytest.mark.parametrize("make", [Parameter.deep_clone, copy.deepcopy])
def test_deep_clone_is_another_parameter(make: object) -> None:
    p = Parameter(0.5, name="theta").freeze()
    (p * 2).backward()
    other = make(p)
    assert isinstance(other, Parameter)
    assert (other.trainable, other.name, other.grad.item()) == (False, "theta", 2.0)
    assert other.requires_grad
    assert other.uuid != p.uuid
    other.set_(1.0)
    assert p.item() == 0.5


def test_o37_identity_survives_pickle() -> None:
    p = Parameter([0.5], dtype=F32, name="theta").freeze()
    other = pickle.loads(pickle.dumps(p))
    assert isinstance(other, Parameter)
    assert (other.uuid, other.name, other.trainable) == (p.uuid, "theta", False)
    assert (other.dtype, other.requires_grad) == (F32, True)
    assert Parameter(0.5, name="theta").uuid != p.uuid


def test_set_installs_a_value_where_every_handle_sees_it() -> None:
    p = Parameter([1.0])
    handle = p.clone()
    p.set_([4.0])
    assert handle.tolist() == [4.0]


def test_o30_update_between_forward_and_backward_is_refused() -> None:
    p = Parameter(3.0, name="p")
    loss = p * p
    with no_grad():
        p -= 0.1
    with pytest.raises(RuntimeError, match=r"'p' .* version 0, got version 1"):
        loss.backward()
