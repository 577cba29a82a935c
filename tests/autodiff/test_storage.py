"""A storage: three access paths, a version, and a guard."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from autodiff import (
    DeviceMismatch,
    ShapeError,
    StaleHandleError,
    StorageBusy,
    Tensor,
    stats,
    trace_reads,
)
from autodiff.backends.emulated_backend import EmulatedFailure
from autodiff.device import backend_of
from autodiff.sites import call_site
from autodiff.storage import Origin, Storage, next_serial, write_scalars


def make(value: list[float]) -> Storage:
    return Storage(np.array(value), "cpu")


def test_read_gives_the_value_at_a_location() -> None:
    storage = make([1.0])
    assert storage.read("cpu").tolist() == [1.0]
    assert storage.locations == ("cpu",)
    assert storage.version == 0


def test_copy_for_update_is_not_observed_until_written() -> None:
    storage = make([1.0])
    value = storage.read_for_update()
    value[0] = 2.0
    assert storage.read("cpu").tolist() == [1.0]
    storage.write(value, "cpu")
    assert storage.read("cpu").tolist() == [2.0]


def test_write_raises_the_version_by_one() -> None:
    storage = make([1.0])
    storage.write(np.array([2.0]), "cpu")
    assert storage.version == 1


def test_written_value_is_read_only() -> None:
    storage = make([1.0])
    storage.write(np.array([2.0]), "cpu")
    assert not storage.read("cpu").flags.writeable


def test_write_never_touches_a_buffer_that_was_handed_out() -> None:
    storage = make([1.0])
    before = storage.read("cpu")
    storage.write(np.array([2.0]), "cpu")
    assert before.tolist() == [1.0]


def test_part_of_a_larger_array_is_copied_on_write() -> None:
    storage = make([1.0])
    larger = np.array([2.0, 3.0])
    storage.write(larger[:1], "cpu")
    larger[0] = 9.0
    assert storage.read("cpu").tolist() == [2.0]


@pytest.mark.parametrize("value", [np.zeros(2), np.zeros((1, 1)), np.zeros(1, np.float32)])
def test_value_of_another_shape_or_dtype_is_refused(value: np.ndarray) -> None:
    storage = make([1.0])
    with pytest.raises(ShapeError, match=r"needs a value of shape \(1,\), dtype float64"):
        storage.write(value, "cpu")
    assert storage.version == 0
    assert storage.read("cpu").tolist() == [1.0]


def test_update_installs_and_raises_the_version_once() -> None:
    storage = make([1.0])
    with storage.update() as value:
        value[0] = 2.0
        value[0] = 3.0
    assert storage.read("cpu").tolist() == [3.0]
    assert storage.version == 1


def fail_inside(storage: Storage) -> None:
    with storage.update() as value:
        value[0] = 2.0
        raise KeyError


def test_update_installs_on_an_exception_too() -> None:
    storage = make([1.0])
    with pytest.raises(KeyError):
        fail_inside(storage)
    assert storage.read("cpu").tolist() == [2.0]
    assert storage.version == 1


def test_view_that_was_kept_cannot_change_the_value_later() -> None:
    storage = make([1.0])
    with storage.update() as value:
        kept = value[:]
    kept[0] = 9.0
    assert storage.read("cpu").tolist() == [1.0]


ACCESSES = {
    "read": lambda s: s.read("cpu"),
    "read_for_update": lambda s: s.read_for_update(),
    "write": lambda s: s.write(np.array([5.0]), "cpu"),
    "update": lambda s: s.update().__enter__(),
}


@pytest.mark.parametrize("access", ACCESSES)
def test_open_storage_is_busy(access: str) -> None:
    storage = make([1.0])
    with storage.update(), pytest.raises(StorageBusy, match="storage_mut holds open"):
        ACCESSES[access](storage)
    assert storage.version == 1


@pytest.mark.parametrize("access", ACCESSES)
def test_open_storage_is_busy_in_another_thread(access: str) -> None:
    storage = make([1.0])
    raised: list[StorageBusy] = []

    def other() -> None:
        try:
            ACCESSES[access](storage)
        except StorageBusy as error:
            raised.append(error)

    with storage.update():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(raised) == 1


def test_serials_tell_older_storages_from_younger_ones() -> None:
    old = make([1.0])
    mark = next_serial()
    assert old.serial < mark < make([1.0]).serial


# -- several locations -----------------------------------------------------------------------------


def resident(value: float | list[float], device: str = "emulated") -> Storage:
    """A value that lives on a device only."""
    return Tensor(value, device=device)._cell.storage


def test_read_elsewhere_is_one_counted_move_and_keeps_the_copy() -> None:
    storage = resident([1.0, 2.0])
    assert storage.locations == ("emulated",)
    first, second = storage.read("cpu"), storage.read("cpu")
    assert first.tolist() == [1.0, 2.0]
    assert second is first
    assert storage.locations == ("emulated", "cpu")
    assert (stats("emulated").downloads, stats("emulated").download_bytes) == (1, 16)


def test_move_between_devices_goes_by_way_of_the_host() -> None:
    storage = resident([1.0])
    storage.read("emulated:1")
    assert (stats("emulated").downloads, stats("emulated:1").uploads) == (1, 1)
    assert storage.locations == ("emulated", "emulated:1")


def test_copy_comes_from_home_while_that_has_one() -> None:
    storage = resident([1.0])
    storage.read("emulated:1")
    storage.read("cpu")
    assert stats("emulated:1").downloads == 0
    storage.write(np.array([2.0]), "cpu")
    assert storage.home == "emulated"
    storage.read("emulated")
    assert storage.read("emulated:1") is not None
    assert stats("emulated").downloads == 3


def test_write_drops_the_other_copies() -> None:
    storage = resident([1.0])
    storage.read("cpu")
    storage.write(np.array([2.0]), "cpu")
    assert storage.locations == ("cpu",)
    storage.read("emulated")
    assert stats("emulated").uploads == 2
    assert storage.read("cpu").tolist() == [2.0]


def test_copy_for_update_is_made_at_home() -> None:
    storage = resident([1.0])
    value = storage.read_for_update()
    value[0] = 5.0
    storage.write(value, "emulated")
    assert storage.locations == ("emulated",)
    assert storage.read("cpu").tolist() == [5.0]
    assert stats("emulated").downloads == 1


def test_value_of_another_device_is_refused_and_changes_nothing() -> None:
    storage = resident([1.0])
    foreign = resident([2.0], "emulated:1").read("emulated:1")
    with pytest.raises(DeviceMismatch, match="emulated needs buffers of its own"):
        storage.write(foreign, "emulated")
    assert (storage.version, storage.read("cpu").tolist()) == (0, [1.0])


def test_failed_move_leaves_no_copy() -> None:
    storage = resident([1.0])
    backend_of("emulated").fail("download")
    with pytest.raises(EmulatedFailure):
        storage.read("cpu")
    assert storage.locations == ("emulated",)
    assert storage.read("cpu").tolist() == [1.0]


def test_update_of_a_device_value_on_the_host_is_a_download_and_a_later_upload() -> None:
    storage = resident([1.0])
    with storage.update("cpu") as value:
        value[0] = 3.0
    assert (stats("emulated").downloads, stats("emulated").uploads) == (1, 1)
    storage.read("emulated")
    assert stats("emulated").uploads == 2


# -- readers that come first -----------------------------------------------------------------------


class Reading:
    """Work that has to read a storage before it changes."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.seen: list[float | list[float]] = []

    def run(self) -> None:
        self.seen.append(self.storage.read("cpu").tolist())
        self.storage.remove_reader(self)


@pytest.mark.parametrize("access", ["write", "update"])
def test_reader_runs_before_the_value_changes_and_once(access: str) -> None:
    storage = make([1.0])
    reader = Reading(storage)
    assert (storage.add_reader(reader), storage.add_reader(reader)) == (True, False)
    if access == "write":
        storage.write(np.array([2.0]), "cpu")
    else:
        with storage.update() as value:
            value[0] = 2.0
    storage.write(np.array([3.0]), "cpu")
    assert reader.seen == [[1.0]]


def test_reader_of_an_open_storage_is_refused() -> None:
    storage = make([1.0])
    with storage.update(), pytest.raises(StorageBusy, match="storage_mut holds open"):
        storage.add_reader(Reading(storage))


# -- many values of one buffer ---------------------------------------------------------------------


def numbers(*values: float) -> list[Storage]:
    return [Storage(np.array(value), "cpu") for value in values]


def test_elements_of_a_vector_are_written_as_values_of_their_own() -> None:
    storages = numbers(1.0, 2.0)
    before = storages[0].read("cpu")
    vector = np.array([3.0, 4.0])
    write_scalars(storages, vector, "cpu")
    assert [s.read("cpu").tolist() for s in storages] == [3.0, 4.0]
    assert [s.version for s in storages] == [1, 1]
    assert [s.read("cpu").shape for s in storages] == [(), ()]
    assert not any(s.read("cpu").flags.writeable for s in storages)
    assert before.tolist() == 1.0


def test_scalars_on_a_device_are_one_buffer_and_no_move() -> None:
    storages = [resident(1.0), resident(2.0)]
    storages[0].read("cpu")
    vector = resident([3.0, 4.0]).read("emulated")
    made = stats("emulated").allocations, stats("emulated").uploads
    write_scalars(storages, vector, "emulated")
    assert storages[0].locations == ("emulated",)
    assert (stats("emulated").allocations - made[0], stats("emulated").uploads - made[1]) == (1, 0)
    assert [s.read("cpu").tolist() for s in storages] == [3.0, 4.0]


def test_vector_that_somebody_may_write_is_copied() -> None:
    storages = numbers(1.0, 2.0)
    larger = np.array([3.0, 4.0, 5.0])
    write_scalars(storages, larger[:2], "cpu")
    larger[:] = 9.0
    assert [s.read("cpu").tolist() for s in storages] == [3.0, 4.0]


@pytest.mark.parametrize(
    ("vector", "last"),
    [
        (np.zeros(3), np.array(2.0)),
        (np.zeros((2, 1)), np.array(2.0)),
        (np.zeros(2, np.float32), np.array(2.0)),
        (np.zeros(2), np.array([2.0])),
        (np.zeros(2), np.float32(2.0)),
    ],
)
def test_vector_that_does_not_fit_changes_nothing(vector: np.ndarray, last: np.ndarray) -> None:
    storages = [*numbers(1.0), Storage(np.asarray(last), "cpu")]
    with pytest.raises(ShapeError, match="2 storages of single numbers need a vector of shape"):
        write_scalars(storages, vector, "cpu")
    assert [s.version for s in storages] == [0, 0]


def test_one_open_storage_keeps_all_from_being_written() -> None:
    storages = numbers(1.0, 2.0)
    with storages[1].update(), pytest.raises(StorageBusy, match="closed to write it"):
        write_scalars(storages, np.array([3.0, 4.0]), "cpu")
    assert (storages[0].version, storages[0].read("cpu").tolist()) == (0, 1.0)


def test_readers_of_all_run_before_the_first_changes() -> None:
    storages = numbers(1.0, 2.0)
    readers = [Reading(storage) for storage in storages]
    for storage, reader in zip(storages, readers, strict=True):
        storage.add_reader(reader)
    write_scalars(storages, np.array([3.0, 4.0]), "cpu")
    assert [reader.seen for reader in readers] == [[1.0], [2.0]]


def test_write_of_many_is_traced_one_by_one() -> None:
    with trace_reads() as trace:
        write_scalars(numbers(1.0, 2.0), np.array([3.0, 4.0]), "cpu")
    assert (trace.count("write"), trace.nbytes("write")) == (2, 16)


# -- values of a pass that is over -----------------------------------------------------------------

GONE = {
    "read": lambda s: s.read("emulated"),
    "read on the host": lambda s: s.read("cpu"),
    "read_for_update": lambda s: s.read_for_update(),
    "write": lambda s: s.write(np.array([5.0]), "cpu"),
    "update": lambda s: s.update().__enter__(),
    "add_reader": lambda s: s.add_reader(Reading(s)),
}


@pytest.mark.parametrize("access", GONE)
def test_cleared_value_raises_with_its_origin(access: str) -> None:
    storage = resident([1.0])
    storage.origin = Origin("sin", call_site(1), 4)
    storage.clear()
    assert storage.locations == ()
    with pytest.raises(StaleHandleError, match=r"result of sin \(.*test_storage.py:\d+\).*pass 4"):
        GONE[access](storage)
