"""``docs/optimizers.md`` is what its script writes, and its table what the tutorial finds."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from notebooks import run_as_script
from sources import ROOT

import qml
from qml.optim.base import Optimizer
from qml.optim.schedule import Schedule

SCRIPT = ROOT / "scripts" / "write_optimizers_page.py"
PAGE = ROOT / "docs" / "optimizers.md"


def test_page_is_up_to_date() -> None:
    written = runpy.run_path(str(SCRIPT))["page"]()
    assert PAGE.read_text(encoding="utf-8") == written


def test_every_optimizer_and_schedule_has_a_section_with_formula_and_reference() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in qml.__all__:
        thing = getattr(qml, name)
        if isinstance(thing, type) and issubclass(thing, Optimizer | Schedule):
            section = re.search(rf"^### {name}\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL)
            assert section or thing is Optimizer, name
        if isinstance(thing, type) and issubclass(thing, Optimizer) and thing is not Optimizer:
            assert "Reference: " in section[1], name
            assert "PyTorch" in section[1] or name == "AdamW", name


def test_table_is_what_the_tutorial_finds(tmp_path: Path) -> None:
    found = run_as_script("03_optimizers.py", tmp_path)["result"]
    rows = re.findall(r"^\| ([\w -]+) \| (\d+) \| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert [name for name, _, _ in rows] == list(found)
    for name, steps, gradients in rows:
        race = found[name]
        assert (race["steps"], race["gradients"]) == (int(steps), int(gradients))
        assert race["error"] <= qml.CHEMICAL_ACCURACY
