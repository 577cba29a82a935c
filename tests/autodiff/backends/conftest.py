"""CuPy's backend on the stand-in for CuPy."""

from __future__ import annotations

import fake_cupy
import pytest
from fake_cupy import FakeCupy

from autodiff.backends.cupy_backend import CupyBackend


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    return fake_cupy.install(monkeypatch)


@pytest.fixture
def gpu(cupy: FakeCupy) -> CupyBackend:
    return CupyBackend()
