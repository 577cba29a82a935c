"""``docs/api.md`` documents every public name, or a page written from the docstrings does."""

from __future__ import annotations

import importlib
import inspect
import re

import pytest
from sources import PACKAGES, ROOT

from autodiff.table import FUNCTIONS

DOCS = ROOT / "docs"
API = (DOCS / "api.md").read_text(encoding="utf-8")

#: Pages with a heading for each name; ``ops.md`` has a row for each function of the table.
WRITTEN = ("ansaetze.md", "optimizers.md")

DIRECTIVE = re.compile(r"^\.\. auto(\w+):: (\S+)\n((?: {3}:.*\n)*)", flags=re.MULTILINE)


def documented(text: str) -> list[object]:
    """What the directives of a page document, as Sphinx's autodoc reads them."""
    found: list[object] = []
    for kind, path, options in DIRECTIVE.findall(text):
        if kind != "module":
            module, _, name = path.rpartition(".")
            found.append(getattr(importlib.import_module(module), name))
            continue
        module = importlib.import_module(path)
        chosen = re.search(r":members: (.+)", options)
        own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == path]
        found += [getattr(module, name) for name in (chosen[1].split(", ") if chosen else own)]
    return found


def undocumented(package: str, text: str) -> list[str]:
    """The public names of a package that neither the page nor a written one has."""
    objects = {id(each) for each in documented(text)}
    written = "\n".join((DOCS / page).read_text(encoding="utf-8") for page in WRITTEN)
    module = importlib.import_module(package)

    def found(name: str) -> bool:
        value = getattr(module, name)
        if inspect.isroutine(value) or inspect.isclass(value):
            on_a_page = name in FUNCTIONS or re.search(rf"^##+ {name}$", written, re.MULTILINE)
            return id(value) in objects or bool(on_a_page)
        return id(value) in objects or f"`{name}`" in text  # a constant, or a module

    return [name for name in module.__all__ if not found(name)]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_documented(package: str) -> None:
    assert undocumented(package, API) == []


def test_name_without_a_directive_is_found() -> None:
    shorter = API.replace(".. automodule:: qml.trainer\n", "").replace("`F32`", "")
    assert undocumented("qml", shorter) == ["Trainer", "F32"]
    shorter = API.replace(":members: fidelity, overlap", ":members: overlap")
    assert undocumented("circuits", shorter) == ["fidelity"]
