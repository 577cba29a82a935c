"""The stand-in for a GPU: what NumPy cannot read, what is counted, what can be made to fail."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sample_kernels import KERNELS

from autodiff import DeviceMismatch, DeviceUnavailable
from autodiff.backends.emulated_backend import (
    EVENTS,
    ORDINALS,
    EmulatedBackend,
    EmulatedFailure,
)
from autodiff.backends.emulated_buffer import EmulatedBuffer
from autodiff.backends.host_modules import Schedule
from autodiff.backends.raw_modules import OutOfDeviceMemory


@pytest.fixture
def backend() -> EmulatedBackend:
    return EmulatedBackend()


def values() -> np.ndarray:
    return np.arange(6.0).reshape(2, 3)


def run(backend: EmulatedBackend, forward: Callable[..., Any], *operands: Any) -> Any:
    return backend.launch(forward, operands, {}, "test", "device")


def test_device_reads_only_its_own_buffers(backend: EmulatedBackend) -> None:
    other = EmulatedBackend(1)
    buffer = other.from_host(values())
    assert other.owns(buffer)
    assert not backend.owns(buffer)
    assert not backend.owns(values())
    for read in (backend.to_host, backend.own, backend.writable_copy):
        with pytest.raises(DeviceMismatch, match="emulated needs buffers of its own, got <buffer"):
            read(buffer)
    with pytest.raises(DeviceMismatch):
        run(backend, np.sin, values())
    assert backend.stats.downloads == 0


def test_ordinals_have_names_and_an_end() -> None:
    assert [EmulatedBackend(k).device for k in (0, 1)] == ["emulated", "emulated:1"]
    for ordinal in (-1, ORDINALS):
        with pytest.raises(DeviceUnavailable, match=f"ordinal from 0 to 3, got {ordinal}"):
            EmulatedBackend(ordinal)


def negate(backend: EmulatedBackend, array: Any) -> None:
    module = backend.raw_module(KERNELS.source, KERNELS.instances)
    arguments = (array, np.uint64(array.size), np.float64(-1))
    module.launch("scale<double>", (1, 1, 1), (32, 1, 1), arguments)


# -- moves -----------------------------------------------------------------------------------------


def test_moves_copy_and_are_counted(backend: EmulatedBackend) -> None:
    host = values()
    buffer = backend.from_host(host)
    host[:] = 9.0
    back = backend.to_host(buffer)
    assert np.array_equal(back, values())
    assert not back.flags.writeable
    stats = backend.stats
    assert (stats.uploads, stats.upload_bytes) == (1, 48)
    assert (stats.downloads, stats.download_bytes) == (1, 48)
    assert (stats.allocations, stats.launches) == (1, 0)


def test_live_buffers_are_tracked(backend: EmulatedBackend) -> None:
    first, second = backend.from_host(values()), backend.from_host(values())
    view = backend.view(first, (3,), (1,), 3, np.dtype(float))
    assert (backend.live_buffers, backend.live_bytes) == (2, 96)
    del first
    assert backend.live_buffers == 2  # the view holds it
    del view, second
    gc.collect()
    assert (backend.live_buffers, backend.live_bytes) == (0, 0)
    assert backend.stats.allocations == 2


def test_kind_of_memory_stays_with_the_value(backend: EmulatedBackend) -> None:
    buffer = backend.place(values(), "managed")
    assert backend.storage_class(buffer) == "managed"
    assert backend.writable_copy(buffer).storage_class == "managed"
    made = backend.launch(lambda xp, x: x + 1, [buffer], {}, "test", "device")
    assert backend.storage_class(made) == "device"


def test_writable_copy_is_private_and_takes_numbers_and_buffers(backend: EmulatedBackend) -> None:
    buffer = backend.from_host(values())
    copy = backend.writable_copy(buffer)
    copy[0, 0] = 7.0
    copy[1] = backend.from_host(np.full(3, -1.0))
    assert backend.to_host(copy).tolist() == [[7.0, 1.0, 2.0], [-1.0, -1.0, -1.0]]
    assert np.array_equal(backend.to_host(buffer), values())
    with pytest.raises(DeviceMismatch):
        copy[1] = EmulatedBackend(1).from_host(np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        buffer[0, 0] = 1.0


VIEWS = {
    "row": lambda a: a[1],
    "column": lambda a: a[:, 2],
    "transpose": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-2],
    "reshape": lambda a: a.reshape(3, 2),
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_is_found_and_made_again(name: str, backend: EmulatedBackend) -> None:
    base = backend.from_host(values())
    result = run(backend, lambda xp, x: VIEWS[name](x), base)
    spec = backend.view_of(result, base)
    assert spec is not None
    view = backend.view(base, result.shape, *spec, base.dtype)
    assert np.array_equal(backend.to_host(view), VIEWS[name](values()))
    assert backend.stats.allocations == 1


def test_other_results_are_no_views(backend: EmulatedBackend) -> None:
    base = backend.from_host(values())
    others = [
        run(backend, lambda xp, x: x + 1, base),
        run(backend, lambda xp, x: x[:0], base),
        backend.from_host(values()),
    ]
    assert [backend.view_of(other, base) for other in others] == [None] * 3


RESULTS = {
    "fresh": (lambda xp, x: x + 1, 0),
    "a scalar": (lambda xp, x: x.sum(), 0),
    "the operand itself": (lambda xp, x: x, 1),
    "a view": (lambda xp, x: x[:, 1], 1),
    "a view of something fresh": (lambda xp, x: (x + 1).T, 0),
}


@pytest.mark.parametrize("name", RESULTS)
def test_own_gives_contiguous_memory_that_nobody_shares(
    name: str, backend: EmulatedBackend
) -> None:
    forward, copies = RESULTS[name]
    base = backend.from_host(values())
    result = run(backend, forward, base)
    before = backend.stats.allocations
    owned = backend.own(result)
    assert backend.stats.allocations - before == copies
    assert backend.view_of(owned, base) is None
    assert np.array_equal(backend.to_host(owned), forward(np, values()))
    with pytest.raises(ValueError, match="read-only"):
        owned[...] = 1.0


# -- launches --------------------------------------------------------------------------------------


def test_one_op_is_one_launch_whatever_its_forward_calls(backend: EmulatedBackend) -> None:
    x = backend.from_host(values())
    made = run(backend, lambda xp, x: (xp.sin(xp.cos(x)), x.sum()), x)
    assert [type(part) for part in made] == [EmulatedBuffer] * 2
    assert np.array_equal(backend.to_host(made[0]), np.sin(np.cos(values())))
    assert backend.stats.launches == 1
    assert backend.executions == {"test": 1}


def test_number_travels_with_the_launch(backend: EmulatedBackend) -> None:
    x = backend.from_host(values())
    made = run(backend, lambda xp, x, y: x * y, x, np.array(2.0))
    assert np.array_equal(backend.to_host(made), 2 * values())
    assert backend.stats.uploads == 1
    number = np.array(2.0)
    same = run(backend, lambda xp, y: y, number)
    number[...] = 9.0
    assert backend.to_host(same) == 2.0


def test_graph_runs_its_launches_as_one(backend: EmulatedBackend) -> None:
    x = backend.from_host(values())
    with backend.graph():
        for _ in range(3):
            x = run(backend, lambda xp, x: xp.sin(x), x)
    assert (backend.stats.launches, backend.executions["test"]) == (1, 3)
    run(backend, lambda xp, x: x, x)
    assert backend.stats.launches == 2


def test_graph_ends_with_an_error(backend: EmulatedBackend) -> None:
    x = backend.from_host(values())
    with pytest.raises(ZeroDivisionError), backend.graph():
        run(backend, lambda xp, x: 1 / 0, x)
    run(backend, lambda xp, x: x, x)
    assert backend.stats.launches == 2


def test_graph_belongs_to_its_thread(backend: EmulatedBackend) -> None:
    x = backend.from_host(values())
    with backend.graph():
        other = threading.Thread(target=run, args=(backend, lambda xp, x: x, x))
        other.start()
        other.join(timeout=60)
    assert backend.stats.launches == 2


def test_launch_cost_is_spent_once_a_launch(backend: EmulatedBackend) -> None:
    slept: list[float] = []
    backend.sleep, backend.launch_cost = slept.append, 0.001
    x = backend.from_host(values())
    run(backend, lambda xp, x: x, x)
    with backend.graph():
        run(backend, lambda xp, x: x, x)
        run(backend, lambda xp, x: x, x)
    assert slept == [0.001, 0.001]


# -- failures --------------------------------------------------------------------------------------

ACTIONS: dict[str, Callable[[EmulatedBackend, Any], Any]] = {
    "launch": lambda backend, x: run(backend, lambda xp, x: x, x),
    "upload": lambda backend, x: backend.from_host(np.ones(2)),
    "download": lambda backend, x: backend.to_host(x),
    "allocation": lambda backend, x: backend.writable_copy(x),
    "kernel": lambda backend, x: negate(backend, np.ones(2)),
}


def test_every_event_has_an_action() -> None:
    assert tuple(ACTIONS) == EVENTS


@pytest.mark.parametrize("event", EVENTS)
def test_the_chosen_event_fails_once(event: str, backend: EmulatedBackend) -> None:
    x = backend.from_host(values())
    backend.fail(event, 2)
    ACTIONS[event](backend, x)
    before = vars(backend.stats).copy(), backend.live_buffers
    with pytest.raises(EmulatedFailure, match=f"no failure for this {event}"):
        ACTIONS[event](backend, x)
    gc.collect()
    assert (vars(backend.stats), backend.live_buffers) == before
    ACTIONS[event](backend, x)


def test_failure_that_makes_no_sense_is_refused(backend: EmulatedBackend) -> None:
    for event, nth in (("transfer", 1), ("launch", 0)):
        with pytest.raises(ValueError, match="fail needs one of"):
            backend.fail(event, nth)


def test_reset_forgets_all_but_the_buffers(backend: EmulatedBackend) -> None:
    x = backend.from_host(values())
    run(backend, lambda xp, x: x, x)
    negate(backend, np.ones(2))
    backend.kernels.schedule = Schedule("reversed")
    backend.launch_cost = 1.0
    backend.fail("launch")
    backend.reset()
    assert set(vars(backend.stats).values()) == {0}
    assert (backend.executions, backend.kernel_launches) == ({}, {})
    assert backend.kernels.schedule == Schedule()
    assert backend.live_buffers == 1
    run(backend, lambda xp, x: x, x)


# -- what forwards with kernels of their own use ---------------------------------------------------


def test_kernels_and_their_arrays_are_counted(backend: EmulatedBackend) -> None:
    array = backend.send(np.arange(3.0))
    negate(backend, array)
    assert backend.receive(array).tolist() == [0.0, -1.0, -2.0]
    stats = backend.stats
    assert (stats.kernels, stats.argument_bytes) == (1, 24)
    assert backend.kernel_launches == {"scale<double>": 1}
    assert (stats.uploads, stats.upload_bytes) == (1, 24)
    assert (stats.downloads, stats.download_bytes) == (1, 24)
    assert (stats.launches, stats.allocations) == (0, 1)


def test_copies_are_private(backend: EmulatedBackend) -> None:
    host = np.arange(3.0)
    array = backend.send(host)
    back = backend.receive(array)
    host[:], array[:] = 7.0, 8.0
    assert back.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_new_memory_is_poisoned(dtype: type, backend: EmulatedBackend) -> None:
    array = backend.empty((2, 3), np.dtype(dtype))
    assert (array.shape, array.dtype) == ((2, 3), dtype)
    assert np.isnan(array).all()
    assert np.isnan(backend.empty((), np.dtype(dtype)))
    assert backend.empty((0, 2), np.dtype(dtype)).shape == (0, 2)


def test_arrays_are_overwritten_in_place(backend: EmulatedBackend) -> None:
    array = backend.send(np.zeros(3))
    address = backend.address(array)
    backend.overwrite(array, np.arange(3.0))
    assert array.tolist() == [0.0, 1.0, 2.0]
    assert backend.address(array) == address != backend.address(backend.send(np.zeros(3)))
    assert (backend.stats.uploads, backend.stats.upload_bytes) == (3, 72)


def test_more_memory_than_there_is_is_refused(backend: EmulatedBackend) -> None:
    free = backend.free_bytes
    held = backend.from_host(np.ones(4))
    assert backend.free_bytes == free - 32
    with pytest.raises(OutOfDeviceMemory, match=r"needs 34359738368 bytes .*, got \d+ free"):
        backend.empty((1 << 32,), np.dtype(float))
    assert backend.stats.allocations == 1
    del held
    assert backend.free_bytes == free
