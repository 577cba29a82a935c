"""Moves: explicit, counted, recorded, with the move back as gradient."""

from __future__ import annotations

from inspect import signature
from math import prod

import numpy as np
import pytest
from leaves import version

from autodiff import (
    DeviceMismatch,
    DeviceUnavailable,
    Parameter,
    ShapeError,
    Tensor,
    exp,
    grad,
    gradcheck,
    no_grad,
    reset_stats,
    stats,
    tensordot,
)
from autodiff.ops.transfer import to
from autodiff.table import FUNCTIONS


def moves(device: str = "emulated") -> tuple[int, int]:
    counted = stats(device)
    return counted.uploads, counted.downloads


def test_move_is_counted_and_gives_the_value() -> None:
    x = Tensor([1.0, 2.0])
    y = x.to("emulated")
    assert (y.device, y.shape, y.dtype) == ("emulated", (2,), x.dtype)
    assert (moves(), stats("emulated").upload_bytes) == ((1, 0), 16)
    assert y.tolist() == [1.0, 2.0]
    assert moves() == (1, 1)
    assert stats("emulated").launches == 0


def test_move_to_its_own_device_is_the_tensor_itself() -> None:
    x = Tensor([1.0], device="emulated:0")
    assert x.to("emulated") is x
    assert moves() == (1, 0)


def test_second_move_of_a_value_is_none() -> None:
    x = Tensor([1.0])
    x.to("emulated")
    assert x.to("emulated").to("cpu").tolist() == [1.0]
    assert moves() == (1, 1)


def test_move_has_a_storage_and_a_version_of_its_own() -> None:
    x = Tensor([1.0])
    y = x.to("emulated")
    x.set_([2.0])
    assert (y.tolist(), version(y), version(x)) == ([1.0], 0, 1)
    y.set_([3.0])
    assert x.tolist() == [2.0]


def test_gradient_is_the_move_back_and_counted() -> None:
    x = Tensor([1.0, 2.0], requires_grad=True)
    loss = (x.to("emulated") ** 2).sum()
    reset_stats()
    loss.backward()
    assert (x.grad.device, x.grad.tolist()) == ("cpu", [2.0, 4.0])
    assert (moves(), stats("emulated").download_bytes) == ((0, 1), 16)


def test_gradient_from_device_to_host_is_an_upload() -> None:
    x = Tensor([1.0, 2.0], device="emulated", requires_grad=True)
    loss = (x.to("cpu") ** 2).sum()
    reset_stats()
    loss.backward()
    assert (x.grad.device, moves()) == ("emulated", (1, 0))
    assert x.grad.tolist() == [2.0, 4.0]


def test_move_is_recorded_only_where_it_is_needed() -> None:
    x = Tensor([1.0], requires_grad=True)
    assert not x.to("emulated").is_leaf
    with no_grad():
        assert x.to("emulated").is_leaf
    assert not Tensor([1]).to("emulated").requires_grad


def test_move_is_differentiable_twice() -> None:
    gradcheck(lambda x: x.to("emulated").exp().to("emulated:1").to("cpu"), [0.3, 0.5], order=2)


def test_only_the_elements_of_a_view_are_moved() -> None:
    x = Tensor(np.arange(1000.0))
    part = x[10:13].to("emulated")
    assert (part.tolist(), stats("emulated").upload_bytes) == ([10.0, 11.0, 12.0], 24)
    back = part[::2].to("cpu")
    assert (back.tolist(), back.is_contiguous()) == ([10.0, 12.0], True)
    assert moves() == (1, 2)


@pytest.mark.parametrize("value", [np.zeros((0, 3)), np.array(2.0), np.zeros((2, 3))[:, ::2]])
def test_every_shape_moves(value: np.ndarray) -> None:
    x = to(value, "emulated")
    assert x.shape == value.shape
    np.testing.assert_array_equal(x.numpy(), value)


def test_unknown_device_is_refused() -> None:
    with pytest.raises(DeviceUnavailable, match="got 'tpu'"):
        Tensor(1.0).to("tpu")


# -- what moves, and what does not -----------------------------------------------------------------


def test_operands_on_two_devices_are_refused() -> None:
    here, there = Tensor([1.0]), Tensor([1.0], device="emulated")
    with pytest.raises(DeviceMismatch, match=r"\['cpu', 'emulated'\].*\.to\(device\)"):
        here + there
    with pytest.raises(DeviceMismatch, match=r"\['emulated', 'emulated:1'\]"):
        there + Tensor([1.0], device="emulated:1")
    with pytest.raises(DeviceMismatch, match="needs operands on one device"):
        there + np.ones(1)
    with pytest.raises(DeviceMismatch, match="needs operands on one device"):
        there + Tensor(1.0)
    assert stats("emulated").launches == 0


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.array(2.0)], ids=repr)
def test_number_travels_with_the_launch(number: object) -> None:
    x = Tensor([1.0, 2.0], device="emulated", requires_grad=True)
    reset_stats()
    y = number * x + number
    assert (y.device, moves(), stats("emulated").launches) == ("emulated", (0, 0), 2)
    y.sum().backward()
    assert moves() == (0, 0)
    assert x.grad.tolist() == [2.0, 2.0]


#: Rules that compute of the number alone: its conjugate, the exponent that is left.
WITH_NUMBERS = {
    "power": lambda x: x**3,
    "power of a number": lambda x: 2.0**x,
    "complex product": lambda x: (x * 1j).imag,
    "complex quotient": lambda x: (x / 2j).imag,
    "product of axes": lambda x: tensordot(3.0, x, 0),
}


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_gradient_beside_a_number_stays_on_the_device(name: str) -> None:
    gradients = []
    for device in ("cpu", "emulated"):
        x = Tensor([1.0, 2.0], device=device, requires_grad=True)
        WITH_NUMBERS[name](x).sum().backward()
        assert x.grad is not None
        assert x.grad.device == x.device
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]


TWO_OPERANDS = [
    name
    for name, function in FUNCTIONS.items()
    if [p.annotation for p in signature(function).parameters.values() if p.default is p.empty]
    == ["Operand", "Operand"]
]


@pytest.mark.parametrize("shape", [(), (1,), (2, 2)])
@pytest.mark.parametrize("number_first", [True, False])
@pytest.mark.parametrize("name", TWO_OPERANDS)
def test_every_function_takes_a_number_beside_a_device(
    name: str, number_first: bool, shape: tuple[int, ...]
) -> None:
    found = []
    for device in ("cpu", "emulated"):
        x = Tensor(np.linspace(0.2, 0.8, prod(shape)).reshape(shape), None, device)
        x.requires_grad_(True)
        reset_stats()
        try:
            made = FUNCTIONS[name](*((2.0, x) if number_first else (x, 2.0)))
        except ShapeError as error:
            found.append((str(error), None))
            continue
        if made.requires_grad:
            made.real.sum().backward()
        assert moves() == (0, 0)
        found.append((made.tolist(), None if x.grad is None else x.grad.tolist()))
    assert found[0] == found[1]


def test_backward_and_missing_gradients_need_no_upload() -> None:
    x = Tensor([1.0, 2.0], device="emulated", requires_grad=True)
    unused = Tensor([1.0], device="emulated", requires_grad=True)
    reset_stats()
    g, zero = grad((x * x).sum(), (x, unused))
    assert moves() == (0, 0)
    assert (g.tolist(), zero.tolist(), zero.device) == ([2.0, 4.0], [0.0], "emulated")


def test_one_op_is_one_launch() -> None:
    x = Tensor([[1.0, 2.0]], device="emulated")
    for function in (lambda: x * x, lambda: x.logsumexp(axis=1), lambda: x.reshape((2,))):
        reset_stats()
        function()
        assert stats("emulated").launches == 1


def test_second_host_read_is_no_second_download() -> None:
    x = Tensor([1.0, 2.0], device="emulated")
    assert x.numpy() is x.numpy()
    x.tolist()
    x[0].item()
    assert moves() == (1, 1)


def test_small_part_of_a_large_value_is_read_by_itself() -> None:
    x = Tensor(np.arange(20_000.0), device="emulated")
    assert x[3:5].tolist() == [3.0, 4.0]
    assert stats("emulated").download_bytes == 16
    assert x.residency == ("emulated",)


def test_asarray_of_a_device_tensor_raises() -> None:
    with pytest.raises(TypeError, match=r"Use t\.numpy\(\)"):
        np.asarray(Tensor([1.0], device="emulated"))


def test_parameter_on_a_device_keeps_gradient_and_update_there() -> None:
    p = Parameter(Tensor([1.0, 2.0], device="emulated"))
    (p * p).sum().backward()
    assert (p.device, p.grad.device) == ("emulated", "emulated")
    reset_stats()
    with no_grad():
        p -= 0.5 * p.grad
    assert moves() == (0, 0)
    assert p.tolist() == [0.0, 0.0]


def test_set_on_a_device_is_one_upload() -> None:
    p = Parameter(Tensor([1.0, 2.0, 3.0], device="emulated"))
    view = p[1:]
    reset_stats()
    p.set_([4.0, 5.0, 6.0])
    assert moves() == (1, 0)
    view.set_([7.0, 8.0])
    assert moves() == (2, 0)
    assert (p.tolist(), view.tolist()) == ([4.0, 7.0, 8.0], [7.0, 8.0])


def test_storage_mut_of_a_device_tensor_is_a_host_array() -> None:
    p = Tensor([1.0, 2.0, 3.0], device="emulated")
    with p[1:].storage_mut() as a:
        a[0] = 9.0
    assert (p * 1).tolist() == [1.0, 9.0, 3.0]
    assert version(p) == 1


def test_copies_stay_on_the_device() -> None:
    x = Tensor([1.0, 2.0], device="emulated", requires_grad=True)
    (x * x).sum().backward()
    reset_stats()
    copy = x.deep_clone()
    assert (copy.device, copy.grad.device, moves()) == ("emulated", "emulated", (0, 0))
    assert (copy.tolist(), copy.grad.tolist()) == ([1.0, 2.0], [2.0, 4.0])


def test_results_of_numbers_travel_with_a_launch_and_gradients_are_no_numbers() -> None:
    x = Tensor([1.0, 2.0], device="emulated")
    two = exp(0.0) + 1.0
    assert (x * two).tolist() == [2.0, 4.0]
    with pytest.raises(DeviceMismatch, match="one device"):
        x * two.to("emulated:1")
    slope = Tensor(3.0, requires_grad=True)
    (2.0 * slope).backward()
    assert slope.grad is not None
    with pytest.raises(DeviceMismatch, match="one device"):
        x * slope.grad
