"""Diagonals and triangles: NumPy's values, shared storage, gradients, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Tensor, gradcheck
from autodiff.errors import ShapeError
from autodiff.ops import diagonals

X = np.random.default_rng(2).normal(size=(3, 4, 2))
M = X[..., 0]

CALLS: list[tuple[str, Any, tuple[Any, ...]]] = [
    ("diagonal", M, ()),
    ("diagonal", M, (1,)),
    ("diagonal", M, (-2,)),
    ("diagonal", M, (9,)),
    ("diagonal", X, (0, 1, 2)),
    ("diagonal", X, (1, 2, 0)),
    ("diagonal", X, (-1, -1, -2)),
    ("trace", M, ()),
    ("trace", X, (1, -2, -1)),
    ("diag", M, ()),
    ("diag", M, (-1,)),
    ("diag", M[0], ()),
    ("diag", M[0], (2,)),
    ("diag", M[0], (-1,)),
    ("diag", M[0, :0], (1,)),
    ("tril", M, ()),
    ("tril", X, (-1,)),
    ("triu", M, (1,)),
    ("triu", X, (-5,)),
]


@pytest.mark.parametrize(("name", "value", "args"), CALLS)
def test_value_and_gradient(name: str, value: Any, args: tuple[Any, ...]) -> None:
    function = getattr(diagonals, name)
    out = function(value, *args)
    expected = getattr(np, name)(value, *args)
    assert out.shape == expected.shape
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-15)
    assert gradcheck(lambda x: function(x, *args), value * (1 + 1j), order=2)


def test_diagonal_is_a_view() -> None:
    x = Tensor(M)
    d = diagonals.diagonal(x, 1)
    assert d._cell.storage is x._cell.storage
    x.set_(M + 1)
    np.testing.assert_array_equal(d.numpy(), np.diagonal(M + 1, 1))


def test_trace_gradient_is_the_identity() -> None:
    x = Parameter(np.zeros((2, 2)))
    diagonals.trace(x).backward()
    assert x.grad.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: diagonals.diagonal(M[0]), r"diagonal needs at least two axes, got shape \(4,\)"),
        (lambda: diagonals.diagonal(M, 0, 1, 1), "axis needs distinct axes"),
        (lambda: diagonals.diagonal(M, 0, 0, 2), "axis needs one of the 2 axes"),
        (lambda: diagonals.trace(1.0), "diagonal needs at least two axes"),
        (lambda: diagonals.diag(X), r"diag needs one or two axes, got shape \(3, 4, 2\)"),
        (lambda: diagonals.tril(M[0]), "tril needs at least two axes"),
        (lambda: diagonals.triu(M[0]), "triu needs at least two axes"),
    ],
)
def test_refusal(call: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        call()
