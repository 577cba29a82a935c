"""Every module has its tests in the file of the same place and name below ``tests``."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from sources import ROOT, plant, sources

#: Modules without a test file of their own, and where they are tested instead.
TESTED_ELSEWHERE: dict[str, str] = {}

NOT_MIRRORED = ("__init__.py", "__main__.py")


def untested_modules(root: Path, elsewhere: dict[str, str]) -> list[str]:
    """Modules whose test file is missing, and entries of ``elsewhere`` that say nothing."""
    missing = {
        str(source.path)
        for source in sources(root)
        if source.path.name not in NOT_MIRRORED and not (root / mirror(source.path)).is_file()
    }
    astray = [test for test in elsewhere.values() if not (root / test).is_file()]
    return sorted((missing ^ elsewhere.keys()) | set(astray))


def mirror(path: PurePosixPath) -> PurePosixPath:
    """The test file of a module: that of ``qml/a/b.py`` is ``tests/qml/a/test_b.py``."""
    return "tests" / path.with_name(f"test_{path.name.lstrip('_')}")


def test_every_module_has_its_test_file() -> None:
    assert untested_modules(ROOT, TESTED_ELSEWHERE) == []


def test_missing_file_is_found(tmp_path: Path) -> None:
    files = {"qml/a.py": "", "qml/optim/_b.py": "", "tests/qml/optim/test_b.py": ""}
    assert untested_modules(plant(tmp_path, files), {}) == ["qml/a.py"]


def test_exception_counts_only_while_it_is_needed_and_true(tmp_path: Path) -> None:
    root = plant(tmp_path, {"qml/a.py": "", "qml/b.py": "", "tests/qml/test_b.py": ""})
    assert untested_modules(root, {"qml/a.py": "tests/qml/test_b.py"}) == []
    wrong = {"qml/a.py": "tests/qml/test_c.py", "qml/b.py": "tests/qml/test_b.py"}
    assert untested_modules(root, wrong) == ["qml/b.py", "tests/qml/test_c.py"]
