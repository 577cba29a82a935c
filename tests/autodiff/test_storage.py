"""A storage: three access paths, a version, and a guard."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from autodiff import ShapeError, StorageBusy
from autodiff.storage import Storage, next_serial


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
