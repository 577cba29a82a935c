"""Transforms: shapes, conventions, and agreement with closed formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import op_checks
import pytest
from numpy.typing import NDArray

from autodiff import (
    C128,
    F32,
    F64,
    GradientError,
    Parameter,
    Program,
    ShapeError,
    Tensor,
    concatenate,
    custom_op,
    grad,
    hessian,
    hvp,
    jacobian,
    no_grad,
    transforms,
    value_and_grad,
    vjp,
)
from autodiff.dtypes import DIFFERENTIABLE
from autodiff.table import OPS

X = np.array([0.5, -1.5, 2.0])
A = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, -1.0]])


def quadratic(x: Tensor, y: Tensor) -> Tensor:
    return (x * x * y).sum()


CALLS: dict[str, Callable[..., object]] = {
    "value_and_grad": lambda fn, *args: value_and_grad(fn)(*args)[1],
    "vjp": lambda fn, *args: vjp(fn, *args)[1](Tensor(1.0)),
    "jacobian": jacobian,
    "hessian": hessian,
    "hvp": lambda fn, *args: hvp(fn, args, tuple(Tensor(np.ones(np.shape(a))) for a in args)),
}
GRADIENTS = ("value_and_grad", "vjp", "jacobian")
SCALAR = ("value_and_grad", "hessian", "hvp")


# -- what all of them have in common ---------------------------------------------------------------


@pytest.mark.parametrize("name", CALLS)
def test_one_argument_gives_one_thing(name: str) -> None:
    assert isinstance(CALLS[name](lambda x: (x * x).sum(), Tensor(X)), Tensor)


@pytest.mark.parametrize("name", CALLS)
def test_several_arguments_give_a_tuple(name: str) -> None:
    found = CALLS[name](quadratic, Tensor(X), Tensor(X))
    assert isinstance(found, tuple)
    assert len(found) == 2


@pytest.mark.parametrize("name", GRADIENTS)
def test_arguments_that_are_not_differentiable_are_passed_on(name: str) -> None:
    def fn(x: Tensor, n: int, mode: str, k: Tensor) -> Tensor:
        assert (n, mode, k.dtype) == (3, "cubic", np.int64)
        return (x**n).sum() * k

    found = CALLS[name](fn, Tensor(X), 3, "cubic", Tensor(2))
    assert np.allclose(found.numpy(), 6 * X**2)


@pytest.mark.parametrize("arg", [Tensor(1.5), np.array(1.5), np.float64(1.5), 1.5])
@pytest.mark.parametrize("name", GRADIENTS)
def test_arrays_and_floats_are_differentiable_arguments(name: str, arg: object) -> None:
    assert CALLS[name](lambda x: x * x, arg).item() == 3.0


@pytest.mark.parametrize("name", CALLS)
def test_nothing_to_differentiate_by_is_refused(name: str) -> None:
    with pytest.raises(GradientError, match=rf"{name} needs an argument of dtype float32.*got int"):
        CALLS[name](lambda n: Tensor(1.0), 3)


@pytest.mark.parametrize("name", CALLS)
def test_no_gradient_is_touched_and_nothing_keeps_history(name: str) -> None:
    p, w = Parameter(X), Parameter(2.0)
    found = CALLS[name](lambda x: (x * x * w).sum(), p)
    assert p.grad is w.grad is None
    assert not found.requires_grad


@pytest.mark.parametrize("name", CALLS)
def test_parameter_stays_the_object_that_the_function_knows(name: str) -> None:
    p = Parameter(X)
    found = CALLS[name](lambda x: (p * p).sum(), p)
    assert found.numpy().any()


@pytest.mark.parametrize("name", GRADIENTS)
def test_what_the_function_closes_over(name: str) -> None:
    """A Parameter counts where it is known; other tensors, and a trace's, by the argument alone."""

    def closed(x: Tensor) -> Tensor:
        return CALLS[name](lambda v: v * x, x)

    def as_constant(x: Tensor) -> Tensor:
        return CALLS[name](lambda v: v * x.detach(), x)

    def as_argument(x: Tensor) -> Tensor:
        return CALLS[name](lambda v: v * v, x)

    for function, by_object, by_argument in (
        (closed, 6.0, 3.0),
        (as_constant, 3.0, 3.0),
        (as_argument, 6.0, 6.0),
    ):
        assert function(Parameter(3.0)).item() == by_object
        assert function(Tensor(3.0)).item() == by_argument
        if name == "value_and_grad":  # the others read values, or take a cotangent
            (traced,) = Program.trace(function, ((), F64)).run([Parameter(3.0)])
            assert traced.item() == by_argument


@pytest.mark.parametrize("name", CALLS)
def test_tensor_given_twice_is_two_arguments(name: str) -> None:
    def numbers(found: Any) -> Any:
        return found.tolist() if isinstance(found, Tensor) else [numbers(part) for part in found]

    p = Parameter(X)
    assert numbers(CALLS[name](quadratic, p, p)) == numbers(CALLS[name](quadratic, X, X))


@pytest.mark.parametrize("name", CALLS)
def test_argument_that_does_not_reach_the_result_gives_zeros(name: str) -> None:
    found = CALLS[name](lambda x, y: (x * x).sum(), Tensor(X), Tensor(X))
    second = found[1][1] if name == "hessian" else found[1]
    assert not second.numpy().any()
    assert second.dtype == F64


@pytest.mark.parametrize("name", CALLS)
def test_constant_function_gives_zeros(name: str) -> None:
    assert not CALLS[name](lambda x: Tensor(3.0), Tensor(X)).numpy().any()


@pytest.mark.parametrize("name", CALLS)
def test_result_does_not_depend_on_the_grad_mode(name: str) -> None:
    expected = CALLS[name](lambda x: (x * x).sum(), Tensor(X)).tolist()
    with no_grad():
        assert CALLS[name](lambda x: (x * x).sum(), Tensor(X)).tolist() == expected


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize("fn", [lambda x: x * x, lambda x: (x * 1j).sum()], ids=["shape", "dtype"])
def test_result_that_is_no_real_scalar_is_refused(name: str, fn: Callable[..., Tensor]) -> None:
    with pytest.raises(
        GradientError, match=rf"{name} needs a function with a real result of shape"
    ):
        CALLS[name](fn, Tensor(X))


@pytest.mark.parametrize("name", [*SCALAR, "jacobian"])
def test_function_that_returns_no_tensor_is_refused(name: str) -> None:
    with pytest.raises(GradientError, match=f"{name} needs a function that returns one Tensor"):
        CALLS[name](lambda x: 3.0, Tensor(X))


# -- value_and_grad --------------------------------------------------------------------------------


def test_value_and_gradients() -> None:
    value, (by_x, by_y) = value_and_grad(quadratic)(Tensor(X), Tensor(A[0]))
    assert np.isclose(value.item(), (X * X * A[0]).sum())
    assert np.allclose(by_x.numpy(), 2 * X * A[0])
    assert np.allclose(by_y.numpy(), X * X)
    assert not value.requires_grad


def test_gradient_of_a_complex_argument_descends() -> None:
    _, g = value_and_grad(lambda z: z.real**2 + z.imag**2)(3 + 4j)
    assert (g.item(), g.dtype) == (6 + 8j, C128)


def test_gradient_has_its_arguments_dtype() -> None:
    _, g = value_and_grad(lambda x: (x * Tensor(X)).sum())(Tensor(X, dtype=F32))
    assert g.dtype == F32


# -- vjp -------------------------------------------------------------------------------------------


def test_pullback_of_a_matrix_is_its_transpose() -> None:
    out, pullback = vjp(lambda x: Tensor(A) @ x, Tensor(X))
    assert np.allclose(out.numpy(), A @ X)
    for c in np.eye(2):
        assert np.allclose(pullback(Tensor(c)).numpy(), A.T @ c)


def test_pullback_takes_one_cotangent_an_output() -> None:
    outs, pullback = vjp(lambda x: (x * x, x.sum()), Tensor(X))
    assert [t.shape for t in outs] == [(3,), ()]
    assert np.allclose(pullback(Tensor([1.0, 0.0, 1.0]), Tensor(10.0)).numpy(), [11, 10, 14])
    with pytest.raises(ShapeError, match="one cotangent an output, got 1 for 2"):
        pullback(Tensor([1.0, 0.0, 1.0]))


def test_pullback_refuses_a_cotangent_that_does_not_fit() -> None:
    _, pullback = vjp(lambda x: x * x, Tensor(X))
    with pytest.raises(GradientError, match=r"gradient of shape \(3,\)"):
        pullback(Tensor([1.0]))


def test_pullback_is_the_adjoint_under_the_real_inner_product() -> None:
    rng = np.random.default_rng(3)
    matrix, z, c, v = (rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((2, 3), 3, 2, 3))
    _, pullback = vjp(lambda z: Tensor(matrix) @ z, Tensor(z))
    assert np.isclose(np.vdot(c, matrix @ v).real, np.vdot(pullback(Tensor(c)).numpy(), v).real)


# -- jacobian, hessian, hvp ------------------------------------------------------------------------


def test_jacobian_has_the_shape_of_result_and_argument() -> None:
    by_x, by_y = jacobian(lambda x, y: x @ y, Tensor(A), Tensor(np.ones((3, 4))))
    assert (by_x.shape, by_y.shape) == ((2, 4, 2, 3), (2, 4, 3, 4))
    expected = np.einsum("ik,jl->ijkl", np.eye(2), np.ones((4, 3)))
    assert np.allclose(by_x.numpy(), expected)


def test_jacobian_of_a_real_result_by_a_complex_argument() -> None:
    z = np.array([1 + 2j, 3 - 1j])
    found = jacobian(lambda z: (z * z).real, Tensor(z))
    assert np.allclose(found.numpy(), np.diag(2 * z.conj()))


def test_jacobian_of_a_complex_result_is_refused() -> None:
    with pytest.raises(GradientError, match=r"jacobian needs a real result.*\.real and \.imag"):
        jacobian(lambda z: z * z, 1j)


def by_loop(fn: Callable[..., Tensor], leaves: list[Tensor]) -> list[NDArray[Any]]:
    """Jacobians from one backward pass an element."""
    found = []
    for k in range(fn(*leaves).numel()):
        out = fn(*leaves).reshape((-1,))
        found.append([g.numpy() for g in grad(out[k], leaves)])
    return [np.stack(rows) for rows in zip(*found, strict=True)]


@pytest.mark.parametrize("name", [op.name for op in OPS.values() if op.vjp is not None])
def test_jacobian_of_every_row_of_the_op_table_is_that_of_a_loop(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows go at once: the pass is traced, and evaluated with one cotangent a sample."""
    op, sizes = OPS[name], []
    for sample in op_checks.cases(op):
        leaves = op_checks.leaves_of(sample)
        row = op_checks.bound(op, sample)

        def fn(*given: Tensor, row: Callable[..., Any] = row) -> Tensor:
            made = op_checks.outputs(row(*given))
            flat = [x.reshape((-1,)) for x in made if x.dtype in DIFFERENTIABLE]
            parts = [part for x in flat for part in ((x.real, x.imag) if x.dtype == C128 else (x,))]
            return concatenate(parts)

        size = fn(*leaves).numel() if leaves else 0
        if size < 2:
            continue
        sizes.append(size)
        found = jacobian(fn, *leaves)
        by_argument = found if isinstance(found, tuple) else (found,)
        for got, wanted in zip(by_argument, by_loop(fn, leaves), strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12, atol=1e-14)
        # Without the loop: a part of the rows at a time gives the same.
        monkeypatch.setattr(transforms, "_ROWS_BYTES", 1)
        for one, other in zip(
            transforms._rows(fn(*leaves), tuple(leaves)), by_argument, strict=True
        ):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12, atol=1e-14)
        monkeypatch.undo()
        assert transforms._pullback(fn(*leaves), tuple(leaves)) is not None
    assert sizes


def scaled(rule: Callable[..., Any], **row: Any) -> Callable[..., Tensor]:
    return custom_op("scaled", lambda xp, x: 2 * x, rule, **row)


#: Ops of the user's own that have no meaning per sample, or no shape rule, or read a cotangent.
OPAQUE: dict[str, Callable[..., Tensor]] = {
    "per sample": scaled(lambda gs, outs, ins: 2 * gs[0], meta=lambda x: (x,)),
    "in the rule": scaled(lambda gs, outs, ins: OPAQUE["per sample"](gs[0])),
    "values": scaled(lambda gs, outs, ins: Tensor(2 * gs[0].numpy())),
}


@pytest.mark.parametrize("name", OPAQUE)
def test_jacobian_of_what_cannot_go_at_once_is_that_of_a_loop(name: str) -> None:
    found = jacobian(lambda x: OPAQUE[name](x) * x, Tensor(X))
    np.testing.assert_allclose(found.numpy(), np.diag(4 * X))


def test_jacobian_is_one_backward_pass() -> None:
    calls = []

    def rule(gs: Any, outs: Any, ins: Any) -> Tensor:
        calls.append(gs[0].shape)
        return gs[0] * 2

    double = scaled(rule)
    found = jacobian(lambda x: (Tensor(A) @ double(x)).sin(), Tensor(X))
    np.testing.assert_allclose(found.numpy(), 2 * A * np.cos(A @ (2 * X))[:, None])
    assert calls == [(3,)]


def test_jacobian_of_nothing_has_no_rows() -> None:
    assert jacobian(lambda x: x[:0], Tensor(X)).shape == (0, 3)


def test_hessian_of_one_argument() -> None:
    found = hessian(lambda x: x[0] ** 2 * x[1] + x[2], Tensor(X))
    expected = [[2 * X[1], 2 * X[0], 0], [2 * X[0], 0, 0], [0, 0, 0]]
    assert np.allclose(found.numpy(), expected)


def test_hessian_of_several_arguments_has_all_blocks() -> None:
    (xx, xy), (yx, yy) = hessian(quadratic, Tensor(X), Tensor(A[0]))
    assert np.allclose(xx.numpy(), np.diag(2 * A[0]))
    assert np.allclose(xy.numpy(), np.diag(2 * X))
    assert np.allclose(yx.numpy(), xy.numpy().T)
    assert not yy.numpy().any()


def test_hessian_of_a_function_that_reads_its_outputs() -> None:
    found = hessian(lambda x: x.exp().exp().sum(), Tensor(X))
    e = np.exp(X)
    assert np.allclose(found.numpy(), np.diag(np.exp(e) * (e + e * e)))


def test_hessian_by_complex_arguments_is_refused() -> None:
    with pytest.raises(GradientError, match="hessian needs real arguments"):
        hessian(lambda z: abs(z), 1 + 1j)


def test_hvp_is_hessian_times_vector() -> None:
    def fn(x: Tensor) -> Tensor:
        return (x * x * x).sum() * x[0]

    v = np.array([1.0, -2.0, 0.5])
    found = hvp(fn, Tensor(X), Tensor(v))
    assert np.allclose(found.numpy(), hessian(fn, Tensor(X)).numpy() @ v)


def test_hvp_of_several_arguments_mixes_them() -> None:
    vx, vy = np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0])
    by_x, by_y = hvp(quadratic, (Tensor(X), Tensor(A[0])), (Tensor(vx), Tensor(vy)))
    assert np.allclose(by_x.numpy(), 2 * A[0] * vx + 2 * X * vy)
    assert np.allclose(by_y.numpy(), 2 * X * vx)


def test_hvp_by_complex_arguments_is_the_derivative_of_the_gradient() -> None:
    def fn(z: Tensor) -> Tensor:
        return (z * z * z).real + abs(z) ** 4

    z, v, h = 0.3 + 0.8j, 0.7 - 0.2j, 1e-6
    step = [value_and_grad(fn)(z + s * h * v)[1].item() for s in (1, -1)]
    assert np.isclose(hvp(fn, z, Tensor(v)).item(), (step[0] - step[1]) / (2 * h), atol=1e-8)


def test_hvp_needs_one_vector_an_argument() -> None:
    with pytest.raises(ShapeError, match="one vector a differentiable argument, got 1 for 2"):
        hvp(quadratic, (Tensor(X), Tensor(X)), Tensor(X))
