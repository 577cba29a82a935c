"""Write ``docs/drawing.svg``, the picture of the circuit in the first block of ``docs/drawing.md``.

Run it after a change of either: ``python scripts/write_drawing.py``. A test compares.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
PICTURE = DOCS / "drawing.svg"


def picture() -> str:
    """The whole picture, as SVG."""
    text = (DOCS / "drawing.md").read_text(encoding="utf-8")
    block = re.search(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    exec(block[1], names)
    return str(names["circuit"].draw("svg"))


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
