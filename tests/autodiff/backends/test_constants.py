"""Attributes with arrays of the host: what a device is sent of them, when, and for how long."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from weakref import ref

import numpy as np
import pytest

from autodiff.backends.constants import ConstantArray, Constants, SentConstants
from autodiff.backends.emulated_backend import EmulatedBackend, EmulatedFailure
from autodiff.backends.numpy_backend import NumpyBackend


class Table(Constants):
    """An array that forwards read, one that they do not, and one further down."""

    def __init__(self) -> None:
        self.read, self.kept = np.arange(3.0), np.arange(5.0)
        self.below, self.is_long = ConstantArray(np.arange(2)), False

    @property
    def arrays_read(self) -> Sequence[str]:
        return ("read", "below")


def launch(backend: EmulatedBackend | NumpyBackend, **attrs: object) -> dict[str, object]:
    """What a forward gets in place of attributes."""
    given: dict[str, object] = {}

    def forward(xp: object, **attrs: object) -> np.ndarray:
        given.update(attrs)
        return np.zeros(())

    backend.launch(forward, [], attrs, "test", backend.storage_classes[0])
    return given


def test_what_forwards_read_is_sent_once_and_the_rest_is_kept() -> None:
    backend, table = EmulatedBackend(), Table()
    first = launch(backend, table=table, axis=1)
    assert (backend.stats.uploads, backend.stats.upload_bytes) == (2, 24 + 16)
    again = launch(backend, table=table)["table"]
    assert backend.stats.uploads == 2
    assert first["axis"] == 1
    assert again is first["table"]
    assert isinstance(again, Table)
    assert again.read is not table.read
    assert again.read.tolist() == [0, 1, 2]
    assert again.below.array.tolist() == [0, 1]
    assert (again.kept is table.kept, again.is_long) == (True, False)


def test_every_device_has_its_own_and_the_cpu_the_object_itself() -> None:
    table, devices = Table(), [EmulatedBackend(k) for k in range(2)]
    copies = [launch(backend, table=table)["table"] for backend in devices]
    assert [backend.stats.uploads for backend in devices] == [2, 2]
    assert copies[0] is not copies[1]
    assert launch(NumpyBackend(), table=table)["table"] is table


def test_a_copy_goes_with_its_original() -> None:
    backend, table = EmulatedBackend(), Table()
    copy = ref(launch(backend, table=table)["table"])
    gc.collect()
    assert copy() is not None
    del table
    gc.collect()
    assert copy() is None


def test_what_could_not_be_sent_is_sent_by_the_next_launch() -> None:
    backend, table = EmulatedBackend(), Table()
    backend.fail("upload", 2)
    with pytest.raises(EmulatedFailure):
        launch(backend, table=table)
    launch(backend, table=table)
    assert backend.stats.uploads == 3


def test_attributes_without_constants_are_handed_on() -> None:
    attrs = {"axis": 0}
    assert SentConstants(np.array).in_place_of(attrs) is attrs
