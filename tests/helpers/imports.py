"""Which modules a source file imports, and when: at its own import, or inside a function."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from sources import Function, Source


@dataclass(frozen=True)
class Import:
    """``target`` is the dotted name asked for: a module, or a name in one."""

    target: str
    line: int
    lazy: bool

    @property
    def package(self) -> str:
        """The top-level package."""
        return self.target.partition(".")[0]

    def module(self, known: Collection[str]) -> str | None:
        """The module among ``known`` that the target is, or that the target is a name in."""
        parent = self.target.rpartition(".")[0]
        return next((name for name in (self.target, parent) if name in known), None)


def imports(source: Source) -> Iterator[Import]:
    """The imports of a file, those in functions and by literal name (``import_module``) too.

    Imports under ``if TYPE_CHECKING:`` never run and are left out.
    """
    return _visit(source.tree, source, lazy=False)


def _visit(node: ast.AST, source: Source, lazy: bool) -> Iterator[Import]:
    for target in _targets(node, source):
        yield Import(target, getattr(node, "lineno", 0), lazy)
    inside = lazy or isinstance(node, Function | ast.Lambda)
    children: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        children = list(node.orelse)
    for child in children:
        yield from _visit(child, source, inside)


def _targets(node: ast.AST, source: Source) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            base = _base(node, source)
            return [f"{base}.{alias.name}" for alias in node.names]
        case ast.Call(args=[ast.Constant(value=str(name)), *_]):
            called = ast.unparse(node.func).rpartition(".")[2]
            return [name] if called in {"import_module", "__import__"} else []
    return []


def _base(node: ast.ImportFrom, source: Source) -> str:
    if not node.level:
        return node.module or ""
    is_package = source.path.name == "__init__.py"
    parts = source.module.split(".")
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, node.module] if node.module else parts)
