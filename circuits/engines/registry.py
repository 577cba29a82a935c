"""Engines by name. An engine's module is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType

from circuits.engines.base import Engine
from circuits.errors import EngineError

ENGINES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "reference": ("circuits.engines.reference", "ReferenceEngine"),
        "numba": ("circuits.engines.numba_cpu", "NumbaEngine"),
    }
)
"""Module and class of every engine."""


@cache
def _made(name: str) -> Engine:
    module, cls = ENGINES[name]
    engine = getattr(import_module(module), cls)()
    assert isinstance(engine, Engine)
    return engine


def get_engine(engine: str | Engine) -> Engine:
    """Return the engine of that name; an engine is returned as it is.

    Raises:
        EngineError: there is no such engine.

    Example:
        >>> get_engine("reference").name
        'reference'
    """
    if isinstance(engine, Engine):
        return engine
    if engine not in ENGINES:
        names = ", ".join(map(repr, ENGINES))
        raise EngineError(
            f"engine needs one of {names}, or an Engine, got {engine!r}. Leave it out for 'numba'."
        )
    return _made(engine)
