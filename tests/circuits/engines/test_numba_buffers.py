"""Memory of large results: used again when nobody looks at it, and never before."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autodiff.backends.numpy_backend import NumpyBackend
from circuits import Circuit, Input, Parameter, Z
from circuits.engines.numba_buffers import (
    MOST_BUFFERS,
    MOST_BYTES,
    SMALLEST,
    ResultBuffers,
    aligned,
)
from circuits.engines.numba_cpu import NumbaEngine

REAL, COMPLEX = np.dtype(np.float64), np.dtype(np.complex128)
SHAPE = (4, SMALLEST // 64)  # 1 MiB of complex numbers


def address(array: np.ndarray[Any, Any]) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rooms_start_at_lines_of_the_cache(dtype: Any) -> None:
    held = [aligned((3, size), np.dtype(dtype)) for size in (1, 7, 100, 1 << 15)]
    assert [address(array) % 64 for array in held] == [0] * 4
    assert [array.shape for array in held] == [(3, 1), (3, 7), (3, 100), (3, 1 << 15)]
    for array in held:
        array[...] = array.size
    for array in held:  # none lies in another's memory
        assert (array == array.size).all()


def test_an_engine_works_in_rooms_that_do() -> None:
    engine = NumbaEngine()
    rooms = [engine._workspace(1, size, REAL) for size in (1000, 5000)]
    assert [address(room) % 64 for room in rooms] == [0, 0]
    assert address(engine._states_between(1 << 17, REAL)) % 64 == 0


def test_memory_is_used_again_for_results_of_the_same_size() -> None:
    buffers = ResultBuffers()
    first = buffers.empty(SHAPE, COMPLEX)
    assert (first.shape, first.dtype) == (SHAPE, COMPLEX)
    assert first.flags.c_contiguous
    assert first.flags.writeable
    where = address(first)
    del first
    again = buffers.empty((SHAPE[0], 2 * SHAPE[1]), REAL)
    assert (address(again), again.shape, again.dtype) == (where, (4, 2 * SHAPE[1]), REAL)


HOLDERS: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "the result": lambda x: x,
    "a row": lambda x: x[1],
    "a view of a view": lambda x: x.view(REAL)[2:].T[::2],
    "what a backend owns": lambda x: NumpyBackend().own(x),
    "a backend's view": lambda x: NumpyBackend().view(x, (2,), (3,), 1, x.dtype),
    "a buffer": lambda x: memoryview(x.view(REAL)),
    "another library's array": lambda x: np.from_dlpack(x),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_memory_that_anything_looks_at_is_not_used(name: str) -> None:
    buffers = ResultBuffers()
    result = buffers.empty(SHAPE, COMPLEX)
    result[...] = 7
    where, held = address(result), HOLDERS[name](result)
    before = np.array(held)
    del result
    for _ in range(2 * MOST_BUFFERS):
        other = buffers.empty(SHAPE, COMPLEX)
        assert address(other) != where
        other[...] = 0
    assert np.array_equal(held, before)
    del held
    assert where in [address(buffers.empty(SHAPE, COMPLEX)) for _ in range(3)]


def test_what_a_backend_owns_is_no_copy_and_is_locked_until_it_is_free() -> None:
    """A result is the whole of its buffer: ``own`` takes it over as it is."""
    buffers = ResultBuffers()
    result = buffers.empty(SHAPE, COMPLEX)
    where, owned = address(result), NumpyBackend().own(result)
    assert address(owned) == where
    with pytest.raises(ValueError, match="WRITEABLE"):
        owned.view().setflags(write=True)
    del result, owned
    again = buffers.empty(SHAPE, COMPLEX)
    assert address(again) == where
    assert again.flags.writeable


def test_copies_are_on_their_own() -> None:
    buffers = ResultBuffers()
    result = buffers.empty(SHAPE, COMPLEX)
    result[...] = 3
    where = address(result)
    copies = [pickle.loads(pickle.dumps(result)), copy.deepcopy(result)]
    del result
    again = buffers.empty(SHAPE, COMPLEX)
    again[...] = 0
    assert address(again) == where
    assert all((x == 3).all() for x in copies)


def test_small_results_and_very_large_ones_are_plain_arrays() -> None:
    buffers = ResultBuffers()
    kept = address(buffers.empty(SHAPE, COMPLEX))
    assert buffers.empty((SMALLEST - 1,), np.dtype(np.uint8)).base is None
    assert address(buffers.empty(SHAPE, COMPLEX)) == kept
    assert buffers.empty((MOST_BYTES + 8,), np.dtype(np.uint8)).base is None
    assert buffers._kept == []


def test_what_is_kept_is_bounded() -> None:
    buffers = ResultBuffers()
    held = [buffers.empty((MOST_BYTES // 3,), np.dtype(np.uint8)) for _ in range(8)]
    assert sum(b.nbytes for b in buffers._kept) <= MOST_BYTES
    held += [buffers.empty(SHAPE, COMPLEX) for _ in range(8)]
    assert len(buffers._kept) == MOST_BUFFERS
    assert len({address(x) for x in held}) == 16


def test_a_result_of_another_size_drops_what_is_free() -> None:
    """So a thread never keeps more than its calls had at a time."""
    buffers = ResultBuffers()
    buffers.empty(SHAPE, COMPLEX)
    held = buffers.empty((SMALLEST // 4,), REAL)
    buffers.empty((SMALLEST // 2,), REAL)
    assert [b.nbytes for b in buffers._kept] == [held.nbytes, 4 * SMALLEST]


def test_every_thread_has_its_own() -> None:
    buffers = ResultBuffers()
    where = address(buffers.empty(SHAPE, COMPLEX))
    found: list[np.ndarray[Any, Any]] = []
    thread = threading.Thread(target=lambda: found.append(buffers.empty(SHAPE, COMPLEX)))
    thread.start()
    thread.join()
    assert address(found[0]) != where
    assert address(buffers.empty(SHAPE, COMPLEX)) == where


# -- through circuits ------------------------------------------------------------------------------


def batched(num_qubits: int) -> Circuit:
    circuit, x = Circuit(num_qubits), Input("x", 1)
    for q in range(num_qubits):
        circuit.rx(x[0], q).ry(Parameter(0.1 * q), q).cx(q, (q + 1) % num_qubits)
    return circuit


@pytest.mark.parametrize(("num_qubits", "batch"), [(10, 64), (15, 2), (16, None)])
def test_training_steps_make_no_new_memory_for_states(
    num_qubits: int, batch: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    take = ResultBuffers._take

    def counted(self: ResultBuffers, size: int) -> np.ndarray[Any, Any]:
        known = {id(b) for b in self._kept}
        found = take(self, size)
        made.append(id(found) not in known)
        return found

    monkeypatch.setattr(ResultBuffers, "_take", counted)
    circuit, engine = batched(num_qubits), NumbaEngine()
    data = np.full((1,) if batch is None else (batch, 1), 0.3)
    for _ in range(20):
        circuit.expectation(Z(0), inputs={"x": data}, engine=engine).sum().backward()
    assert len(made) == 20
    # One; two where a helper still holds the step before when the next one begins.
    assert 1 <= sum(made) <= MOST_BUFFERS


def test_states_that_users_keep_stay_what_they_are() -> None:
    """In eight threads, with steps of other values in between."""
    circuit = batched(10)
    data = [np.full((64, 1), 0.1 * k) for k in range(6)]
    expected = [circuit.statevector(inputs={"x": x}, engine="reference").numpy() for x in data]
    flaws: list[float] = []

    def work() -> None:
        held = []
        for _ in range(5):
            for x in data:
                state = circuit.statevector(inputs={"x": x})
                held.append(state.numpy() if len(held) % 2 else state[3].detach().numpy())
                circuit.expectation(Z(0), inputs={"x": x + 1}).sum().backward()
        for k, array in enumerate(held):
            whole = expected[k % len(data)]
            flaws.append(float(np.abs(array - (whole if k % 2 else whole[3])).max()))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(flaws) == 8 * 30
    assert max(flaws) < 1e-12
