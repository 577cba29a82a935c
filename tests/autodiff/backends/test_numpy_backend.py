"""The CPU backend: read-only, contiguous buffers that share no memory."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff.backends.numpy_backend import NumpyBackend

BACKEND = NumpyBackend()


def fresh() -> np.ndarray:
    return np.arange(6.0).reshape(2, 3).copy()


READ_ONLY = fresh()
READ_ONLY.setflags(write=False)

RESULTS = {
    "a scalar": np.float64(2.0),
    "an operand itself": READ_ONLY,
    "a view": fresh()[:, 1],
    "a contiguous view": fresh()[:1],
    "a transpose": fresh().T,
    "a part of a complex number": np.array([1 + 2j]).real,
    "a stretched array": np.broadcast_to(np.ones(1), (3,)),
    "nothing": np.empty((0, 3))[:, :2],
    "an array of Fortran's order": np.asfortranarray(fresh()),
    "a number": 2.0,
}


@pytest.mark.parametrize("name", RESULTS)
def test_own_gives_a_read_only_contiguous_buffer_of_its_own(name: str) -> None:
    result = RESULTS[name]
    buffer = BACKEND.own(result)
    assert type(buffer) is np.ndarray
    assert buffer.flags.c_contiguous
    assert buffer.flags.owndata
    assert not buffer.flags.writeable
    assert np.array_equal(buffer, result)
    assert not np.shares_memory(buffer, np.asarray(result))


def test_own_copies_no_fresh_result() -> None:
    result = fresh()
    assert BACKEND.own(result) is result


def test_own_takes_a_fresh_result_in_another_shape() -> None:
    result = fresh()
    view = result.reshape(-1)
    assert BACKEND.own(view) is view
    assert not view.flags.writeable
    assert not result.flags.writeable


def test_from_host_copies() -> None:
    host = fresh()
    buffer = BACKEND.from_host(host)
    host[0, 0] = 9.0
    assert buffer[0, 0] == 0.0
    assert not buffer.flags.writeable


def test_to_host_is_the_buffer() -> None:
    buffer = BACKEND.from_host(fresh())
    assert BACKEND.to_host(buffer) is buffer


def test_writable_copy_is_private() -> None:
    copy = BACKEND.writable_copy(READ_ONLY)
    copy[0, 0] = 9.0
    assert READ_ONLY[0, 0] == 0.0


VIEWS = {
    "row": lambda a: a[1],
    "column": lambda a: a[:, 2],
    "transpose": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-2],
    "reshape": lambda a: a.reshape(3, 2),
    "stretched": lambda a: np.broadcast_to(a[0], (4, 3)),
    "stretched to the base's size": lambda a: np.broadcast_to(a[1], (2, 3)),
    "element": lambda a: a[1, 2, ...],
}


@pytest.mark.parametrize("name", VIEWS)
def test_view_is_found_and_made_again(name: str) -> None:
    base = fresh()
    expected = VIEWS[name](base)
    spec = BACKEND.view_of(expected, base)
    assert spec is not None
    view = BACKEND.view(base, expected.shape, *spec, base.dtype)
    assert np.array_equal(view, expected)
    assert np.shares_memory(view, base)


def test_view_that_repeats_a_single_element_starts_at_it() -> None:
    base = np.array(2.0)
    assert BACKEND.view_of(np.broadcast_to(base, (3,)), base) == ((0,), 0)


def test_view_of_a_view_counts_from_the_base() -> None:
    base = fresh()
    view = VIEWS["transpose"](base)
    assert BACKEND.view_of(view[1], base) == ((3,), 1)


@pytest.mark.parametrize(
    "result", [fresh()[0], fresh().copy(), fresh()[:0]], ids=["of another", "copy", "empty"]
)
def test_anything_else_is_no_view(result: np.ndarray) -> None:
    assert BACKEND.view_of(result, fresh()) is None


def test_view_of_another_dtype_is_no_view() -> None:
    base = np.array([1 + 2j])
    assert BACKEND.view_of(base.real, base) is None


def test_launch_gives_arrays() -> None:
    a = fresh()
    made = BACKEND.launch(lambda xp, x, k: (x.sum(), x[k]), [a], {"k": 1}, "test", "host")
    assert [type(part) for part in made] == [np.ndarray] * 2
    assert made[0].item() == 15.0
    assert np.shares_memory(made[1], a)
    with BACKEND.graph():
        single = BACKEND.launch(lambda xp, x: x.max(), [a], {}, "test", "host")
    assert (type(single), single.item()) == (np.ndarray, 5.0)


def test_every_plain_array_is_its_own() -> None:
    assert BACKEND.owns(fresh())
    assert not BACKEND.owns([1.0])
    assert not BACKEND.owns(np.ma.masked_array([1.0]))
    assert BACKEND.storage_class(fresh()) == BACKEND.storage_classes[0] == "host"
    placed = BACKEND.place(fresh(), "host")
    assert np.array_equal(placed, fresh())
    assert not placed.flags.writeable


def test_memory_is_taken_over_once() -> None:
    memory = np.zeros(24, np.uint8)
    views = [memory.view(np.float64), memory.view(np.int64)]
    first, second = map(BACKEND.own, views)
    assert np.shares_memory(first, memory)
    assert not np.shares_memory(second, memory)
