"""What counts as one launch: the outermost of nested blocks, in each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class LaunchScope:
    """Blocks of which only the outermost one is a launch.

    Args:
        begin: called where a launch begins.
    """

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin
        self._threads = threading.local()

    @contextmanager
    def block(self) -> Iterator[None]:
        """Run the block as a launch, or as part of the one that it lies in."""
        if getattr(self._threads, "open", False):
            yield
            return
        self._begin()
        self._threads.open = True
        try:
            yield
        finally:
            self._threads.open = False
