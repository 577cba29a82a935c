"""What every backend has to offer."""

from __future__ import annotations

import inspect

import pytest

from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.interface import Backend
from autodiff.backends.numpy_backend import NumpyBackend


def test_interface_alone_is_no_backend() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Backend()  # type: ignore[abstract]


@pytest.mark.parametrize("backend", [NumpyBackend, EmulatedBackend])
def test_backend_takes_the_arguments_of_the_interface(backend: type[Backend]) -> None:
    for name in Backend.__abstractmethods__:
        ours, theirs = (inspect.signature(getattr(c, name)) for c in (backend, Backend))
        assert list(ours.parameters) == list(theirs.parameters), name
    for name in ("xp", "family", "storage_classes"):
        assert hasattr(backend, name), name
