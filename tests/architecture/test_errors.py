"""Nothing is swallowed, nothing is skipped, nothing is left for later."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from sources import PACKAGES, ROOT, Source, plant, sources

Check = Callable[[Path], list[str]]

BROAD = {"Exception", "BaseException"}
SKIPS = {"skip", "skipif", "skipUnless", "importorskip", "xfail"}
LATER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def broad_handlers(root: Path) -> list[str]:
    """Handlers that catch every error, wanted or not."""
    return [
        f"{source.path}:{node.lineno} catches everything"
        for source in sources(root)
        for node in ast.walk(source.tree)
        if any(name is None or name in BROAD for name in _caught(node))
    ]


def skipped_tests(root: Path) -> list[str]:
    """Tests that may pass without having run."""
    return [
        f"{source.path}:{node.lineno} uses {node.attr}"
        for source in sources(root, ("tests",))
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Attribute)
        and node.attr in SKIPS
        and ast.unparse(node).startswith(("pytest.", "unittest."))
    ]


def notes_for_later(root: Path) -> list[str]:
    """Comments that announce work: do it, or file an issue."""
    return [
        f"{source.path}:{token.start[0]} {token.string}"
        for source in sources(root, (*PACKAGES, "tests", "benchmarks", "scripts"))
        for token in _comments(source)
        if LATER.search(token.string)
    ]


def _caught(node: ast.AST) -> Iterator[str | None]:
    """The names of the exceptions that a handler or ``suppress`` catches; None for a bare one."""
    match node:
        case ast.ExceptHandler(type=None):
            yield None
        case ast.ExceptHandler(type=ast.Tuple(elts=kinds)):
            yield from map(ast.unparse, kinds)
        case ast.ExceptHandler(type=kind) if kind is not None:
            yield ast.unparse(kind)
        case ast.Call(func=function, args=kinds) if ast.unparse(function).endswith("suppress"):
            yield from map(ast.unparse, kinds)


def _comments(source: Source) -> Iterator[tokenize.TokenInfo]:
    tokens = tokenize.generate_tokens(StringIO(source.text).readline)
    return (token for token in tokens if token.type == tokenize.COMMENT)


CHECKS = (broad_handlers, skipped_tests, notes_for_later)

TRY = "try:\n    x = 1\nexcept{}:\n    x = 2\n"

VIOLATIONS = (
    (broad_handlers, {"qml/x.py": TRY.format("")}, "qml/x.py:3"),
    (broad_handlers, {"qml/x.py": TRY.format(" Exception as error")}, "qml/x.py:3"),
    (broad_handlers, {"qml/x.py": TRY.format(" (ValueError, BaseException)")}, "qml/x.py:3"),
    (broad_handlers, {"qml/x.py": "contextlib.suppress(KeyError, Exception)"}, "qml/x.py:1"),
    (skipped_tests, {"tests/test_x.py": "def test_x():\n    pytest.skip('no')\n"}, "skip"),
    (skipped_tests, {"tests/test_x.py": "@pytest.mark.xfail\ndef test_x(): ...\n"}, "xfail"),
    (skipped_tests, {"tests/test_x.py": "cupy = pytest.importorskip('cupy')\n"}, "importorskip"),
    (
        skipped_tests,
        {"tests/test_x.py": "case = pytest.param(1, marks=pytest.mark.skipif(1))"},
        "if",
    ),
    (notes_for_later, {"qml/x.py": "x = 1  # TODO: two\n"}, "qml/x.py:1"),
    (notes_for_later, {"tests/test_x.py": "# FIXME\n"}, "tests/test_x.py:1"),
)

ALLOWED = {
    "qml/x.py": TRY.format(" (ValueError, KeyError)") + 'TEXT = "TODO"\n',
    "tests/test_x.py": "trainer.skip(1)\n",
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_project_keeps_to_it(check: Check) -> None:
    assert check(ROOT) == []


@pytest.mark.parametrize(("check", "files", "finding"), VIOLATIONS)
def test_check_finds_a_planted_violation(
    check: Check, files: dict[str, str], finding: str, tmp_path: Path
) -> None:
    findings = check(plant(tmp_path, files))
    assert len(findings) == 1
    assert finding in findings[0]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_check_accepts_the_like(check: Check, tmp_path: Path) -> None:
    assert check(plant(tmp_path, ALLOWED)) == []
