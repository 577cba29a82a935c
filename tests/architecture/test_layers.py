"""Who may import what: the contracts in ``pyproject.toml``, and what those cannot say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from imports import Import, imports
from sources import PACKAGES, ROOT, Source, plant, sources

Check = Callable[[Path], list[str]]

CUPY = "autodiff/backends/cupy_backend.py"
NUMBA = "circuits/engines/numba*.py"
QISKIT = "circuits/interop/qiskit/*"


@dataclass(frozen=True)
class Guarded:
    """A package that takes long to import, or is optional.

    Attributes:
        eager: the files that may import it when they are imported themselves.
        lazy: the files that may import it inside a function.
    """

    package: str
    eager: str = ""
    lazy: str = ""


GUARDED = (
    Guarded("cupy", eager=CUPY),
    Guarded("cupyx", eager=CUPY),
    Guarded("llvmlite", eager=NUMBA),
    Guarded("matplotlib", eager="circuits/drawing/picture.py", lazy="*"),
    Guarded("numba", eager=NUMBA, lazy="*"),
    Guarded("qiskit", eager=QISKIT),
    Guarded("scipy", lazy="*"),
    Guarded("sklearn", lazy="qml/*"),
)

#: An engine knows no gate, an op no device: files, and what they may not import.
BLIND = (
    ("circuits/engines/*", "circuits.gates"),
    ("autodiff/ops/*", "autodiff.backends.numpy_backend"),
    ("autodiff/ops/*", "autodiff.backends.cupy_backend"),
    ("autodiff/ops/*", "autodiff.backends.emulated_backend"),
)

#: What a dependency brings along under another name: import name -> distribution.
BROUGHT_BY = {"llvmlite": "numba", "scipy": "qiskit", "cupyx": "cupy"}


def broken_contracts(root: Path) -> list[str]:
    """The names of the import-linter contracts that the packages below ``root`` break."""
    run = "import sys, importlinter.cli as cli; sys.exit(cli.lint_imports(no_cache=True))"
    done = subprocess.run(
        [sys.executable, "-c", run], cwd=root, capture_output=True, text=True, check=False
    )
    broken = re.findall(r"^(.+) BROKEN", done.stdout, flags=re.MULTILINE)
    if done.returncode and not broken:
        return [done.stdout + done.stderr]
    return broken


def misplaced_imports(root: Path) -> list[str]:
    """Imports of guarded packages in files, or at moments, that may not have them."""
    return [
        f"{source.path}:{found.line} imports {rule.package}"
        for rule in GUARDED
        for source in sources(root)
        for found in imports(source)
        if found.package == rule.package and not _may(source, found, rule)
    ]


def _may(source: Source, found: Import, rule: Guarded) -> bool:
    path = str(source.path)
    return fnmatch(path, rule.eager) or (found.lazy and fnmatch(path, rule.lazy))


def eager_users(root: Path) -> list[str]:
    """Module-level imports that load a guarded package by way of a file that may import it."""
    return [line for rule in GUARDED for line in _eager_users(sources(root), rule)]


def _eager_users(files: tuple[Source, ...], rule: Guarded) -> list[str]:
    known = {source.module for source in files}
    eager = {source: [found for found in imports(source) if not found.lazy] for source in files}
    heavy: set[str] = set()
    grown = True
    while grown:
        before = len(heavy)
        heavy |= {
            source.module
            for source, found in eager.items()
            if any(f.package == rule.package or f.module(known) in heavy for f in found)
        }
        grown = len(heavy) > before
    return [
        f"{source.path}:{found.line} loads {rule.package} through {found.module(known)}"
        for source, several in eager.items()
        for found in several
        if found.module(known) in heavy and not fnmatch(str(source.path), rule.eager)
    ]


def cycles(root: Path) -> list[str]:
    """A cycle of modules that import each other, imports inside functions included."""
    files = sources(root)
    known = {source.module for source in files}
    graph = {
        source.module: {found.module(known) for found in imports(source)} - {None}
        for source in files
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [" <- ".join(error.args[1])]
    return []


def sighted(root: Path) -> list[str]:
    """Engines that know gates, and ops that know devices."""
    return [
        f"{source.path}:{found.line} imports {found.target}"
        for pattern, forbidden in BLIND
        for source in sources(root)
        if fnmatch(str(source.path), pattern)
        for found in imports(source)
        if f"{found.target}.".startswith(f"{forbidden}.")
    ]


def undeclared_imports(root: Path) -> list[str]:
    """Imports that no dependency in ``pyproject.toml`` provides."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    declared = {
        re.split(r"[^\w-]", name.replace("cupy-cuda", "cupy "))[0].replace("-", "_")
        for name in [
            *project["dependencies"],
            *[name for extra in ("cuda12", "cuda13", "qasm3") for name in optional[extra]],
        ]
    }
    provided = declared | set(PACKAGES) | set(sys.stdlib_module_names)
    return [
        f"{source.path}:{found.line} imports {found.package}"
        for source in sources(root)
        for found in imports(source)
        if BROUGHT_BY.get(found.package, found.package) not in provided
    ]


CHECKS = (broken_contracts, misplaced_imports, eager_users, cycles, sighted, undeclared_imports)

CLEAN = {
    "autodiff/tensors.py": "import numpy\n",
    "autodiff/backends/cupy_backend.py": "import cupy\n",
    "circuits/plans.py": "from autodiff.tensors import numpy\n",
    "circuits/engines/numba_kernels.py": "import numba\nfrom llvmlite import ir\n",
    "circuits/engines/numba_cpu.py": "from circuits.engines.numba_kernels import ir\n",
    "circuits/interop/qiskit/importer.py": "from qiskit.circuit import Gate\n",
    "circuits/doors.py": "def run():\n    from circuits.engines import numba_cpu\n",
    "qml/face.py": "from circuits import doors\ndef plot():\n    import matplotlib.pyplot\n",
}

VIOLATIONS = (
    (broken_contracts, {"autodiff/x.py": "def f():\n    import qml\n"}, "qml builds on circuits"),
    (
        broken_contracts,
        {"circuits/a.py": "import circuits.b", "circuits/b.py": "import circuits.a"},
        "No import cycles",
    ),
    (broken_contracts, {"qml/x.py": "def f():\n    import cupy\n"}, "CuPy"),
    (broken_contracts, {"circuits/x.py": "def f():\n    import qiskit\n"}, "Qiskit"),
    (misplaced_imports, {"qml/x.py": "import scipy.sparse\n"}, r"qml/x.py:1 imports scipy"),
    (misplaced_imports, {"qml/x.py": "class A:\n    import numba\n"}, r"x.py:2 imports numba"),
    (misplaced_imports, {"qml/x.py": "def f():\n    import_module('cupy')\n"}, "imports cupy"),
    (misplaced_imports, {"circuits/x.py": "def f():\n    import sklearn.svm\n"}, "sklearn"),
    (eager_users, {"qml/x.py": "import circuits.engines.numba_cpu"}, r"loads numba through"),
    (eager_users, {"circuits/x.py": "from .interop.qiskit.importer import Gate"}, "loads qiskit"),
    (
        cycles,
        {"qml/a.py": "def f():\n    import qml.b\n", "qml/b.py": "from . import a"},
        r"qml\.[ab] <- qml\.[ab]",
    ),
    (cycles, {"qml/__init__.py": "from qml.a import f", "qml/a.py": "from qml import f"}, "qml.a"),
    (sighted, {"circuits/engines/x.py": "from circuits.gates import GATES"}, "circuits.gates"),
    (
        sighted,
        {"autodiff/ops/x.py": "from autodiff.backends import numpy_backend"},
        "numpy_backend",
    ),
    (undeclared_imports, {"qml/x.py": "def f():\n    import torch\n"}, "imports torch"),
)


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    """A small project that breaks no rule, under this project's configuration."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return plant(tmp_path, CLEAN)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_project_keeps_to_the_layers(check: Check) -> None:
    assert check(ROOT) == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_check_accepts_a_clean_tree(check: Check, clean: Path) -> None:
    assert check(clean) == []


@pytest.mark.parametrize(("check", "files", "finding"), VIOLATIONS)
def test_check_finds_a_planted_violation(
    check: Check, files: dict[str, str], finding: str, clean: Path
) -> None:
    findings = check(plant(clean, files))
    assert any(re.search(finding, line) for line in findings), findings


def test_imports_for_type_checkers_are_left_out(clean: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import scipy\n"
    assert misplaced_imports(plant(clean, {"qml/x.py": text})) == []
