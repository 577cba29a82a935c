"""How large a file, a function and a line may be, and which names may stand side by side."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest
from sources import PACKAGES, ROOT, Function, Source, plant, sources

Check = Callable[[Path], list[str]]

FILE, KERNEL_FILE, FUNCTION, LINE = 400, 600, 40, 100

#: Everything that people read: the packages and what stands around them.
FOLDERS = (*PACKAGES, "tests", "benchmarks", "scripts")
DEVICE_CODE = (".cu", ".h")


def long_files(root: Path) -> list[str]:
    """Files with more lines than their budget."""
    return [
        f"{path}: {len(lines)} lines, {budget} allowed"
        for path, lines in _texts(root)
        if len(lines) > (budget := KERNEL_FILE if _is_kernel(path) else FILE)
    ]


def long_lines(root: Path) -> list[str]:
    """Lines that do not fit on a screen."""
    return [
        f"{path}:{number} has {len(line)} characters, {LINE} allowed"
        for path, lines in _texts(root)
        for number, line in enumerate(lines, start=1)
        if len(line) > LINE
    ]


def long_functions(root: Path) -> list[str]:
    """Functions whose body, without the docstring, has more lines than the budget.

    In a kernel file a comment ``# budget: <reason>`` on the line of the ``def`` lifts it.
    """
    return [
        f"{source.path}:{function.lineno} {function.name}: {length} lines, {FUNCTION} allowed"
        for source in sources(root, FOLDERS)
        for function in source.functions()
        if (length := _body_length(function)) > FUNCTION and not _has_reason(source, function)
    ]


def shadowed_modules(root: Path) -> list[str]:
    """Modules with the name of a public function beside them, which would hide one of the two."""
    return [
        f"{source.path} defines or takes in {name}, the name of a module beside it"
        for source in sources(root)
        for name in _public_names(source)
        if name in _module_names(root / source.path.parent)
    ]


def _texts(root: Path) -> Iterator[tuple[PurePosixPath, list[str]]]:
    for source in sources(root, FOLDERS):
        yield source.path, source.text.splitlines()
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in DEVICE_CODE:
                relative = PurePosixPath(path.relative_to(root).as_posix())
                yield relative, path.read_text(encoding="utf-8").splitlines()


def _is_kernel(path: PurePosixPath) -> bool:
    return "kernels" in path.name or path.suffix in DEVICE_CODE


def _body_length(function: Function) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def _has_reason(source: Source, function: Function) -> bool:
    line = source.text.splitlines()[function.lineno - 1]
    return _is_kernel(source.path) and re.search(r"# budget: \w", line) is not None


def _public_names(source: Source) -> Iterator[str]:
    """The functions that a file defines; for an ``__init__``, every name it gives or takes in."""
    face = source.path.name == "__init__.py"
    for node in source.tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) if face:
                yield name
            case ast.ImportFrom(module=str(module), names=names) if face:
                yield from (a.asname or a.name for a in names if module != source.module)


def _module_names(folder: Path) -> set[str]:
    modules = {path.stem for path in folder.glob("*.py")}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


CHECKS = (long_files, long_lines, long_functions, shadowed_modules)

LONG_BODY = 'def f():\n    """Say\n    it."""\n' + "    x = 1\n" * (FUNCTION + 1)

VIOLATIONS = (
    (long_files, {"qml/x.py": "x = 1\n" * (FILE + 1)}, "qml/x.py: 401 lines"),
    (long_files, {"circuits/engines/x_kernels.py": "x = 1\n" * (KERNEL_FILE + 1)}, "601 lines"),
    (long_files, {"circuits/engines/x.cu": "int x;\n" * (KERNEL_FILE + 1)}, "x.cu: 601 lines"),
    (long_lines, {"tests/test_x.py": "\nx = " + "1" * (LINE - 3)}, "tests/test_x.py:2 has 101"),
    (long_lines, {"autodiff/x.h": "/" * (LINE + 1)}, "autodiff/x.h:1"),
    (long_functions, {"qml/x.py": LONG_BODY}, "f: 41 lines"),
    (long_functions, {"qml/x.py": LONG_BODY.replace(":\n", ":  # budget: why\n", 1)}, "f: 41"),
    (long_functions, {"qml/x_kernels.py": LONG_BODY.replace(":\n", ":  # budget:\n", 1)}, "f: 41"),
    (shadowed_modules, {"qml/sample.py": "def sample(): ...\n"}, "qml/sample.py defines"),
    (shadowed_modules, {"qml/a.py": "def sample(): ...\n", "qml/sample.py": ""}, "qml/a.py"),
    (shadowed_modules, {"qml/draw.py": "", "qml/__init__.py": "from qml.a import draw"}, "init"),
    (shadowed_modules, {"qml/draw.py": "", "qml/__init__.py": "draw = Drawing"}, "init"),
    (shadowed_modules, {"qml/plan/x.py": "", "qml/a.py": "def plan(): ...\n"}, "qml/a.py"),
)

ALLOWED = {
    "qml/__init__.py": "from qml import losses\nfrom . import plots\n",
    "qml/losses.py": LONG_BODY.replace("    x = 1\n", "", 1),
    "qml/plots.py": "x = 1\n" * FILE,
    "qml/draw.py": "def _draw(): ...\n\nclass Drawing:\n    def draw(self): ...\n",
    "circuits/engines/x_kernels.py": LONG_BODY.replace(":\n", ":  # budget: one sweep\n", 1)
    + "x = 1\n" * (FILE - FUNCTION),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_project_keeps_to_the_budget(check: Check) -> None:
    assert check(ROOT) == []


@pytest.mark.parametrize(("check", "files", "finding"), VIOLATIONS)
def test_check_finds_a_planted_violation(
    check: Check, files: dict[str, str], finding: str, tmp_path: Path
) -> None:
    findings = check(plant(tmp_path, files))
    assert len(findings) == 1
    assert finding in findings[0]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_check_accepts_what_is_within_the_budget(check: Check, tmp_path: Path) -> None:
    assert check(plant(tmp_path, ALLOWED)) == []
