"""Where a value lives: location-tagged copies behind exactly three access paths.

``read`` never computes and never changes anything, ``read_for_update`` hands out a private copy
that nobody sees until it is written back, and ``write`` is the only way to change a value. Buffers
are never written in place, so an array that was handed out stays what it was.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from autodiff.backends.interface import Array
from autodiff.device import backend_of
from autodiff.errors import ShapeError, StorageBusy

_serials = itertools.count()
_lock = threading.Lock()


def next_serial() -> int:
    """Return a number above that of every storage made so far."""
    return next(_serials)


class Storage:
    """The copies of one value, its home, and the version counter that every handle shares."""

    __slots__ = ("_busy", "_copies", "home", "serial", "version")

    def __init__(self, value: Array, location: str) -> None:
        self._copies = {location: value}
        self._busy = False
        self.home = location
        self.version = 0
        self.serial = next_serial()  # tells backward which storages are older than its pass

    @property
    def locations(self) -> tuple[str, ...]:
        """Where a copy of the value exists at present."""
        return tuple(self._copies)

    def read(self, location: str) -> Array:
        """Return the read-only value at ``location``."""
        if self._busy:
            raise self._open_error("read")
        return self._copies[location]

    def read_for_update(self, location: str | None = None) -> Array:
        """Return a writable copy, at the storage's home by default; unseen until written back."""
        location = location or self.home
        return backend_of(location).writable_copy(self.read(location))

    def write(self, value: Array, location: str) -> None:
        """Install ``value``: drops the other copies and raises the version.

        The value becomes the storage's own: whoever made it keeps no writable view of it.

        Raises:
            StorageBusy: ``storage_mut`` holds the storage open.
            ShapeError: another shape or dtype than the present value's.
        """
        present = self._copies[self.home]
        if (value.shape, value.dtype) != (present.shape, present.dtype):
            raise ShapeError(
                f"a storage needs a value of shape {present.shape}, dtype {present.dtype}, got "
                f"shape {value.shape}, dtype {value.dtype}. Convert it first."
            )
        with _lock:
            if self._busy:
                raise self._open_error("write")
            self._install(value, location)

    @contextmanager
    def update(self) -> Iterator[Array]:
        """Hold the storage open: yields a writable copy, installed on leaving, come what may."""
        with _lock:
            if self._busy:
                raise self._open_error("open")
            value = backend_of(self.home).writable_copy(self._copies[self.home])
            self._busy = True
        try:
            yield value
        finally:
            with _lock:
                self._busy = False
                # The user may have kept a view of ``value``.
                self._install(backend_of(self.home).writable_copy(value), self.home)

    def _install(self, value: Array, location: str) -> None:
        self._copies = {location: backend_of(location).own(value)}
        self.home = location
        self.version += 1

    @staticmethod
    def _open_error(action: str) -> StorageBusy:
        return StorageBusy(
            f"to {action} a storage needs it closed, got one that storage_mut holds open. "
            "Leave the 'with t.storage_mut()' block first, and use the array that it gives."
        )
