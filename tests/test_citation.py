"""``CITATION.cff`` says of the project what ``pyproject.toml`` says."""

from __future__ import annotations

import re
import tomllib

import pytest
from sources import ROOT

CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("cff-version", "1.2.0"),
        ("version", PROJECT["version"]),
        ("license", PROJECT["license"]),
        ("type", "software"),
    ],
)
def test_fields(key: str, value: str) -> None:
    assert re.findall(rf"^{key}: (.+)$", CITATION, flags=re.MULTILINE) == [value]


def test_title_and_authors() -> None:
    assert f'title: "{PROJECT["name"]}: ' in CITATION
    assert all(f'- name: "{author["name"]}"' in CITATION for author in PROJECT["authors"])
    assert re.search(r"^message: ", CITATION, flags=re.MULTILINE)
