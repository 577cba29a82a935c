"""Draw ``docs/import_diagram.svg``: the layers of the import contract, and what imports what.

The layers are those of the import-linter contract in ``pyproject.toml``, the arrows the imports
that the code has. Run it after a change: ``python scripts/write_import_diagram.py``. A test
compares.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "import_diagram.svg"

WIDTH, MARGIN, LANE, LINE, INNER = 920, 20, 84, 22, 14
CHARACTER = 7.0  # pixels, of text of 13 pixels
COLOURS = ("#FBE6D6", "#DDF3EA", "#DCEAF6")
EDGE, INK = "#666666", "#222222"
FONT = "DejaVu Sans, Verdana, Arial, sans-serif"


def layers() -> list[str]:
    """The packages, the uppermost first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (found,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    return list(found)


def picture() -> str:
    """The whole picture, as SVG."""
    order = layers()
    graph = grimp.build_graph(*order, exclude_type_checking_imports=True, cache_dir=None)
    y, shapes, boxes = float(MARGIN), [], {}
    for package, colour in zip(order, COLOURS, strict=True):
        # Arrows to lower layers pass beside those in between.
        width = WIDTH - 2 * MARGIN - (LANE if package in order[1:-1] else 0)
        groups = sorted(name.split(".")[-1] for name in graph.find_children(package))
        subpackages = [g for g in groups if graph.find_children(f"{package}.{g}")]
        modules = [g for g in groups if g not in subpackages]
        lines = [f"{name}/" for name in subpackages]
        text = [", ".join(lines)] * bool(lines) + _wrapped(modules)
        height = INNER * 2 + LINE * (len(text) + 1)
        shapes += [
            f'<rect x="{MARGIN}" y="{y:g}" width="{width}" height="{height}" rx="6" '
            f'fill="{colour}" stroke="{EDGE}"/>',
            _text(MARGIN + INNER, y + INNER + 14, package, 'font-weight="bold" font-size="15"'),
        ]
        for k, line in enumerate(text, start=1):
            shapes.append(_text(MARGIN + INNER, y + INNER + 14 + LINE * k, line, 'font-size="13"'))
        boxes[package] = (y, y + height)
        y += height + 56
    shapes += _arrows(order, boxes, graph)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y - 36:g}" '
        f'font-family="{FONT}"><title>What imports what</title>'
        f'<rect width="{WIDTH}" height="{y - 36:g}" fill="#FFFFFF"/>'
    )
    return "\n".join([head, *shapes, "</svg>"]) + "\n"


def _arrows(
    order: list[str], boxes: dict[str, tuple[float, float]], graph: grimp.ImportGraph
) -> list[str]:
    """An arrow from each layer to each one below that it imports from."""
    made = []
    for upper, first in enumerate(order):
        for lower, second in enumerate(order[upper + 1 :], start=upper + 1):
            importers = graph.find_modules_that_directly_import(second, as_package=True)
            if not any(f"{name}.".startswith(f"{first}.") for name in importers):
                continue
            x = 200.0 if lower == upper + 1 else WIDTH - MARGIN - LANE + 16.0
            top, bottom = boxes[first][1], boxes[second][0] - 8
            made.append(
                f'<path d="M {x:g} {top:g} L {x:g} {bottom:g}" stroke="{INK}" stroke-width="1.6"/>'
                f'<path d="M {x - 5:g} {bottom:g} L {x + 5:g} {bottom:g} L {x:g} {bottom + 8:g} Z" '
                f'fill="{INK}"/>'
            )
            made.append(_text(x + 10, boxes[first][1] + 32, "imports", 'font-size="12"'))
    return made


def _wrapped(names: list[str]) -> list[str]:
    """Names in lines that fit the box."""
    room = int((WIDTH - LANE - 2 * (MARGIN + INNER)) / CHARACTER)
    lines = [""]
    for k, name in enumerate(names):
        part = name + (", " if k < len(names) - 1 else "")
        if len(lines[-1]) + len(part.rstrip()) > room:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines]


def _text(x: float, y: float, text: str, style: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{INK}" {style}>{escape(text)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
