"""The project's own source files, parsed once, for the checks in ``tests/architecture``.

A check is a function from a root folder to a list of findings, one line of text each. Tests assert
that it finds nothing in the project, and that it finds what they plant in a temporary folder.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
PACKAGES = ("autodiff", "circuits", "qml")

Function = ast.FunctionDef | ast.AsyncFunctionDef

ASSEMBLED = {"Refusal", "RefusedInstruction", "Unread"}
"""Errors that are parts of a message, or made of them; the remedy is an argument of its own."""


@dataclass(frozen=True)
class Source:
    """One Python file: its path below the root, its text and its syntax tree."""

    path: PurePosixPath
    text: str
    tree: ast.Module

    @property
    def module(self) -> str:
        """The dotted name; a package's is that of its ``__init__`` file."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def functions(self) -> Iterator[Function]:
        """Every function and method, nested ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))


@cache
def sources(root: Path, folders: tuple[str, ...] = PACKAGES) -> tuple[Source, ...]:
    """The Python files below ``root/folder`` for each folder, in order of their paths."""
    paths = [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]
    return tuple(_parse(path, root) for path in paths)


def own_errors(root: Path) -> set[str]:
    """The classes that derive, directly or not, from one of the bases, and are given messages."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for source in sources(root)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"AutodiffError", "CircuitError"}
    while more := {name for name, above in bases.items() if name not in found and above & found}:
        found |= more
    return found - ASSEMBLED


def plant(root: Path, files: Mapping[str, str]) -> Path:
    """Write ``files`` (path: text) below ``root``, every folder on the way made a package."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in path.relative_to(root).parents[:-1]:
            (root / folder / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")
    return root


def _parse(path: Path, root: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    relative = PurePosixPath(path.relative_to(root).as_posix())
    return Source(relative, text, ast.parse(text, filename=str(path)))
