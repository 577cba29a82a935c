"""Write ``docs/ops.md`` from the op table.

Run it after a change there: ``python scripts/write_ops_page.py``. A test compares.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import autodiff  # noqa: F401 - fills the table
from autodiff.table import FUNCTIONS, METHODS, OPS

PAGE = Path(__file__).parents[1] / "docs" / "ops.md"

HEAD = """\
# Tensor functions

<!-- Written by scripts/write_ops_page.py from autodiff/ops: edit there. -->

Functions of `autodiff` (and of `qml`), with NumPy's names and rules: `axis`, `keepdims`,
broadcasting. Those marked so are methods of `Tensor` as well. "real" operands are refused when
they are complex. Gradients are differentiable again, unless there are none. NumPy's own functions
work on Tensors where they are ufuncs: `np.sin(t)` is `autodiff.sin(t)`.

| function | also | method | operands | gradient | what it does |
|---|---|---|---|---|---|
"""


def page() -> str:
    """The whole page."""
    names: dict[Callable[..., object], list[str]] = {}
    for name, function in FUNCTIONS.items():
        names.setdefault(function, []).append(name)
    rows = sorted(names.items(), key=lambda item: item[1][0])
    return HEAD + "\n".join(_line(function, *several) for function, several in rows) + "\n"


def _line(function: Callable[..., object], name: str, *also: str) -> str:
    row = OPS.get(name)  # none for functions that consist of other ones
    cells = (
        f"`{name}`",
        ", ".join(f"`{alias}`" for alias in also),
        "yes" if name in METHODS else "",
        "real" if row is not None and not row.takes_complex else "real, complex",
        "none" if row is not None and row.vjp is None else "yes",
        _summary(function),
    )
    return f"| {' | '.join(cells)} |"


def _summary(function: Callable[..., object]) -> str:
    """The docstring's first sentence, as Markdown in a table's cell."""
    paragraph = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=\.)\s", paragraph.removeprefix("Return "))[0]
    plain = sentence.replace("``", "`").replace("|", "\\|")
    # Powers in running text would read as emphasis.
    parts = plain.split("`")
    parts[::2] = [part.replace("*", "\\*") for part in parts[::2]]
    return "`".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
