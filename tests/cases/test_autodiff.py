"""Public bug reports of neighbouring tools, O25 to O30 and O32: the autodiff core."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import autodiff as ad
from autodiff import GradientError, Parameter, Tensor, VersionError, grad
from circuits import Circuit, Input, Z
from qml import SGD

Close = Callable[..., None]


@pytest.mark.parametrize(("dtype", "tiny"), [("complex128", 1e-170), ("complex64", 1e-23)])
def test_o25_modulus_near_zero(close: Close, dtype: str, tiny: float) -> None:
    """PyTorch 96543: |z| is scaled before squares underflow, and its gradient at 0 is 0."""
    z = Parameter([0, -tiny, 3 + 4j], dtype=dtype)
    abs(z).sum().backward()
    close(z.grad, [0, -1, 0.6 + 0.8j], atol=1e-9 if dtype == "complex128" else 1e-6)


@given(
    exponent=st.integers(-300, 300),
    turn=st.floats(-3.1, 3.1),
    single=st.booleans(),
    real=st.booleans(),
)
def test_o25_every_magnitude(exponent: int, turn: float, single: bool, real: bool) -> None:
    """The gradient of |z| is z / |z| wherever z is a normal number; that of the angle is finite."""
    phase = np.exp(1j * (0.0 if real else turn))
    power = int(exponent * 37 / 300) if single else exponent
    z = Parameter(10.0**power * phase, dtype="complex64" if single else "complex128")
    np.testing.assert_allclose(
        grad(abs(z), z).numpy(), phase, rtol=0, atol=1e-6 if single else 1e-9
    )
    twice = grad(abs(z) * 10.0**-power, z).item() * 10.0**power
    np.testing.assert_allclose(twice, phase, rtol=0, atol=1e-5 if single else 1e-9)


@pytest.mark.parametrize("op", [abs, ad.angle, ad.norm, lambda z: ad.hypot(z.real, z.imag)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_o25_zero_poisons_nothing(op: Callable[[Tensor], Tensor], dtype: str) -> None:
    """At 0 a modulus, an angle and a norm have a finite gradient by convention."""
    z = Parameter([0j, 0j], dtype=dtype)
    assert np.isfinite(grad(op(z).sum(), z).numpy()).all()


def test_o26_zero_size_axis(close: Close) -> None:
    """PyTorch 15223: broadcasting stretches an axis to length 0 as well."""
    a = Tensor(np.zeros((4, 0)))
    b, c = Parameter(np.ones((4, 1))), Parameter(np.ones(4))
    loss = (a + b).sum()
    close(loss, 0.0)
    close(grad(loss, b), np.zeros((4, 1)))
    close(grad((a + c[:, None]).sum(), c), np.zeros(4))


@given(shapes=arrays.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3))
def test_o26_any_shapes(shapes: arrays.BroadcastableShapes) -> None:
    """The gradient of a sum counts how often each element was used, 0 times included."""
    a, b = (Parameter(np.ones(shape)) for shape in shapes.input_shapes)
    total = (a + b).sum()
    assert total.item() == 2 * np.prod(shapes.result_shape)
    for parameter, gradient in zip((a, b), grad(total, [a, b]), strict=True):
        times = np.prod(shapes.result_shape) / max(parameter.numel(), 1)
        np.testing.assert_array_equal(gradient.numpy(), np.full(parameter.shape, times))


@pytest.mark.parametrize("op", [ad.sum, ad.mean, ad.prod, ad.cumsum, ad.logsumexp, ad.norm])
def test_o26_reductions_beside_a_zero_size_axis(close: Close, op: Callable[..., Tensor]) -> None:
    """PyTorch 31515: nothing to reduce, and a gradient of zero size."""
    x = Parameter(np.ones((3, 0)))
    out = op(x, axis=0)
    assert out.shape == ((3, 0) if op is ad.cumsum else (0,))
    close(grad(out.sum(), x), np.zeros((3, 0)))


@pytest.mark.parametrize(("op", "value"), [(ad.sum, 0.0), (ad.prod, 1.0), (ad.norm, 0.0)])
def test_o26_reductions_over_a_zero_size_axis(
    close: Close, op: Callable[..., Tensor], value: float
) -> None:
    x = Parameter(np.ones((3, 0)))
    close(op(x, axis=1), np.full(3, value))
    close(grad(op(x, axis=1).sum(), x), np.zeros((3, 0)))


def test_o27_repeated_index(close: Close) -> None:
    """PyTorch 1528: an element picked twice gets both cotangents."""
    y = Parameter([1.0])
    z = y[[0, 0]]
    close(grad(2 * z[0] + 3 * z[1], y), [5.0])
    close(grad(y[[0, 0]][0], y), [1.0])


@given(
    picked=st.lists(st.integers(-4, 3), max_size=12),
    columns=st.lists(st.integers(0, 2), max_size=4),
    seed=st.integers(0, 100),
)
def test_o27_any_indices(picked: list[int], columns: list[int], seed: int) -> None:
    """Every way to pick elements twice adds up, as np.add.at does."""
    y = Parameter(np.arange(12.0).reshape(4, 3))
    rows = np.array(picked, int)
    ways: list[Any] = [rows, (rows, slice(None, None, -1)), (rows[:, None], np.array(columns, int))]
    for index in ways:
        out = y[index]
        weights = np.random.default_rng(seed).normal(size=out.shape)
        expected = np.zeros((4, 3))
        np.add.at(expected, index, weights)
        found = grad(out, y, grad_outputs=Tensor(weights))
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-12)
    taken = ad.take(y, rows, axis=0)
    counted = grad(taken.sum(), y).numpy()[:, 0]
    np.testing.assert_array_equal(counted, np.bincount(rows % 4, minlength=4))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_o28_gradients_share_no_memory(close: Close, shape: tuple[int, ...]) -> None:
    """Oneflow 8248: adding to x's gradient must not change y's."""
    x, y = Parameter(np.full(shape, 2.0)), Parameter(np.full(shape, 3.0))
    z = x + y
    seed = Tensor(np.ones(shape))
    (x / z).backward_with_grad(seed)
    close(x.grad, np.full(shape, 0.12))
    close(y.grad, np.full(shape, -0.08))
    close(seed, np.ones(shape))


@pytest.mark.parametrize(
    "combine",
    [
        lambda x, y: x + y,
        lambda x, y: x - (-y),
        lambda x, y: ad.concatenate([x, y]),
        lambda x, y: ad.stack([x, y]),
        lambda x, y: ad.where(True, x, y) + y,
    ],
)
def test_o28_no_op_hands_out_one_buffer_twice(combine: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Neither the seed nor any two gradients overlap, and later passes change none of them."""
    x, y = Parameter(np.ones(3)), Parameter(np.ones(3))
    out = combine(x, y)
    seed = Tensor(np.ones(out.shape))
    out.backward(gradient=seed)
    assert x.grad is not None
    assert y.grad is not None
    handed_out = x.grad.numpy()
    with x.grad.storage_mut() as raw:
        raw += 5
    assert y.grad.tolist() == [1.0, 1.0, 1.0]
    assert seed.tolist() == np.ones(out.shape).tolist()
    combine(x, y).backward(gradient=seed)
    assert x.grad.tolist() == [7.0, 7.0, 7.0]
    assert handed_out.tolist() == [1.0, 1.0, 1.0]


def test_o28_gradients_of_one_circuit(engine: str, close: Close) -> None:
    """If scalar Parameters' gradients are parts of one buffer, nobody sees it."""
    a, b = Parameter(0.3), Parameter(0.7)
    circuit = Circuit(2).rx(a, 0).rx(b, 1)
    circuit.expectation(Z(0) + Z(1), engine=engine).backward()
    assert a.grad is not None
    assert b.grad is not None
    handed_out = a.grad.numpy()
    a.grad.set_(5.0)
    close(b.grad, -np.sin(0.7))
    circuit.expectation(Z(0) + Z(1), engine=engine).backward()
    close([a.grad.item(), b.grad.item()], [5 - np.sin(0.3), -2 * np.sin(0.7)])
    close(handed_out, -np.sin(0.3))


LEFT = [np.float64(2), np.float32(2), np.array(2.0), np.array([2.0, 2.0]), np.int64(2)]


@pytest.mark.parametrize("left", LEFT, ids=lambda s: f"{type(s).__name__}{np.shape(s)}")
def test_o29_numpy_on_the_left(close: Close, left: Any) -> None:
    """PyTorch 4433: NumPy's scalars and arrays leave the work to the Tensor."""
    t = Parameter([1.0, 1.0])
    for _ in range(2):
        product = left * t
        assert isinstance(product, Tensor)
        close(product, [2.0, 2.0])
        product.sum().backward()
    close(t.grad, [4.0, 4.0])
    slopes = {operator.add: 1.0, operator.sub: -1.0, operator.truediv: -2.0}
    for op, slope in slopes.items():
        result = op(left, t)
        assert isinstance(result, Tensor)
        assert result.dtype == np.float64
        close(result, op(left, np.ones(2)))
        close(grad(result.sum(), t), [slope, slope])


ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


@pytest.mark.parametrize("op", ARITHMETIC)
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64", "bool"])
@pytest.mark.parametrize("swap", [False, True])
def test_o29_narrow_operand_keeps_the_precision(
    close: Close, op: Callable[[Any, Any], Tensor], dtype: str, swap: bool
) -> None:
    """A gradient is as precise as the result, whatever the other operand's dtype is."""
    if op is operator.sub and dtype == "bool":
        dtype = "uint8"  # NumPy has no difference of booleans
    other = np.array([1, 3, 7]).astype(dtype)
    t = Parameter([0.3, 0.7, 1.9])

    def slope(other: Any) -> Tensor:
        return grad((op(other, t) if swap else op(t, other)).sum(), t)

    close(slope(other), slope(other.astype(float)).numpy(), atol=1e-13)


@pytest.mark.parametrize("base", [-2.0, np.float32(-2.0), -2])
def test_o29_real_base_of_a_complex_power(close: Close, base: float) -> None:
    """The gradient by a complex exponent takes the complex logarithm, as the value does."""
    y = Parameter(0.3 + 0.2j)
    power = np.asarray(base) ** y
    close(power, (-2 + 0j) ** (0.3 + 0.2j))
    close(grad(power.real, y), np.conj((-2 + 0j) ** (0.3 + 0.2j) * np.log(-2 + 0j)))


def test_o29_matmul_and_ufuncs(close: Close) -> None:
    t = Parameter([1.0, 1.0])
    for left in (np.array([2.0, 2.0]), np.array([[2.0, 2.0]])):
        result = left @ t
        assert isinstance(result, Tensor)
        close(grad(result.sum(), t), [2.0, 2.0])
    for ufunc, slope in ((np.sin, np.cos(1.0)), (np.exp, np.e), (np.negative, -1.0)):
        result = ufunc(t)
        assert isinstance(result, Tensor)
        close(grad(result.sum(), t), [slope, slope])
    assert isinstance(np.multiply(np.array([2.0, 2.0]), t), Tensor)


def test_o29_numpy_in_circuits(engine: str, close: Close) -> None:
    """NumPy's scalars as angles, beside Parameters, and as coefficients."""
    theta = Parameter(0.3)
    for two in (np.float64(2), np.float32(2), np.int64(2), np.array(2.0)):
        circuit = Circuit(1).rx(two * theta, 0).rx(two, 0)
        f = circuit.expectation(two * Z(0), engine=engine)
        close(f, 2 * np.cos(2.6))
        close(grad(f, theta), -4 * np.sin(2.6))


def change_by_set(w: Tensor) -> None:
    w.set_(5.0)


def change_under_no_grad(w: Tensor) -> None:
    with ad.no_grad():
        w.set_(5.0)


def change_in_place(w: Tensor) -> None:
    with w.storage_mut() as raw:
        raw[...] = 5.0


def change_through_a_view(w: Tensor) -> None:
    w.reshape(1).set_([5.0])


def change_through_a_clone(w: Tensor) -> None:
    w.detach().clone().set_(5.0)


CHANGES = [
    change_by_set,
    change_under_no_grad,
    change_in_place,
    change_through_a_view,
    change_through_a_clone,
]


@pytest.mark.parametrize("change", CHANGES)
def test_o30_value_changed_after_use(change: Callable[[Tensor], None]) -> None:
    """Warp 1350: never the gradient at a value that the forward pass did not see."""
    w, x = Tensor(0.0, name="w"), Parameter(3.0)
    y = w * x
    change(w)
    with pytest.raises(VersionError, match=r"'w'.*version"):
        y.backward()
    assert x.grad is None


def test_o30_numpy_views_are_read_only(close: Close) -> None:
    w, x = Tensor(0.0), Parameter(3.0)
    y = w * x
    with pytest.raises(ValueError, match="read-only"):
        w.numpy()[...] = 5.0
    source = np.array(0.0)
    z = Tensor(source) * x
    source[...] = 5.0
    (y + z).backward()
    close(x.grad, 0.0)


def test_o30_optimizer_step_between(engine: str) -> None:
    """A step between forward and backward is a change too, through a circuit as well."""
    w = Parameter(0.5, name="w")
    for loss in (w * w, Circuit(1).rx(w, 0).expectation(Z(0), engine=engine)):
        w.zero_grad()
        (w * 1.0).backward()
        SGD([w], lr=0.1).step()
        with pytest.raises(VersionError, match="'w'"):
            loss.backward()


@pytest.mark.parametrize(
    "changed", ["parameter", "matrix", "coefficient", "state", "feature", "value"]
)
def test_o30_every_operand_of_a_circuit(engine: str, changed: str) -> None:
    """Whatever a circuit read, changing it before backward is an error that names it."""
    operands = {
        "parameter": Parameter(0.4, name="parameter"),
        "matrix": Tensor(np.eye(2, dtype=complex), requires_grad=True, name="matrix"),
        "coefficient": Parameter(0.7, name="coefficient"),
        "state": Tensor([1.0 + 0j, 0.0], requires_grad=True, name="state"),
        "feature": Tensor([0.2], requires_grad=True, name="feature"),
        "value": Tensor([0.4], requires_grad=True, name="value"),
    }
    x = Input("x", 1)
    circuit = Circuit(1).rx(operands["parameter"], 0).unitary(operands["matrix"], 0).ry(x[0], 0)
    f = circuit.expectation(
        operands["coefficient"] * Z(0),
        inputs={"x": operands["feature"]},
        values=operands["value"] if changed == "value" else None,
        initial_state=operands["state"],
        engine=engine,
    )
    operands[changed].set_(0.5 * operands[changed].numpy())
    with pytest.raises(VersionError, match=f"'{changed}'"):
        f.backward()


@pytest.mark.parametrize(("k", "total"), [(lambda t: t * t, 15.0), (lambda t: 2 * t, 10.0)])
def test_o32_second_backward(close: Close, k: Callable[[Tensor], Tensor], total: float) -> None:
    """PyTorch 11192: the answer does not depend on what the shared ops happened to save."""
    t = Parameter(1.5)
    shared = k(t)
    first, second = 2 * shared, 3 * shared
    first.backward()
    kept = t.grad
    with pytest.raises(GradientError, match="freed"):
        second.backward()
    assert t.grad is kept

    t.zero_grad()
    shared = k(t)
    first, second = 2 * shared, 3 * shared
    first.backward(retain_graph=True)
    second.backward()
    close(t.grad, total)


def test_o32_second_backward_through_a_circuit(engine: str, close: Close) -> None:
    t = Parameter(0.4)
    for retain in (False, True):
        t.zero_grad()
        f = Circuit(1).rx(t, 0).expectation(Z(0), engine=engine)
        first, second = 2 * f, 3 * f
        first.backward(retain_graph=retain)
        if retain:
            second.backward()
            close(t.grad, -5 * np.sin(0.4))
        else:
            with pytest.raises(GradientError, match="freed"):
                second.backward()
            close(t.grad, -2 * np.sin(0.4))


# -- extras ----------------------------------------------------------------------------------------


def test_extra_mean_of_the_deviations_from_the_mean(close: Close) -> None:
    """PyTorch 107007: the gradient of sum(x - mean(x)) is 0."""
    x = Parameter([1.0, 2.0, 3.0, 4.0])
    y = x - x.mean()
    close(grad(y, x, grad_outputs=Tensor(np.ones(4))), np.zeros(4))


def test_extra_branch_that_was_not_chosen(close: Close) -> None:
    """PyTorch 23395: the documented form keeps the infinite slope out of the other branch."""
    x = Parameter([16.0, 0.0])
    y = ad.where(x == 0, x / 2, ad.sqrt(ad.where(x == 0, 1.0, x)) + 1)
    close(y, [5.0, 0.0])
    close(grad(y.sum(), x), [0.125, 0.5])
