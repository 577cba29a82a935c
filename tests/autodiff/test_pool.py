"""Pools: what belongs to a pass, and what does not."""

from __future__ import annotations

import gc
import threading

from runtimes import emulated, parameter

from autodiff import Tensor
from autodiff.pool import keep, pool_of, thread_pools
from autodiff.storage import Storage


def computed() -> Storage:
    return (Tensor([1.0, 2.0], device="emulated") * 2)._cell.storage


def test_reset_drops_what_was_computed_and_counts() -> None:
    storage = computed()
    generation = pool_of("emulated").generation
    assert storage.origin.generation == generation
    pool_of("emulated").reset()
    assert (storage.locations, pool_of("emulated").generation) == ((), generation + 1)


def test_memory_is_free_after_a_reset() -> None:
    gc.collect()
    before = emulated().live_bytes
    kept = [computed() for _ in range(5)]
    assert emulated().live_bytes == before + 5 * 16
    pool_of("emulated").reset()
    assert emulated().live_bytes == before
    assert len(kept) == 5


def test_kept_value_survives() -> None:
    storage = computed()
    keep(storage)
    pool_of("emulated").reset()
    assert storage.locations == ("emulated",)


def test_pool_holds_no_value_alive() -> None:
    gc.collect()
    before = emulated().live_buffers
    for _ in range(3):
        computed()
    assert emulated().live_buffers == before


def test_pool_belongs_to_a_thread_and_a_device() -> None:
    mine = computed()
    there = (Tensor([1.0], device="emulated:1") * 2)._cell.storage
    theirs: list[Storage] = []

    def other() -> None:
        theirs.append(computed())
        assert pool_of("emulated") in thread_pools()
        pool_of("emulated").reset()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert (mine.locations, theirs[0].locations) == (("emulated",), ())
    pool_of("emulated").reset()
    assert (mine.locations, there.locations) == ((), ("emulated:1",))


def test_view_that_had_to_be_copied_belongs_to_the_pass_too() -> None:
    p = parameter([[1.0, 2.0], [3.0, 4.0]])
    view, copied = p.T, p.T.reshape((4,))
    pool_of("emulated").reset()
    assert view.tolist() == [[1.0, 3.0], [2.0, 4.0]]
    assert copied._cell.storage.locations == ()
