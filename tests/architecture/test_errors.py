"""Nothing is swallowed, nothing is skipped, nothing is left for later."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from sources import PACKAGES, ROOT, Source, own_errors, plant, sources

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


def refusals_without_remedy(root: Path) -> list[str]:
    """Messages of the project's own errors that end with what was wrong: say what to do, too."""
    kinds = own_errors(root)
    return [
        f"{source.path}:{node.lineno} says not what to do"
        for source in sources(root)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in kinds
        and node.args
        and _has_one_sentence(_text(node.args[0]))
    ]


def _text(node: ast.expr) -> str:
    """The text of a message, with {} for each value; one that is computed elsewhere is a value."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(["{}" if isinstance(p, ast.FormattedValue) else _text(p) for p in parts])
        case ast.BinOp(left=left, right=right):
            return _text(left) + _text(right)
    return "{}"


def _has_one_sentence(text: str) -> bool:
    """Whether no sentence follows the first; one that is a value counts."""
    first = text.partition("\n")[0]  # a listing may follow
    return text != "{}" and not re.search(r"[.:?] +[A-Z{'\"].*[.:)}]$", first)


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


CHECKS = (broad_handlers, skipped_tests, notes_for_later, refusals_without_remedy)

TRY = "try:\n    x = 1\nexcept{}:\n    x = 2\n"

REFUSAL = "class OwnError(CircuitError): ...\nraise OwnError({})\n"

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
    (refusals_without_remedy, {"qml/x.py": REFUSAL.format('f"x needs 1, got {x}."')}, "qml/x.py:2"),
    (refusals_without_remedy, {"qml/x.py": REFUSAL.format('"x needs 1, got 2"')}, "qml/x.py:2"),
    (notes_for_later, {"qml/x.py": "x = 1  # TODO: two\n"}, "qml/x.py:1"),
    (notes_for_later, {"tests/test_x.py": "# FIXME\n"}, "tests/test_x.py:1"),
)

ALLOWED = {
    "qml/x.py": TRY.format(" (ValueError, KeyError)") + 'TEXT = "TODO"\n',
    "qml/y.py": REFUSAL.format('f"x needs 1, got {x}. Add {1 - x}."'),
    "qml/z.py": REFUSAL.format('f"x needs 1, got {x}. {REMEDY}"'),
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
