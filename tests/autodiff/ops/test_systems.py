"""Inverse, solution and determinants: NumPy's values, gradients, singular matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autodiff import Parameter, Tensor, grad, gradcheck
from autodiff.errors import DTypeError, ShapeError
from autodiff.ops import systems
from autodiff.ops.systems import LinearAlgebraError, det, inv, slogdet, solve

RNG = np.random.default_rng(11)


def draw(*shape: int) -> Any:  # Any: an array
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def regular(*shape: int) -> Any:  # Any: an array
    """Well-conditioned matrices, for which finite differences are accurate."""
    return draw(*shape) + 4 * np.eye(shape[-1])


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 3, 2, 2), (0, 0), (0, 2, 2)])
@pytest.mark.parametrize("name", ["inv", "det"])
def test_value_and_gradient(name: str, shape: tuple[int, ...]) -> None:
    function, reference = getattr(systems, name), getattr(np.linalg, name)
    for x in (regular(*shape), regular(*shape).real):
        np.testing.assert_allclose(function(x).numpy(), reference(x), rtol=1e-12)
        assert gradcheck(function, x, order=2)


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 2, 2), (0, 0)])
def test_slogdet(shape: tuple[int, ...]) -> None:
    for x in (regular(*shape), regular(*shape).real):
        for out, expected in zip(slogdet(x), np.linalg.slogdet(x), strict=True):
            np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12, atol=1e-14)
        assert gradcheck(slogdet, x, order=2)
        assert gradcheck(lambda x: slogdet(x)[0], x, order=2)
        assert gradcheck(lambda x: slogdet(x)[1], x, order=2)


def test_slogdet_does_not_overflow() -> None:
    x = Parameter(np.diag(np.full(200, 100.0)))
    sign, log_modulus = slogdet(x)
    assert (sign.item(), log_modulus.item()) == (1.0, pytest.approx(200 * np.log(100)))
    log_modulus.backward()
    np.testing.assert_allclose(x.grad.numpy(), np.eye(200) / 100)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((4, 2, 2), (2,)),
        ((4, 2, 2), (2, 3)),
        ((2, 2), (4, 2, 3)),
        ((3, 1, 2, 2), (4, 2, 1)),
        ((0, 0), (0, 2)),
        ((2, 2), (2, 0)),
    ],
)
def test_solve(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    m, v = regular(*a), draw(*b)
    for x, y in ((m, v), (m.real, v), (m, v.real)):
        np.testing.assert_allclose(solve(x, y).numpy(), np.linalg.solve(x, y), rtol=1e-12)
        assert gradcheck(solve, x, y, order=2)


def test_gradient_by_the_right_hand_side_alone() -> None:
    a, b = draw(2, 2), Parameter(draw(2))
    solve(a, b).backward(Tensor([1.0 + 0j, 0.0]))
    np.testing.assert_allclose(b.grad.numpy(), np.linalg.inv(a).conj().T[:, 0], rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_single_precision_stays_single(dtype: str) -> None:
    x = Parameter((5 * np.eye(2) + 1).astype(dtype))
    outs = [inv(x), det(x), solve(x, x), *slogdet(x)]
    assert {out.dtype.name for out in outs} == {dtype, "float32"}
    sum(out.real.sum() for out in outs).backward()
    assert x.grad.dtype == dtype


def test_integers_are_taken_as_float64() -> None:
    assert inv([[2]]).tolist() == [[0.5]]
    assert det([[2]]).dtype == np.float64
    assert solve([[2]], [3]).tolist() == [1.5]


SINGULAR = np.ones((2, 2))


def _backward(out: Tensor) -> None:
    out.backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda: inv(SINGULAR),
        lambda: inv([np.eye(2), SINGULAR]),
        lambda: solve(SINGULAR, [1.0, 2.0]),
        lambda: _backward(slogdet(Parameter(SINGULAR))[1]),
    ],
)
def test_singular_matrices_are_refused(call: Any) -> None:
    with pytest.raises(
        LinearAlgebraError, match=r"needs finite matrices, and invertible .*Singular"
    ):
        call()


def test_values_of_singular_matrices_exist() -> None:
    assert det(SINGULAR).item() == 0.0
    assert [y.item() for y in slogdet(SINGULAR)] == [0.0, -np.inf]


def test_error_is_numpys_too() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        inv(SINGULAR)


@pytest.mark.parametrize("function", [inv, det, slogdet, lambda x: solve(x, [1.0])])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (3, 2, 1)])
def test_other_shapes_are_refused(function: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ShapeError, match=r"needs square matrices over the last two axes, got shape"
    ):
        function(np.ones(shape))


@pytest.mark.parametrize("shape", [(), (3,), (3, 2), (2, 3, 1)])
def test_right_hand_sides_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ShapeError, match=r"solve needs right-hand sides of shape \(2,\) or"):
        solve(np.eye(2), np.ones(shape))


def test_batches_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(ShapeError, match="operands need shapes that broadcast"):
        solve(np.ones((2, 1, 1)), np.ones((3, 1, 1)))


def test_half_precision_is_refused() -> None:
    with pytest.raises(DTypeError, match=r"inv needs dtype float32.* got float16"):
        inv(np.eye(2, dtype=np.float16))
    with pytest.raises(DTypeError, match=r"solve needs dtype float32.* got float16"):
        solve(np.eye(2), np.ones(2, np.float16))


# -- gradients of determinants where there is no inverse -----------------------------------------


@pytest.mark.parametrize("diagonal", [[1, 2, 0], [1, 0, 0], [0, 0, 0]])
@pytest.mark.parametrize("rotated", [False, True])
def test_gradient_of_det_exists_at_singular_matrices(diagonal: list[float], rotated: bool) -> None:
    x = np.diag(np.array(diagonal, dtype=np.complex128))
    if rotated:
        x = np.linalg.qr(draw(3, 3))[0] @ x @ np.linalg.qr(draw(3, 3))[0]
    for value in (x, np.stack([x, regular(3, 3)]), *([] if rotated else [x.real])):
        assert gradcheck(det, value)


def test_gradient_of_det_is_the_cofactors() -> None:
    x = Parameter(np.diag([1.0, 2.0, 0.0]))
    det(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.diag([0.0, 0.0, 2.0]), atol=1e-15)
    nothing = Parameter(np.diag([1.0, 0.0, 0.0]))
    det(nothing).backward()
    assert not nothing.grad.numpy().any()


def test_second_derivative_of_det_needs_an_inverse() -> None:
    x = Parameter(SINGULAR)
    (first,) = grad(det(x), [x], create_graph=True)
    with pytest.raises(LinearAlgebraError, match="inv needs"):
        (first * first).sum().backward()
