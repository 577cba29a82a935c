"""gradcheck finds what is wrong, and only that, and leaves the values as they were."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from autodiff import (
    C64,
    C128,
    F32,
    F64,
    GradcheckError,
    GradientError,
    Parameter,
    Tensor,
    backward,
    custom_op,
    gradcheck,
    no_grad,
)

Gs = Sequence[Tensor]


def scaled(factor: float) -> Callable[[Tensor], Tensor]:
    """x**3 with a first derivative that is wrong by ``factor``."""
    return custom_op(
        "cube",
        lambda xp, x: x**3,
        lambda gs, outs, ins: gs[0] * (factor * 3 * ins[0] * ins[0]).conj(),
    )


def bent(factor: float) -> Callable[[Tensor], Tensor]:
    """x**3 with a right first derivative whose own rule is wrong by ``factor``."""
    slope = custom_op(
        "slope",
        lambda xp, x: 3 * x * x,
        lambda gs, outs, ins: gs[0] * (factor * 6 * ins[0]).conj(),
    )
    return custom_op("cube", lambda xp, x: x**3, lambda gs, outs, ins: gs[0] * slope(ins[0]).conj())


REAL = np.array([[0.4, -1.3], [2.0, 0.7]])
POINTS = {"real": REAL, "complex": REAL + 1j * REAL.T, "scalar": REAL[0, 1], "empty": REAL[:0]}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", POINTS)
def test_right_rule_passes(name: str, order: int) -> None:
    assert gradcheck(scaled(1.0), Tensor(POINTS[name]), order=order) is True
    assert gradcheck(bent(1.0), Tensor(POINTS[name]), order=order) is True


@pytest.mark.parametrize("factor", [1.001, 0.999, 1.0005, -1.0, 0.0, np.nan])
@pytest.mark.parametrize("name", ["real", "complex", "scalar"])
def test_rule_that_is_wrong_by_a_thousandth_is_found(name: str, factor: float) -> None:
    with pytest.raises(GradcheckError, match=r"the gradient by argument 0 \(Tensor of shape"):
        gradcheck(scaled(factor), Tensor(POINTS[name]))


@pytest.mark.parametrize("factor", [1.001, 0.999, 1.0005, -1.0, 0.0, np.nan])
@pytest.mark.parametrize("name", ["real", "complex", "scalar"])
def test_second_derivative_that_is_wrong_by_a_thousandth_is_found(name: str, factor: float) -> None:
    assert gradcheck(bent(factor), Tensor(POINTS[name]), order=1)
    with pytest.raises(GradcheckError, match="the second-order gradient by argument 0"):
        gradcheck(bent(factor), Tensor(POINTS[name]), order=2)


def test_missing_conjugation_is_found_in_the_imaginary_part() -> None:
    op = custom_op("square", lambda xp, z: z * z, lambda gs, outs, ins: gs[0] * 2 * ins[0])
    assert gradcheck(op, Tensor(1.5))
    with pytest.raises(GradcheckError, match=r"in the (real|imag) part of element \(\)"):
        gradcheck(op, Tensor(1.5 + 0.5j))


def test_error_names_argument_element_and_both_numbers() -> None:
    def rule(gs: Gs, outs: Gs, ins: Gs) -> tuple[Tensor, Tensor]:
        return gs[0] * ins[1], gs[0] * ins[0] * Tensor([1.0, 1.0, 2.0])

    op = custom_op("product", lambda xp, x, y: x * y, rule)
    y = Tensor([0.5, 0.25, 4.0], name="y")
    with pytest.raises(GradcheckError) as caught:
        gradcheck(op, Tensor([1.0, 2.0, 3.0]), y)
    text = str(caught.value)
    assert "by argument 1 (Tensor 'y' of shape (3,)" in text
    assert "element (2,)" in text
    backward_value, slope = (float(text.split(f" from {w}")[0].split()[-1]) for w in WORDS)
    assert np.isclose(backward_value, 2 * slope)


WORDS = ("backward", "differences")


def test_all_outputs_are_checked() -> None:
    fn = scaled(1.001)
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: (x * x, fn(x)), Tensor(REAL))
    assert gradcheck(lambda x: (x * x, x.exp(), x > 0), Tensor(REAL), order=2)


def test_operation_without_a_rule_is_found() -> None:
    op = custom_op("silent", lambda xp, x: x * x, None)
    with pytest.raises(GradcheckError, match=r"got 0\.0 from backward"):
        gradcheck(op, Tensor(1.5))


def test_history_that_was_lost_is_found() -> None:
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: x * x.detach(), Tensor(1.5))


# -- wrong shape, wrong dtype ----------------------------------------------------------------------


def test_cotangent_of_a_shape_that_fits_no_operand_is_found() -> None:
    op = custom_op("sum", lambda xp, x: x.sum(), lambda gs, outs, ins: gs[0].reshape(1, 1, 1)[0])
    with pytest.raises(GradcheckError, match=r"shape that \(2, 2\) broadcasts to"):
        gradcheck(op, Tensor(REAL))


@pytest.mark.parametrize(
    "spoil", [lambda g: g.astype(F32), lambda g: g[None]], ids=["dtype", "shape"]
)
def test_gradient_of_another_shape_or_dtype_is_found(
    monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Tensor], Tensor]
) -> None:
    monkeypatch.setattr(backward, "fit", lambda g, x: spoil(g))
    with pytest.raises(GradcheckError, match="needs its argument's shape and dtype"):
        gradcheck(lambda x: x * 1.0, Tensor([1.0, 2.0]))


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int64", "bool", "float16"])
def test_argument_without_gradients_is_refused(dtype: str) -> None:
    with pytest.raises(GradientError, match=rf"of dtype float32.*{dtype} .* at position 1"):
        gradcheck(lambda x, k: x * k, Tensor(1.0), Tensor(1, dtype=dtype))


def test_arguments_that_share_a_storage_are_refused() -> None:
    t = Tensor([1.0, 2.0])
    with pytest.raises(GradientError, match="storages of their own"):
        gradcheck(lambda x, y: x * y, t[0], t[1])
    p = Parameter(2.0)
    assert gradcheck(lambda x, y: x * y, p, p)


@pytest.mark.parametrize("order", [0, 3, "2"])
def test_other_order_is_refused(order: object) -> None:
    with pytest.raises(GradientError, match="needs order 1 or 2"):
        gradcheck(lambda x: x, Tensor(1.0), order=order)


@pytest.mark.parametrize("bad", [{"eps": 0.0}, {"eps": -1.0}, {"atol": -1.0}, {"rtol": np.nan}])
def test_bad_tolerance_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(GradientError, match="positive eps and tolerances >= 0"):
        gradcheck(lambda x: x, Tensor(1.0), **bad)


@pytest.mark.parametrize("dtype", [F32, C64])
def test_single_precision_is_checked_at_the_documented_tolerance(dtype: np.dtype) -> None:
    x = Tensor(REAL, dtype=dtype)
    assert gradcheck(scaled(1.0), x, order=2)
    with pytest.raises(GradcheckError):
        gradcheck(scaled(1.01), x)


def test_tolerances_can_be_chosen() -> None:
    assert gradcheck(scaled(1.001), Tensor(REAL), rtol=0.01)
    with pytest.raises(GradcheckError):
        gradcheck(scaled(1.001), Tensor(REAL), rtol=1e-4)


def test_seed_makes_it_reproducible() -> None:
    def message(seed: int) -> str:
        with pytest.raises(GradcheckError) as caught:
            gradcheck(scaled(1.001), Tensor(REAL), seed=seed)
        return str(caught.value)

    assert message(1) == message(1) != message(2)


@pytest.mark.parametrize("data", [REAL, 1.5, 1 + 2j], ids=["array", "float", "complex"])
def test_arrays_and_numbers_are_taken(data: object) -> None:
    assert gradcheck(lambda x: x * x, data)


def test_grad_mode_of_the_caller_does_not_matter() -> None:
    with no_grad():
        assert gradcheck(lambda x: x * x, Tensor(1.5), order=2)


def test_parameter_that_the_function_holds_is_found() -> None:
    p = Parameter([0.3, 0.4])
    assert gradcheck(lambda _: (p * p).sum(), p)
    assert p.grad is None


def test_intermediate_is_checked_like_a_leaf() -> None:
    assert gradcheck(lambda x: x * x, Parameter(2.0) * 2)


# -- values ----------------------------------------------------------------------------------------


class Stop(Exception):
    pass


@pytest.mark.parametrize("dtype", [F32, F64, C64, C128])
def test_values_are_restored_exactly(dtype: np.dtype) -> None:
    value = np.array([0.1, 1e-300, -0.0, 1 / 3]).astype(dtype)
    x = Tensor(value)
    gradcheck(lambda x: x * 2, x)
    assert x.numpy().tobytes() == value.tobytes()


@pytest.mark.parametrize("calls", range(2, 11))
def test_values_are_restored_after_an_exception(calls: int) -> None:
    x, left = Tensor([0.1, 0.2]), [calls]

    def fn(x: Tensor) -> Tensor:
        left[0] -= 1
        if not left[0]:
            raise Stop
        return x * x

    with pytest.raises(Stop):
        gradcheck(fn, x)
    assert x.tolist() == [0.1, 0.2]


def test_values_are_restored_after_a_failure() -> None:
    x = Tensor([0.1, 0.2])
    with pytest.raises(GradcheckError):
        gradcheck(scaled(1.1), x)
    assert x.tolist() == [0.1, 0.2]


def test_values_move_where_every_handle_sees_them() -> None:
    x = Tensor([0.1])
    view, seen = x.reshape(1, 1), set()

    def fn(x: Tensor) -> Tensor:
        seen.add(view.item())
        return x * view.reshape(1).detach() + 0 * x

    with pytest.raises(GradcheckError):
        gradcheck(fn, x)
    assert len(seen) == 5
