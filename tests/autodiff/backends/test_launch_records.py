"""Records of launches: complete in themselves, every array in a buffer of its own."""

from __future__ import annotations

import numpy as np

from autodiff.backends.launch_records import Memory, Pointer


def test_separate_arrays_have_separate_buffers() -> None:
    workspace = np.arange(10.0)
    arguments = [workspace[6:], np.int32(3), workspace[:4], np.ones(0)]
    memory = Memory(arguments)
    contents = memory.contents()
    assert sorted(part.nbytes for part in contents) == [0, 32, 32]
    first, number, second, _ = memory.pointers()
    assert isinstance(first, Pointer)
    assert isinstance(second, Pointer)
    assert number == 3
    assert np.array_equal(first.of(contents), workspace[6:])
    assert np.array_equal(second.of(contents), workspace[:4])


def test_overlapping_arrays_share_one_buffer() -> None:
    workspace = np.arange(12, dtype=np.float32).reshape(3, 4)
    memory = Memory([workspace[1:], workspace[:2], workspace.view(np.complex64)[0]])
    contents = memory.contents()
    assert [part.nbytes for part in contents] == [48]
    for pointer, expected in zip(
        memory.pointers(),
        [workspace[1:], workspace[:2], workspace.view(np.complex64)[0]],
        strict=True,
    ):
        assert isinstance(pointer, Pointer)
        assert np.array_equal(pointer.of(contents), expected)


def test_contents_are_a_copy() -> None:
    array = np.zeros(2)
    memory = Memory([array])
    before = memory.contents()
    array[:] = 1
    assert before[0].view(float).tolist() == [0.0, 0.0]
    assert memory.contents()[0].view(float).tolist() == [1.0, 1.0]


def test_arrays_keep_their_alignment() -> None:
    """Where 16 bytes are read at once, it decides whether that is allowed."""
    workspace = np.arange(8, dtype=np.complex64)
    aligned = workspace[workspace.ctypes.data % 16 // 8 :]
    for array, offset in ((aligned[:2], 0), (aligned[1:4], 8)):
        memory = Memory([array])
        (pointer,) = memory.pointers()
        assert isinstance(pointer, Pointer)
        assert pointer.offset == offset
        assert np.array_equal(pointer.of(memory.contents()), array)
