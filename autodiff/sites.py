"""The line of the user's code that asked for something, kept cheaply and read when it is shown."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path
from types import CodeType
from typing import TypeAlias

_PACKAGE = str(Path(__file__).parent)
_COMPREHENSION = re.compile(r"\.<locals>\.<\w+>$")
#: What notebooks (ipykernel) and IPython call a cell's code; there is no such file.
_CELL = re.compile(r"ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")

#: A place in the code: the code object, and where in it the frame stood. A plain tuple, as one is
#: made for every recorded op.
Site: TypeAlias = tuple[CodeType, int]


def line_of(site: Site) -> str:
    """Return a place as ``file:line``."""
    code, position = site
    lines = (line for start, end, line in code.co_lines() if start <= position < end)
    return f"{code.co_filename}:{next(lines, None) or code.co_firstlineno}"


def function_of(site: Site) -> str:
    """Return a place as ``file:function``, or ``cell:function`` in a notebook.

    It stays what it is when lines move.
    """
    code, _ = site
    file = "cell" if _CELL.search(code.co_filename) else Path(code.co_filename).name
    return f"{file}:{_COMPREHENSION.sub('', code.co_qualname)}"


class _Inside(dict[str, bool]):
    """Whether a source file belongs to a library folder, or only calls on its behalf."""

    def __init__(self) -> None:
        self.folders: tuple[str, ...] = (_PACKAGE + os.sep,)

    def __missing__(self, filename: str) -> bool:
        inside = filename.startswith(self.folders) or filename == contextlib.__file__
        self[filename] = inside
        return inside


_inside = _Inside()


def register_library(file: str) -> None:
    """Pass over a package that builds on this one, so that sites are its users' lines.

    Args:
        file: the ``__file__`` of the package.
    """
    _inside.folders += (str(Path(file).parent) + os.sep,)
    _inside.clear()


def call_site(depth: int = 2) -> Site:
    """Return the nearest frame outside the libraries; its line is worked out when it is needed."""
    frame = sys._getframe(depth)
    while _inside[frame.f_code.co_filename]:
        caller = frame.f_back  # asked for once, as it is made for the asking
        if caller is None:
            break
        frame = caller
    return frame.f_code, frame.f_lasti
