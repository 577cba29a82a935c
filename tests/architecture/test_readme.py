"""The README's code runs, and the files it names are there."""

from __future__ import annotations

import os
import re

import pytest
from sources import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


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


@pytest.mark.parametrize("command", re.findall(r"^scripts/\w+", README, flags=re.MULTILINE))
def test_command_can_be_run(command: str) -> None:
    assert os.access(ROOT / command, os.X_OK)


@pytest.mark.parametrize("target", re.findall(r"\]\(([^):]+)\)", README))
def test_link_leads_to_a_file(target: str) -> None:
    assert (ROOT / target).exists()
