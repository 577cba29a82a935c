"""The code blocks of every page in ``docs`` run, from top to bottom, or say why they do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sources import ROOT, own_errors

PAGES = sorted((ROOT / "docs").glob("*.md"))
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)

#: Number of code blocks that run, by page.
BLOCKS = {
    "adding": 11,
    "ansaetze": 19,
    "api": 0,
    "architecture": 1,
    "conventions": 7,
    "drawing": 4,
    "engines": 7,
    "errors": 6,
    "from_pennylane": 3,
    "from_pytorch": 6,
    "from_qiskit": 5,
    "gates": 0,
    "gpu": 4,
    "gradients": 13,
    "index": 1,
    "ops": 0,
    "optimizers": 22,
    "performance": 1,
    "qiskit": 11,
    "quickstart": 8,
    "residency": 11,
    "runtime": 13,
    "training": 6,
    "tutorials": 0,
}

#: Says why the code block after it does not run.
REASON = re.compile(r"<!-- not executed: \S.* -->")


def python_blocks(text: str) -> list[str]:
    """The fenced Python blocks, each behind as many empty lines as stand above it in the page."""
    blocks, inside = [], False
    for number, line in enumerate(text.splitlines()):
        if inside and line != "```":
            blocks[-1] += f"{line}\n"
        elif line == "```python":
            blocks.append("\n" * (number + 1))
        inside = line == "```python" or (inside and line != "```")
    return blocks


def unexplained_blocks(text: str) -> list[str]:
    """The first lines of blocks in other languages without a reason above; directives are none."""
    lines = text.splitlines()
    found, inside = [], False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            starts = not inside
            inside = starts
            directive = line.startswith("```{")
            reason = number > 0 and REASON.fullmatch(lines[number - 1]) is not None
            if starts and line != "```python" and not directive and not reason:
                found.append(f"{number + 1}: {line}")
    return found


TEXT = "a\n```python\nb\nc\n```\nd\n```bash\ne\n```\n```python\nf\n```\n"


def test_blocks_keep_their_lines() -> None:
    assert python_blocks(TEXT) == ["\n\nb\nc\n", "\n" * 10 + "f\n"]


def test_unexplained_block_is_found() -> None:
    assert unexplained_blocks(TEXT) == ["7: ```bash"]
    assert unexplained_blocks(TEXT.replace("d\n", "<!-- not executed: it asks -->\n")) == []
    assert unexplained_blocks(TEXT.replace("d\n", "<!-- not executed: -->\n")) == ["7: ```bash"]
    assert unexplained_blocks("```{toctree}\na\n```\n```text\nb\n```\n") == ["4: ```text"]


def test_every_page_is_counted() -> None:
    assert sorted(BLOCKS) == [page.stem for page in PAGES]


@every_page
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    executed = 0
    for block in python_blocks(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), names)
        executed += 1
    print(f"{page.stem}: {executed} blocks")
    assert executed == BLOCKS[page.stem]


@every_page
def test_block_that_does_not_run_says_why(page: Path) -> None:
    assert unexplained_blocks(page.read_text(encoding="utf-8")) == []


@every_page
def test_files_that_a_page_names_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:tutorials|scripts|docs|tests|autodiff|circuits|qml)/[\w./]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


@every_page
def test_links_lead_to_pages(page: Path) -> None:
    links = re.findall(r"\]\(([\w./]+\.md)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).is_file()] == []


def test_every_error_has_a_remedy() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    errors = own_errors(ROOT)
    assert {"VersionError", "QubitError", "CheckpointError", "WorkerFailed"} <= errors
    assert sorted(name for name in errors if f"`{name}`" not in text) == []
