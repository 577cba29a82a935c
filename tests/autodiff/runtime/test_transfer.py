"""Transfers: the copy by way of the host, and the check of what a provider gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from runtimes import Provider, at, emulated

from autodiff import C128, F32, F64, Tensor
from autodiff.backends.emulated_backend import EmulatedFailure
from autodiff.runtime.errors import (
    TransferContractError,
    TransferDTypeError,
    TransferFailed,
    TransferLengthError,
    TransferPlacementError,
    TransferResidencyError,
    TransferShapeError,
)
from autodiff.runtime.executor import Executor
from autodiff.runtime.location import Placement, Resident, resident_of
from autodiff.runtime.transfer import Endpoint, HostCopy, TransferRequest, checked_transfer

EXECUTORS = {device: Executor(device) for device in ("cpu", "emulated", "emulated:1")}


def request(source: str, destination: str, storage_class: str | None = None) -> TransferRequest:
    """The wish for [1, 2, 3] at another executor."""
    ends = []
    for device in (source, destination):
        executor = EXECUTORS[device]
        ends.append(Endpoint(executor.locations[0], executor))
    if storage_class is not None:
        ends[1] = Endpoint(at(ends[1].executor, storage_class), ends[1].executor)
    return TransferRequest(resident_of(Tensor([1.0, 2.0, 3.0], device=source)), *ends)


def value_at(resident: Resident, device: str) -> Any:
    return EXECUTORS[device].backend.to_host(resident.buffer).tolist()


@pytest.mark.parametrize(
    ("source", "destination", "classes"),
    [
        ("cpu", "emulated", ("host", "device")),
        ("emulated", "cpu", ("device", "host")),
        ("emulated", "emulated:1", ("device", "device")),
    ],
)
def test_host_copy_leaves_the_source(
    source: str, destination: str, classes: tuple[str, str]
) -> None:
    wish = request(source, destination)
    moved = checked_transfer(HostCopy(*classes), wish)
    assert moved.placement == wish.destination.placement
    assert value_at(moved, destination) == value_at(wish.value, source) == [1.0, 2.0, 3.0]


def test_host_copy_goes_into_the_asked_kind_of_memory() -> None:
    moved = checked_transfer(HostCopy("host", "managed"), request("cpu", "emulated", "managed"))
    assert moved.placement == Placement("emulated", 0, "managed")
    assert emulated().storage_class(moved.buffer) == "managed"


def test_two_devices_take_one_download_and_one_upload() -> None:
    wish = request("emulated", "emulated:1")
    before = emulated("emulated:1").stats.uploads
    checked_transfer(HostCopy("device", "device"), wish)
    assert emulated().stats.downloads == 1
    assert emulated("emulated:1").stats.uploads - before == 1


def own(values: Any) -> Any:
    """A buffer where all the faulty results should lie."""
    return emulated("emulated:1").from_host(np.asarray(values))


Fault = Callable[[Resident, TransferRequest], Any]

#: What a provider may get wrong when it moves [1, 2, 3] from emulated to emulated:1, by dimension.
FAULTS: dict[str, tuple[type[TransferContractError], Fault]] = {
    "dtype": (TransferDTypeError, lambda r, q: replace(r, dtype=F32)),
    "dtype of the buffer": (TransferDTypeError, lambda r, q: replace(r, buffer=own([1, 2, 3]))),
    "complex": (
        TransferDTypeError,
        lambda r, q: replace(r, buffer=own(np.ones(3, C128)), dtype=C128),
    ),
    "shape": (TransferShapeError, lambda r, q: replace(r, shape=(3, 1))),
    "shape of the buffer": (
        TransferShapeError,
        lambda r, q: replace(r, buffer=own([[1.0], [2.0], [3.0]])),
    ),
    "length": (TransferLengthError, lambda r, q: replace(r, buffer=own([1.0, 2.0]))),
    "placement": (
        TransferPlacementError,
        lambda r, q: replace(r, placement=Placement("emulated", 2, "device")),
    ),
    "kind of memory": (
        TransferPlacementError,
        lambda r, q: replace(r, placement=Placement("emulated", 1, "managed")),
    ),
    "residency": (TransferResidencyError, lambda r, q: replace(r, buffer=np.ones(3))),
    "relabelled": (TransferResidencyError, lambda r, q: replace(r, buffer=q.value.buffer)),
    "residency in another kind of memory": (
        TransferResidencyError,
        lambda r, q: replace(r, buffer=emulated("emulated:1").place(np.ones(3), "managed")),
    ),
    "no value": (TransferContractError, lambda r, q: r.buffer),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faulty_result_is_refused_by_dimension(name: str) -> None:
    kind, fault = FAULTS[name]
    with pytest.raises(TransferContractError, match=r"from emulated \(device\) to emulated:1") as e:
        checked_transfer(Provider(fault=fault), request("emulated", "emulated:1"))
    assert type(e.value) is kind


def test_every_subtype_is_planted_once() -> None:
    planted = {kind for kind, _ in FAULTS.values()} - {TransferContractError}
    assert planted == set(TransferContractError.__subclasses__())


def test_honest_result_passes() -> None:
    moved = checked_transfer(Provider(), request("emulated", "emulated:1"))
    assert (moved.shape, moved.dtype) == ((3,), F64)


def test_provider_that_raises_is_named_with_its_error() -> None:
    wish = request("emulated", "emulated:1")
    emulated("emulated:1").fail("upload")
    with pytest.raises(TransferFailed, match=r"from emulated \(device\) to emulated:1") as caught:
        checked_transfer(Provider(), wish)
    assert isinstance(caught.value.__cause__, EmulatedFailure)
