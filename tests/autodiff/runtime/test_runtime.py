"""Runtime: configuration, and whole models as prepared programs."""

from __future__ import annotations

import numpy as np
import pytest
from runtimes import COS_ON_1, EXPECTED, SPLIT, VALUES, Provider, chain, emulated, values_of

import autodiff as ad
from autodiff import F64, DeviceUnavailable, DTypeError, Program, Tensor
from autodiff.runtime.errors import ExecutorConflict, TransferProviderConflict
from autodiff.runtime.runtime import Runtime


def test_default_is_the_cpu() -> None:
    (out,) = Runtime().run(SPLIT, [Tensor(VALUES)])
    assert out.device == "cpu"
    assert out.is_leaf
    assert not out.requires_grad
    assert np.array_equal(out.numpy(), EXPECTED)


def test_default_providers_serve_every_pair() -> None:
    runtime = Runtime(["cpu", "emulated", "emulated:1"])
    for device in ("cpu", "emulated", "emulated:1"):
        for where in ("cpu", "emulated", "emulated:1"):
            (out,) = runtime.run(SPLIT, [Tensor(VALUES, device=device)], {"sin": where, 1: where})
            assert np.array_equal(out.numpy(), EXPECTED)


def test_configuration_is_refused_as_a_whole() -> None:
    with pytest.raises(DeviceUnavailable):
        Runtime(["tpu"])
    with pytest.raises(ExecutorConflict):
        Runtime(["cpu", "cpu"])
    runtime = Runtime(["cpu"], providers=[Provider()])
    with pytest.raises(TransferProviderConflict):
        runtime.register_provider(Provider())
    (out,) = runtime.run(chain("sin"), [Tensor(VALUES)])
    assert np.array_equal(out.numpy(), np.sin(VALUES))


def test_input_has_to_be_a_tensor() -> None:
    with pytest.raises(DTypeError, match="input 0 of a program needs a Tensor, got ndarray"):
        Runtime().run(chain("sin"), [VALUES])  # type: ignore[list-item]


def test_provider_that_is_registered_later_opens_a_route() -> None:
    runtime = Runtime(["emulated", "emulated:1"], providers=[])
    (stayed,) = runtime.run(chain("sin"), [Tensor(VALUES, device="emulated:1")])
    runtime.register_provider(Provider())
    (moved,) = runtime.run(chain("sin"), [Tensor(VALUES, device="emulated:1")])
    assert (stayed.device, moved.device) == ("emulated:1", "emulated")


# -- forward and backward as one program -----------------------------------------------------------

SIZES = [(4, 8), (8,), (8, 8), (8,), (8, 3), (3,)]


def loss(*values: Tensor) -> Tensor:
    """Softmax cross-entropy of a network with two hidden layers."""
    w1, b1, w2, b2, w3, b3, x, target = values
    hidden = ad.tanh(x @ w1 + b1)
    hidden = ad.maximum(hidden @ w2 + b2, 0.0)
    logits = hidden @ w3 + b3
    return (logits.logsumexp(axis=1) - (logits * target).sum(axis=1)).mean()


def step(*values: Tensor) -> tuple[Tensor, ...]:
    """The loss and its gradients by the weights."""
    data = values[len(SIZES) :]
    value, gradients = ad.value_and_grad(lambda *w: loss(*w, *data))(*values[: len(SIZES)])
    return (value, *gradients)


def network(device: str) -> list[Tensor]:
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=size) for size in (*SIZES, (16, 4))]
    target = np.eye(3)[draw.integers(0, 3, 16)]
    return [Tensor(array, device=device) for array in (*arrays, target)]


def test_training_step_is_one_launch_and_equal_to_eager_to_the_last_bit() -> None:
    values = network("emulated")
    program = Program.trace(step, *[(x.shape, F64) for x in values])
    (*outs,) = Runtime(["emulated", "cpu"]).run(program, values)
    assert emulated().stats.launches == 1
    expected = step(*network("cpu"))
    assert len(outs) == 1 + len(SIZES)
    assert values_of(outs) == values_of(expected)


def test_program_goes_to_a_second_device_and_back() -> None:
    values = network("emulated")
    program = Program.trace(step, *[(x.shape, F64) for x in values])
    runtime = Runtime(["emulated", "emulated:1", "cpu"])
    wishes: dict[int | str, str] = {"matmul": "emulated:1"}
    explained = runtime.explain(program, values, wishes)
    outs = runtime.run(program, values, wishes)
    assert values_of(outs) == values_of(step(*network("cpu")))
    assert emulated().stats.launches == explained.launches["emulated (device)"]
    assert emulated("emulated:1").stats.launches == explained.launches["emulated:1 (device)"]
    assert COS_ON_1["cos"] == "emulated:1"
