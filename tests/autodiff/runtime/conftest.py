"""Every test starts with emulated devices that have counted nothing and fail nowhere."""

from __future__ import annotations

import pytest
from runtimes import DEVICES, emulated


@pytest.fixture(autouse=True)
def fresh_devices() -> None:
    for device in DEVICES:
        emulated(device).reset()
