"""Products: NumPy's values for every rank, complex gradients, dtypes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Program, Tensor, gradcheck
from autodiff.errors import ShapeError
from autodiff.ops import algebra

RNG = np.random.default_rng(7)


def draw(*shape: int) -> Any:  # Any: an array
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


PAIRS: list[tuple[str, tuple[int, ...], tuple[int, ...], tuple[Any, ...]]] = [
    ("matmul", (3,), (3,), ()),
    ("matmul", (2, 3), (3,), ()),
    ("matmul", (3,), (3, 2), ()),
    ("matmul", (2, 3), (3, 4), ()),
    ("matmul", (5, 2, 3), (3, 4), ()),
    ("matmul", (2, 3), (5, 3, 4), ()),
    ("matmul", (2, 1, 2, 3), (5, 3, 1), ()),
    ("matmul", (5, 2, 3), (3,), ()),
    ("matmul", (3,), (5, 3, 2), ()),
    ("matmul", (2, 0), (0, 3), ()),
    ("dot", (3,), (3,), ()),
    ("dot", (), (2, 3), ()),
    ("dot", (2, 3), (), ()),
    ("dot", (2, 3), (3,), ()),
    ("dot", (2, 3), (3, 4), ()),
    ("dot", (2, 2, 3), (3,), ()),
    ("dot", (3,), (2, 3, 2), ()),
    ("dot", (2, 3), (2, 3, 4), ()),
    ("vdot", (3,), (3,), ()),
    ("vdot", (2, 3), (3, 2), ()),
    ("vdot", (), (), ()),
    ("vdot", (), (1, 1), ()),
    ("vdot", (0,), (0,), ()),
    ("outer", (2,), (3,), ()),
    ("outer", (2, 2), (3,), ()),
    ("outer", (), (0,), ()),
    ("outer", (2, 2), (), ()),
    ("kron", (2,), (3,), ()),
    ("kron", (2, 3), (3, 2), ()),
    ("kron", (2,), (2, 3), ()),
    ("kron", (2, 1, 2), (3,), ()),
    ("kron", (), (2, 2), ()),
    ("kron", (2, 2), (), ()),
    ("kron", (), (), ()),
    ("kron", (2, 0), (1, 3), ()),
    ("tensordot", (2, 3), (2, 3), ()),
    ("tensordot", (2, 3), (3, 4), (1,)),
    ("tensordot", (2,), (3,), (0,)),
    ("tensordot", (2, 3), (), (0,)),
    ("tensordot", (2, 3, 4), (4, 5, 2), (([0, 2], [2, 0]),)),
    ("tensordot", (2, 3, 4), (4, 2), ((-1, 0),)),
    ("tensordot", (2, 3), (3, 0), (1,)),
]


@pytest.mark.parametrize(("name", "left", "right", "args"), PAIRS)
def test_value_and_gradient(
    name: str, left: tuple[int, ...], right: tuple[int, ...], args: tuple[Any, ...]
) -> None:
    function, reference = getattr(algebra, name), getattr(np, name)
    for x, y in ((draw(*left), draw(*right)), (draw(*left).real, draw(*right))):
        out = function(x, y, *args)
        expected = np.asarray(reference(x, y, *args))
        assert (out.shape, out.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-13, atol=1e-14)
        assert gradcheck(lambda x, y: function(x, y, *args), x, y, order=2)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int64", "int8"])
@pytest.mark.parametrize("name", ["matmul", "dot", "vdot", "outer", "kron", "tensordot"])
def test_dtype_is_kept(name: str, dtype: str) -> None:
    args = (1,) if name == "tensordot" else ()
    ones = np.ones(2, dtype)
    assert getattr(algebra, name)(ones, ones, *args).dtype == dtype


def test_operators_and_methods() -> None:
    m, v = draw(2, 2), draw(2)
    np.testing.assert_array_equal((Tensor(m) @ v).numpy(), m @ v)
    np.testing.assert_array_equal((m @ Tensor(v)).numpy(), m @ v)
    np.testing.assert_array_equal(Tensor(m).dot(v).numpy(), m @ v)


@pytest.mark.parametrize("shape", [(2, 3), (4, 3, 2), (0, 2)])
def test_adjoint(shape: tuple[int, ...]) -> None:
    x = draw(*shape)
    np.testing.assert_array_equal(algebra.adjoint(x).numpy(), x.conj().swapaxes(-1, -2))
    assert gradcheck(algebra.adjoint, x, order=2)


def test_adjoint_of_a_real_matrix_is_a_view() -> None:
    x = Tensor(draw(2, 3).real)
    assert algebra.adjoint(x)._cell.storage is x._cell.storage


def test_expectation_value_has_the_textbook_gradient() -> None:
    """Its differential: d <psi|H|psi> = Re <2 H psi, d psi> for Hermitian H."""
    h = draw(3, 3)
    h = h + h.conj().T
    psi = Parameter(draw(3))
    algebra.vdot(psi, h @ psi).real.backward()
    np.testing.assert_allclose(psi.grad.numpy(), 2 * h @ psi.numpy(), rtol=1e-13)


def test_kron_puts_the_right_factor_on_qubit_0() -> None:
    zero, one = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert algebra.kron(one, zero).tolist() == [0.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize("name", ["matmul", "dot", "outer", "kron"])
def test_shared_matrix_times_batched_vectors_per_sample(name: str) -> None:
    function = getattr(algebra, name)
    w, batch = draw(2, 3), draw(4, 3)
    specs = (w.shape, w.dtype), (batch.shape[1:], batch.dtype)
    program = Program.trace(function, *specs)
    (out,) = program.run([Tensor(w), Tensor(batch)], [False, True])
    expected = np.stack([getattr(np, name)(w, row) for row in batch])
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: algebra.matmul(1.0, [1.0]),
            r"matmul needs at least one axis, got \(\) and \(1,\)",
        ),
        (lambda: algebra.matmul(draw(2, 3), draw(2)), r"matching inner extents, got \(2, 3\)"),
        (lambda: algebra.matmul(draw(2, 2, 3), draw(4, 3, 2)), "shapes that broadcast"),
        (lambda: algebra.dot(draw(2, 3), draw(2)), "matching inner extents"),
        (lambda: algebra.dot(draw(2, 3), draw(3, 2, 3)), "paired axes of equal extent"),
        (lambda: algebra.vdot(draw(2), draw(3)), "matching inner extents"),
        (lambda: algebra.tensordot(draw(2, 3), draw(2, 3), 1), "tensordot needs paired axes"),
        (lambda: algebra.tensordot(draw(2), draw(2), (0, [0, 0])), "axis needs distinct axes"),
        (lambda: algebra.tensordot(draw(2), draw(2), 2), "number of axes from 0 to 1 .* got 2"),
        (lambda: algebra.tensordot(draw(2), draw(2), -1), "number of axes from 0 to 1 .* got -1"),
        (lambda: algebra.adjoint(draw(2)), r"adjoint needs at least two axes, got shape \(2,\)"),
    ],
)
def test_refusal(call: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        call()
