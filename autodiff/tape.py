"""Passes: what was computed on a device in one pass is dropped when the next one begins.

A pool belongs to a thread and a device. Parameters, optimizer state and uploaded leaves are in no
pool, and survive.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakSet

from autodiff.call_site import Site
from autodiff.queue import run_queues
from autodiff.storage import Origin, Storage


class Pool:
    """The values that one thread has computed on one device in the present pass."""

    def __init__(self) -> None:
        self.generation = 0
        self._members: WeakSet[Storage] = WeakSet()

    def add(self, storage: Storage, op: str, site: Site) -> None:
        """Let a storage end with the present pass."""
        storage.origin = Origin(op, site, self.generation)
        self._members.add(storage)

    def reset(self) -> None:
        """Begin a pass: every value of the earlier ones is gone, its memory is free."""
        self.generation += 1
        for storage in list(self._members):
            if storage.origin is not None:  # None: kept
                storage.clear()
        self._members.clear()


