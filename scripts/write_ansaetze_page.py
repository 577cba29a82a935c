"""Write ``docs/ansaetze.md`` from the table of ansaetze and the docstrings.

Run it after a change there: ``python scripts/write_ansaetze_page.py``. A test compares.
"""

from __future__ import annotations

import doctest
import inspect
import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np

import qml
from qml.ansaetze.table import ANSAETZE, Row

PAGE = Path(__file__).parents[1] / "docs" / "ansaetze.md"

HEAD = """\
# Ansaetze and encodings

<!-- Written by scripts/write_ansaetze_page.py from qml/ansaetze/table.py: edit there. -->

Functions that build circuits. What they return is an ordinary `Circuit`: `compose` puts one after
the other, `append` places one on some qubits, gates may follow. Angles are scalar Parameters named
`theta[0]`, `theta[1]`, ..., features enter through an `Input`.

Starting values are always given: `initial` is an array, one number for all, or an initializer,
which draws from an explicit seed. The code on this page runs as it stands.

| function | Parameters | features |
|---|---|---|
"""

BESIDES: tuple[tuple[str, tuple[Callable[..., object], ...]], ...] = (
    ("Parts and helpers", (qml.single_excitation, qml.double_excitation, qml.excitations)),
    ("Graphs", (qml.maxcut_hamiltonian,)),
    ("Features as amplitudes", (qml.amplitude_encoding,)),
    (
        "Initializers",
        (qml.uniform_angles, qml.normal_angles, qml.small_angles, qml.identity_blocks),
    ),
)


def page() -> str:
    """The whole page."""
    rows = [
        f"| [`{name}`](#{name}) | {row.formula} | {_features(row)} |"
        for name, row in ANSAETZE.items()
    ]
    parts = [HEAD + "\n".join(rows)]
    parts += [_section(row.function, 2) for row in ANSAETZE.values()]
    for title, functions in BESIDES:
        parts += [f"## {title}", *[_section(function, 3) for function in functions]]
    return "\n\n".join(parts) + "\n"


def _features(row: Row) -> str:
    return "x[0] ... x[n - 1]" if row.features(**row.settings[0]) else "none"


def _section(function: Callable[..., object], level: int) -> str:
    name = function.__name__
    text = inspect.getdoc(function) or ""
    summary = _prose(re.split(r"\n\n(?:Args|Example):\n", text)[0])
    parts = [f"{'#' * level} {name}", summary, f"`qml.{name}({_arguments(function)})`"]
    settings = re.search(r"^Args:\n(.*?)(?:\n\n|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    if settings:
        parts.append(_list(textwrap.dedent(settings[1])))
    parts.append(_example(text))
    reference = re.search(r"^Reference:\n(.*)\Z", text, flags=re.MULTILINE | re.DOTALL)
    if reference:
        parts.append("Reference: " + " ".join(reference[1].split()))
    return "\n\n".join(parts)


def _arguments(function: Callable[..., object]) -> str:
    """The arguments as they are written in a ``def``."""
    parts: list[str] = []
    for argument in inspect.signature(function).parameters.values():
        if argument.kind is argument.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if argument.default is argument.empty else f"={_plain(argument.default)}"
        parts.append(f"{argument.name}{default}")
    return ", ".join(parts)


def _plain(value: object) -> str:
    return value.name if isinstance(value, np.dtype) else repr(value)


def _prose(text: str) -> str:
    return text.replace("``", "`")


def _list(text: str) -> str:
    entries = re.split(r"\n(?=\w+: )", text)
    return "\n".join("- `{}`: {}".format(*_prose(e).split(": ", 1)) for e in entries)


def _example(text: str) -> str:
    """The docstring's example as code, what it gives as comments."""
    lines = ["```python"]
    for example in doctest.DocTestParser().get_examples(text):
        lines.append(example.source.rstrip())
        lines += [f"# {line}" for line in example.want.splitlines()]
    return "\n".join([*lines, "```"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
