"""Engines by name. An engine's module is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

from autodiff.device import CPU, backend_of
from circuits.engines.base import Engine
from circuits.errors import EngineError

ENGINES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "reference": ("circuits.engines.reference", "ReferenceEngine"),
        "numba": ("circuits.engines.numba_cpu", "NumbaEngine"),
    }
)
"""Module and class of every engine that computes with NumPy's arrays."""

DEVICE_ENGINES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"cuda": ("circuits.engines.cuda", "CudaEngine")}
)
"""Module and class of every engine that is made for one device and launches kernels there."""

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {"numpy": "numba", "emulated": "numba", "cupy": "cuda"}
)
"""Which engine runs where none is asked for, by the family of the device's backend. Arrays of the
emulated device are NumPy's inside a launch, and its kernels are for tests."""


@cache
def _made(name: str) -> Engine:
    module, cls = ENGINES[name]
    engine = getattr(import_module(module), cls)()
    assert isinstance(engine, Engine)
    return engine


def _made_for(name: str, device: str) -> Engine:
    module, cls = DEVICE_ENGINES[name]
    engine = getattr(import_module(module), cls)(backend_of(device))
    assert isinstance(engine, Engine)
    return engine


def get_engine(engine: str | Engine, device: str = CPU) -> Engine:
    """Return the engine of that name; an engine is returned as it is.

    Args:
        engine: a name, or an Engine.
        device: canonical name of the device that it computes on.

    Raises:
        EngineError: there is no such engine, or it does not compute on that device.

    Example:
        >>> get_engine("reference").name
        'reference'
    """
    if isinstance(engine, str):
        return _named(engine, device)
    known_engine(engine)
    return engine


@cache
def _named(name: str, device: str) -> Engine:
    known_engine(name)
    family = backend_of(device).family
    fits = family != "numpy" if name in DEVICE_ENGINES else family != "cupy"
    if not fits:
        raise EngineError(
            f"engine {name!r} needs a device that it computes on, got {device!r}. "
            f"Leave engine out for {DEFAULTS[family]!r}, or give another device."
        )
    return _made_for(name, device) if name in DEVICE_ENGINES else _made(name)


def engine_for(engine: str | Engine | None, device: str) -> Engine:
    """Return the engine that was asked for, or the default one of a device."""
    return _default(device) if engine is None else get_engine(engine, device)


@cache
def _default(device: str) -> Engine:
    return _named(DEFAULTS[backend_of(device).family], device)


def known_engine(engine: str | Engine) -> None:
    """Refuse the name of no engine.

    Raises:
        EngineError: there is no such engine.
    """
    if isinstance(engine, str) and (engine in ENGINES or engine in DEVICE_ENGINES):
        return
    if isinstance(engine, Engine):
        return
    names = ", ".join(map(repr, (*ENGINES, *DEVICE_ENGINES)))
    raise EngineError(
        f"engine needs one of {names}, or an Engine, got {engine!r}. Leave it out for 'numba'."
    )
