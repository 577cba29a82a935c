"""Pages and pictures that scripts write are what the scripts write now."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from xml.etree import ElementTree

import pytest
from sources import PACKAGES, ROOT

from autodiff.table import FUNCTIONS
from circuits.gates import GATES

SCRIPTS = {
    "write_gates_page": "gates.md",
    "write_ops_page": "ops.md",
    "write_import_diagram": "import_diagram.svg",
    "write_drawing": "drawing.svg",
}


def written(script: str) -> str:
    """What a script writes."""
    names = runpy.run_path(str(ROOT / "scripts" / f"{script}.py"))
    make: Callable[[], str] = names.get("page") or names["picture"]
    return make()


@pytest.mark.parametrize(("script", "file"), SCRIPTS.items())
def test_file_is_up_to_date(script: str, file: str) -> None:
    assert (ROOT / "docs" / file).read_text(encoding="utf-8") == written(script), (
        f"run: python scripts/{script}.py"
    )


def test_every_gate_and_alias_is_listed() -> None:
    text = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
    for row in GATES.values():
        assert text.count(f"\n| `{row.name}(") == 1
        assert all(f"`{alias}`" in text for alias in row.aliases)


def test_every_function_is_listed() -> None:
    text = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert [name for name in FUNCTIONS if f"`{name}`" not in text] == []


def test_diagram_has_the_layers_in_order() -> None:
    root = ElementTree.parse(ROOT / "docs" / "import_diagram.svg").getroot()
    texts = [child.text for child in root if child.tag.endswith("text")]
    assert [text for text in texts if text in PACKAGES] == ["qml", "circuits", "autodiff"]
    assert texts.count("imports") == 3
