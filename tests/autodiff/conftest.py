"""Every test starts eagerly, with emulated devices that have counted nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autodiff import graph_mode
from autodiff.device import backend_of, canonical_device

DEVICES = ("emulated", "emulated:1")


@pytest.fixture(autouse=True)
def fresh_devices() -> Iterator[None]:
    for device in DEVICES:
        backend_of(canonical_device(device)).reset()
    yield
    assert not graph_mode(), "a test left graph mode on"
