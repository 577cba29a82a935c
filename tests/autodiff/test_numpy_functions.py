"""NumPy's functions of Tensors: history is kept, or the call is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff import DTypeError, Tensor
from autodiff.numpy_functions import _BY_PLACE, _RENAMED, _of_table
from autodiff.table import FUNCTIONS

A = np.array([[1.0, -2.0, 3.5], [4.0, 0.5, -6.0]])
B = np.array([[2.0, 1.0], [1.0, 3.0]])

CALLS: dict[str, Callable[[Any], Any]] = {
    "concatenate": lambda t: np.concatenate([t, t], axis=1),
    "flat concatenate": lambda t: np.concatenate((t, A), None),
    "stack": lambda t: np.stack([t, A], -1),
    "sum": lambda t: np.sum(t),
    "sum by place": lambda t: np.sum(t, 1, None, None, True),
    "mean": lambda t: np.mean(t, axis=0, keepdims=True),
    "var": lambda t: np.var(t, 0, ddof=1),
    "max": lambda t: np.max(t, axis=1),
    "clip": lambda t: np.clip(t, -1, 2),
    "clip by name": lambda t: np.clip(t, a_min=None, a_max=2),
    "clip by new name": lambda t: np.clip(t, min=0),
    "where": lambda t: np.where(A > 0, t, 0),
    "round": lambda t: np.round(t),
    "reshape": lambda t: np.reshape(t, (3, 2)),
    "transpose": lambda t: np.transpose(t, (1, 0)),
    "transpose by name": lambda t: np.transpose(t, axes=(1, 0)),
    "reversed": lambda t: np.transpose(t),
    "swapaxes": lambda t: np.swapaxes(t, 0, 1),
    "roll": lambda t: np.roll(t, 1, axis=0),
    "split": lambda t: np.split(t, [1], axis=1)[1],
    "split by name": lambda t: np.split(t, indices_or_sections=3, axis=1)[1],
    "einsum": lambda t: np.einsum("ij,kj->ik", t, t),
    "dot": lambda t: np.dot(B, t),
    "norm": lambda t: np.linalg.norm(t, axis=1),
    "det": lambda t: np.linalg.det(t[:, :2]),
    "eigh": lambda t: np.linalg.eigh(B + 0 * t[:, :2])[0],
    "trace": lambda t: np.trace(t),
    "ones_like": lambda t: np.ones_like(t) + 0 * t,
}


@pytest.mark.parametrize("name", CALLS)
def test_result_is_numpys_with_history(name: str) -> None:
    t = Tensor(A, requires_grad=True)
    found = CALLS[name](t)
    assert isinstance(found, Tensor)
    assert found.requires_grad
    np.testing.assert_allclose(found.numpy(), CALLS[name](A))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: np.sum(t, dtype=np.float32),
        lambda t: np.sum(t, where=A > 0),
        lambda t: np.round(t, 2),
        lambda t: np.where(t),
        lambda t: np.concatenate([t, t], out=np.zeros((4, 3))),
    ],
)
def test_arguments_that_the_table_lacks_are_refused(call: Callable[[Tensor], Any]) -> None:
    with pytest.raises(DTypeError, match=r"of a Tensor needs the arguments of autodiff\..*numpy"):
        call(Tensor(A))


LACKING: list[Callable[[Any], Any]] = [
    lambda t: np.sort(t),
    lambda t: np.atleast_1d(t),
    lambda t: np.linalg.diagonal(t),
    lambda t: np.broadcast_arrays(t, 1.0),
    lambda t: np.emath.sqrt(t),
    lambda t: np.nan_to_num(x=t),
]


@pytest.mark.parametrize("call", LACKING)
def test_what_the_table_lacks_never_loses_history(call: Callable[[Any], Any]) -> None:
    with pytest.raises(DTypeError, match=r"has no gradient here.*t\.numpy\(\)"):
        call(Tensor(A, requires_grad=True))
    assert np.array_equal(call(Tensor(A)), call(A))


def test_questions_without_a_gradient_are_answered() -> None:
    t = Tensor(A, requires_grad=True)
    assert np.allclose(t, A)
    assert np.array_equal([t, t], [A, A])
    on_device = Tensor(A, device="emulated")
    assert (np.shape(on_device), np.ndim(on_device), np.size(on_device)) == ((2, 3), 2, 6)
    with pytest.raises(DTypeError, match=r"on the CPU.*t\.numpy\(\)"):
        np.allclose(on_device, A)


def test_functions_of_equal_name_have_equal_defaults() -> None:
    """Defaults are left out of the call, so they have to be the same."""
    compared = 0
    for name, ours in FUNCTIONS.items():
        theirs = getattr(np, name, getattr(np.linalg, name, None))
        if theirs is None or isinstance(theirs, np.ufunc) or theirs in _BY_PLACE:
            continue
        assert _of_table(theirs) is FUNCTIONS[theirs.__name__]
        mine = inspect.signature(ours).parameters
        for parameter in inspect.signature(theirs).parameters.values():
            own = mine.get(_RENAMED.get(parameter.name, parameter.name))
            if own is None or inspect.Parameter.empty in (own.default, parameter.default):
                continue
            compared += 1
            default = parameter.default
            assert default is np._NoValue or own.default == default, (name, parameter)
    assert compared > 40
