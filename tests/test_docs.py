"""The code blocks of every page in ``docs`` run, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sources import ROOT

PAGES = sorted((ROOT / "docs").glob("*.md"))


def python_blocks(text: str) -> str:
    """The fenced Python blocks as one program, every line at its place in the page."""
    lines, inside = [], False
    for line in text.splitlines():
        starts = line == "```python"
        inside = starts or (inside and line != "```")
        lines.append(line if inside and not starts else "")
    return "\n".join(lines)


def test_blocks_keep_their_lines() -> None:
    text = "a\n```python\nb\nc\n```\nd\n```bash\ne\n```\n```python\nf\n```\n"
    assert python_blocks(text).split("\n") == ["", "", "b", "c", "", "", "", "", "", "", "f", ""]


def test_quickstart_is_among_the_pages() -> None:
    assert "quickstart.md" in [page.name for page in PAGES]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = python_blocks(page.read_text(encoding="utf-8"))
    exec(compile(program, str(page), "exec"), {"__name__": page.stem})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:tutorials|scripts|docs)/[\w./]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []
