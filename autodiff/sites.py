"""The line of the user's code that asked for something, kept cheaply and read when it is shown."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from types import CodeType
from typing import NamedTuple

_PACKAGE = str(Path(__file__).parent)
_COMPREHENSION = re.compile(r"\.<locals>\.<\w+>$")


class Site(NamedTuple):
    """A place in the code: the code object, and where in it the frame stood."""

    code: CodeType
    position: int

    @property
    def line(self) -> str:
        """The place as ``file:line``."""
        code, position = self.code, self.position
        lines = (line for start, end, line in code.co_lines() if start <= position < end)
        return f"{code.co_filename}:{next(lines, None) or code.co_firstlineno}"

    @property
    def function(self) -> str:
        """The place as ``file:function``, which stays what it is when lines move."""
        name = _COMPREHENSION.sub("", self.code.co_qualname)
        return f"{Path(self.code.co_filename).name}:{name}"


class _Inside(dict[str, bool]):
    """Whether a source file belongs to this package, or only calls on its behalf."""

    def __missing__(self, filename: str) -> bool:
        inside = filename.startswith(_PACKAGE) or filename == contextlib.__file__
        self[filename] = inside
        return inside


_inside = _Inside()


def call_site(depth: int = 2) -> Site:
    """Return the nearest frame outside this package; its line is worked out when it is needed."""
    frame = sys._getframe(depth)
    while _inside[frame.f_code.co_filename] and frame.f_back is not None:
        frame = frame.f_back
    return Site(frame.f_code, frame.f_lasti)
