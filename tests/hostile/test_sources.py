"""The packages run no text and unpickle nothing: read off their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import ROOT, plant, sources

RUNS_TEXT = {"eval", "exec", "compile", "__import__"}
"""Builtins that turn text into code; ``re.compile`` and methods of that name are none of them."""

UNPICKLES = {
    "pickle": {"load", "loads", "Unpickler"},
    "marshal": {"load", "loads"},
    "shelve": {"open"},
    "numpy": {"load", "fromregex"},
    "np": {"load", "fromregex"},
    "yaml": {"load"},
    "joblib": {"load"},
    "torch": {"load"},
    "os": {"system", "popen"},
}
STARTS_PROGRAMS = {"subprocess": {"autodiff/backends/host_modules.py", "qml/doctor.py"}}
"""Modules with exceptions: the compiler of the emulated kernels, and the tools that doctor asks."""


def dangers(root: Path) -> list[str]:
    """Calls and imports that could run what a file says."""
    return [
        f"{source.path}:{line} uses {what}"
        for source in sources(root)
        for line, what in _found(source.tree, str(source.path))
    ]


def _found(tree: ast.Module, path: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in RUNS_TEXT:
                yield node.lineno, name
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                if name in UNPICKLES.get(module, ()):
                    yield node.lineno, f"{module}.{name}"
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    if alias.name in UNPICKLES.get(module or "", ()):
                        yield node.lineno, f"{module}.{alias.name}"
                if path not in STARTS_PROGRAMS.get(module or "", {path}):
                    yield node.lineno, str(module)
            case ast.Import(names=names):
                for alias in names:
                    if path not in STARTS_PROGRAMS.get(alias.name, {path}):
                        yield node.lineno, alias.name
            case ast.keyword(arg="allow_pickle" | "shell"):
                yield node.value.lineno, str(node.arg)


def test_packages_run_no_text_and_unpickle_nothing() -> None:
    assert dangers(ROOT) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("x = eval('1')", "eval"),
        ("exec('1')", "exec"),
        ("run = [compile]", "compile"),
        ("import pickle\npickle.loads(b'')", "pickle.loads"),
        ("from pickle import load", "pickle.load"),
        ("import numpy as np\nnp.load('a')", "np.load"),
        ("f(a, allow_pickle=True)", "allow_pickle"),
        ("import subprocess", "subprocess"),
        ("from subprocess import run", "subprocess"),
    ],
)
def test_danger_is_found(tmp_path: Path, text: str, what: str) -> None:
    (found,) = dangers(plant(tmp_path, {"qml/a.py": text}))
    assert found.endswith(f"uses {what}")


def test_harmless_names_are_not_found(tmp_path: Path) -> None:
    text = "import re\nre.compile('a')\nmodel.eval()\nqml.load('a')\nimport copyreg"
    assert dangers(plant(tmp_path, {"qml/a.py": text})) == []
