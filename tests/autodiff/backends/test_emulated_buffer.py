"""Buffers of an emulated device: described, but read by nobody."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff.backends.emulated_backend import EmulatedBackend


@pytest.fixture
def backend() -> EmulatedBackend:
    return EmulatedBackend()


READS = {
    "asarray": np.asarray,
    "array": lambda b: np.array([b]),
    "ufunc": np.sin,
    "ufunc from the right": lambda b: np.add(np.ones(3), b),
    "function": np.sum,
    "join": lambda b: np.concatenate([b, b]),
    "len": len,
    "iteration": list,
    "in": lambda b: 1.0 in b,
    "buffer protocol": memoryview,
    "dlpack": np.from_dlpack,
    "float": float,
    "int": int,
    "bool": bool,
    "index": lambda b: [1, 2][b],
    "item": lambda b: b[0],
    "plus": lambda b: b + 1,
    "plus from the left": lambda b: 1 + b,
    "array plus": lambda b: np.ones(3) + b,
    "times itself": lambda b: b * b,
    "matmul": lambda b: b @ b,
    "negative": lambda b: -b,
    "in place": lambda b: b.__iadd__(1) if hasattr(b, "__iadd__") else b.__add__,
    "equal": lambda b: b == 1,
    "less": lambda b: b < 1,
    "write an array": lambda b: b.__setitem__(0, np.ones(3)),
}


@pytest.mark.parametrize("name", READS)
def test_buffer_cannot_be_read_or_computed_with(name: str, backend: EmulatedBackend) -> None:
    buffer = backend.from_host(np.ones(3))
    with pytest.raises((TypeError, AttributeError)):
        READS[name](buffer)
    assert backend.stats.downloads == 0


def test_refusal_says_what_to_do(backend: EmulatedBackend) -> None:
    with pytest.raises(TypeError, match=r"host value, got <buffer on emulated .*t\.numpy\(\)"):
        np.asarray(backend.from_host(np.ones(3)))


def test_buffer_describes_itself(backend: EmulatedBackend) -> None:
    buffer = backend.from_host(np.arange(6.0).reshape(2, 3))
    assert (buffer.shape, buffer.dtype, buffer.ndim) == ((2, 3), np.float64, 2)
    assert (buffer.size, buffer.nbytes) == (6, 48)
    assert (buffer.device, buffer.storage_class) == ("emulated", "device")
    assert hash(buffer) == hash(buffer)


def test_buffer_cannot_be_relabelled(backend: EmulatedBackend) -> None:
    buffer = backend.from_host(np.arange(6.0).reshape(2, 3))
    with pytest.raises(AttributeError):
        buffer.device = "emulated:1"  # type: ignore[misc]


def test_device_counts_what_is_held(backend: EmulatedBackend) -> None:
    buffer = backend.from_host(np.ones(3))
    assert (backend.live_buffers, backend.live_bytes) == (1, 24)
    del buffer
    assert (backend.live_buffers, backend.live_bytes) == (0, 0)
