"""Every public name says what it is."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace

import pytest
from sources import PACKAGES


def undocumented(package: ModuleType | SimpleNamespace) -> list[str]:
    """The functions, classes and modules in ``package.__all__`` that lack a docstring."""
    public = {name: getattr(package, name) for name in package.__all__}
    return [name for name, value in public.items() if _explains_itself(value) and not _doc(value)]


def _explains_itself(value: object) -> bool:
    """Constants, such as dtypes, carry the docstring of their class and are left out."""
    return inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value)


def _doc(value: object) -> str:
    """The docstring, or nothing where a dataclass has made one of its fields."""
    text = value.__doc__ or ""
    return "" if text.startswith(f"{getattr(value, '__name__', '')}(") else text.strip()


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_have_docstrings(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__all__
    assert undocumented(package) == []


def test_missing_docstring_is_found() -> None:
    @dataclass
    class Made:
        x: int

    class Inherits(dict): ...

    def silent() -> None: ...

    def documented() -> None:
        """It is."""

    constants = {"F32": 1.5}
    functions: dict[str, Callable[..., object]] = {
        "Made": Made,
        "Inherits": Inherits,
        "silent": silent,
        "documented": documented,
    }
    face = SimpleNamespace(**functions, **constants, __all__=[*functions, *constants])
    assert undocumented(face) == ["Made", "Inherits", "silent"]
