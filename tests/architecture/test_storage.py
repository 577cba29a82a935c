"""Only ``autodiff/storage.py`` touches the copies that a storage keeps of its value."""

from __future__ import annotations

import re
from pathlib import Path

from sources import PACKAGES, ROOT, plant, sources

OWNER = "autodiff/storage.py"
NAME = re.compile(r"\b_copies\b")


def users_of_copies(root: Path) -> list[str]:
    """The files that name the copies, be it in code, in a comment or in a string."""
    here = Path(__file__).relative_to(ROOT).as_posix()
    paths = [str(s.path) for s in sources(root, (*PACKAGES, "tests")) if NAME.search(s.text)]
    return [path for path in paths if path != here]


def test_only_storage_touches_the_copies() -> None:
    assert users_of_copies(ROOT) == [OWNER]


def test_other_user_is_found(tmp_path: Path) -> None:
    files = {
        OWNER: "self._copies = {}",
        "qml/a.py": "n_copies = deep_copies = 1",
        "qml/b.py": "getattr(storage, '_copies')",
        "tests/test_c.py": "assert storage._copies",
    }
    assert users_of_copies(plant(tmp_path, files)) == [OWNER, "qml/b.py", "tests/test_c.py"]
