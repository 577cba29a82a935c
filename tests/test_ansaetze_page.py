"""``docs/ansaetze.md`` is what its script writes."""

from __future__ import annotations

import runpy

from sources import ROOT

from qml.ansaetze.table import ANSAETZE

SCRIPT = ROOT / "scripts" / "write_ansaetze_page.py"


def test_page_is_up_to_date() -> None:
    written = runpy.run_path(str(SCRIPT))["page"]()
    assert (ROOT / "docs" / "ansaetze.md").read_text(encoding="utf-8") == written
    for name in ANSAETZE:
        assert f"\n## {name}\n" in written
