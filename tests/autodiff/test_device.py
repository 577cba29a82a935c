"""Device names."""

from __future__ import annotations

import pytest

from autodiff import DeviceUnavailable, Tensor
from autodiff.backends.numpy_backend import NumpyBackend
from autodiff.device import backend_of, canonical_device, device_kinds


def test_none_is_the_cpu() -> None:
    assert canonical_device(None) == canonical_device("cpu") == "cpu"


def test_cpu_computes_with_numpy() -> None:
    assert isinstance(backend_of("cpu"), NumpyBackend)


def test_kinds_are_listed_without_making_a_device() -> None:
    assert device_kinds()[:2] == ("cpu", "emulated")


@pytest.mark.parametrize("device", ["gpu", "", "cpu:1"])
def test_unknown_device_is_refused_with_the_list(device: str) -> None:
    with pytest.raises(DeviceUnavailable, match=r"needs one of \['cpu'.*got '"):
        canonical_device(device)


def test_tensor_on_an_unknown_device_is_refused() -> None:
    with pytest.raises(DeviceUnavailable, match="got 'tpu'"):
        Tensor(1.0, device="tpu")
    with pytest.raises(DeviceUnavailable, match="got 'tpu'"):
        Tensor(1.0).to("tpu")


def test_to_its_own_device_is_the_tensor_itself() -> None:
    t = Tensor(1.0)
    assert t.to("cpu") is t
