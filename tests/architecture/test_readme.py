"""The README's code runs, it is short, and what it and CONTRIBUTING name is there."""

from __future__ import annotations

import os
import re

import pytest
from sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([^):#]+)[^):]*\)")


def blocks(text: str, language: str) -> list[str]:
    """The fenced code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_blocks_are_found_by_language() -> None:
    text = "```python\na\nb\n```\nc\n```bash\nd\n```\n```python\ne\n```\n"
    assert blocks(text, "python") == ["a\nb\n", "e\n"]


def test_example_trains() -> None:
    [example] = blocks(README, "python")
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert names["energies"].shape == (64,)


def test_a_trained_circuit_is_five_minutes_of_reading_away() -> None:
    slow = 150  # words a minute, with code and tables among them
    assert len(README.split()) < 5 * slow


def test_figures_are_those_of_the_page_of_performance() -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").splitlines()
    rows = re.findall(r"^\|.*\|$", README, flags=re.MULTILINE)
    assert len(rows) > 5
    assert [row for row in rows if row not in page] == []


@pytest.mark.parametrize("command", re.findall(r"^scripts/\w+", README, flags=re.MULTILINE))
def test_command_can_be_run(command: str) -> None:
    assert os.access(ROOT / command, os.X_OK)


@pytest.mark.parametrize("target", sorted({*LINK.findall(README), *LINK.findall(CONTRIBUTING)}))
def test_link_leads_to_a_file(target: str) -> None:
    assert (ROOT / target).exists()
