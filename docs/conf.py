"""Settings of Sphinx; ``scripts/docs`` builds the pages."""

from __future__ import annotations

import re
from typing import Any

project = "ketgrad"
author = "The ketgrad contributors"
copyright = author
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
]
smartquotes = False  # code is copied from these pages
html_theme = "furo"
html_title = "ketgrad"
exclude_patterns = ["_build"]

# Headings of pages can be linked to, as in [x](page.md#heading).
myst_heading_anchors = 3

autodoc_typehints = "none"  # signatures have them; docstrings say shapes and units
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Reference"]
napoleon_use_ivar = True  # attributes are listed with their class, once


def keep_formulas(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Escape ``|x|`` and ``x**2`` in running text, which reStructuredText takes for markup."""
    inside = False  # an example, which ends with an empty line
    for k, line in enumerate(lines):
        inside = bool(line.strip()) and (inside or line.lstrip().startswith(">>>"))
        if not inside:
            parts = re.split(r"(``.*?``)", line)
            parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
            lines[k] = "".join(parts)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", keep_formulas, priority=400)  # before napoleon
