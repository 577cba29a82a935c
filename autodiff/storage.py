"""Where a value lives: location-tagged copies behind exactly three access paths.

``read`` never computes: it gives the copy at a location, and materialises one by a counted move
where there is none. ``read_for_update`` hands out a private copy that nobody sees until it is
written back, and ``write`` is the only way to change a value. Buffers are never written in place,
so an array that was handed out stays what it was. A location without a copy means "not
materialised here", never "empty": an empty value is an array without elements.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from autodiff.backends.interface import Array
from autodiff.device import backend_of, move
from autodiff.errors import ShapeError, StaleHandleError, StorageBusy
from autodiff.observing import observe, observers
from autodiff.sites import Site, line_of

_serials = itertools.count()
_lock = threading.Lock()


def next_serial() -> int:
    """Return a number above that of every storage made so far."""
    return next(_serials)


class _Writes:
    """How many writes there have been; while that stands still, so do all versions."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


writes = _Writes()


class Reader(Protocol):
    """Work that still has to read a storage, and does so before the storage changes."""

    def run(self) -> None:
        """Do the work."""


class Origin(NamedTuple):
    """What computed a value on a device: the op, the line that asked, the pass it belongs to."""

    op: str
    site: Site
    generation: int


class Storage:
    """The copies of one value, its home, and the version counter that every handle shares."""

    __slots__ = (
        "__weakref__", "_busy", "_copies", "_readers", "home", "origin", "serial", "version",
    )  # fmt: skip

    def __init__(self, value: Array, location: str, version: int = 0) -> None:
        self._copies = {location: value}
        self._busy = False
        self._readers: list[Reader] | None = None
        self.home = location
        self.origin: Origin | None = None  # of values that the next pass drops
        self.version = version
        self.serial = next(_serials)  # tells backward which storages are older than its pass

    @property
    def locations(self) -> tuple[str, ...]:
        """Where a copy of the value exists at present."""
        return tuple(self._copies)

    # -- the three access paths --------------------------------------------------------------------

    def read(self, location: str) -> Array:
        """Return the read-only value at ``location``, moved there and kept if it is elsewhere.

        Raises:
            StorageBusy: ``storage_mut`` holds the storage open.
            StaleHandleError: the value belongs to a pass that is over.
        """
        if self._busy:
            raise self._open_error("read")
        try:
            copy = self._copies[location]
        except KeyError:
            copy = self._materialise(location)
        if observers:
            observe("read", copy)
        return copy

    def read_for_update(self, location: str | None = None) -> Array:
        """Return a writable copy, at the storage's home by default; unseen until written back."""
        location = location or self.home
        copy = backend_of(location).writable_copy(self.read(location))
        if observers:
            observe("update", copy)
        return copy

    def write(self, value: Array, location: str) -> None:
        """Install ``value``: drops the other copies and raises the version.

        The value becomes the storage's own: whoever made it keeps no writable view of it. Queued
        work that has to read the present value runs first.

        Raises:
            StorageBusy: ``storage_mut`` holds the storage open.
            ShapeError: another shape or dtype than the present value's.
            StaleHandleError: the value belongs to a pass that is over.
        """
        present = self._any_copy()
        if (value.shape, value.dtype) != (present.shape, present.dtype):
            raise ShapeError(
                f"a storage needs a value of shape {present.shape}, dtype {present.dtype}, got "
                f"shape {value.shape}, dtype {value.dtype}. Convert it first."
            )
        with _Unread((self,), "write"):
            self._install(backend_of(location).own(value), location)

    @contextmanager
    def update(self, location: str | None = None) -> Iterator[Array]:
        """Hold the storage open: yields a writable copy, installed on leaving, come what may."""
        location = location or self.home
        with _Unread((self,), "open"):
            if location not in self._copies:
                self._materialise(location)
            value = backend_of(location).writable_copy(self._copies[location])
            self._busy = True
        if observers:
            observe("update", value)
        try:
            yield value
        finally:
            with _lock:
                self._busy = False
                # The user may have kept a view of ``value``.
                own = backend_of(location).own(backend_of(location).writable_copy(value))
                self._install(own, location)

    def rehome(self, location: str) -> None:
        """Make ``location`` the home. The value stays; a graph recorded before is out of date.

        Raises:
            StorageBusy: ``storage_mut`` holds the storage open.
            StaleHandleError: the value belongs to a pass that is over.
        """
        with _Unread((self,), "move"):
            if location not in self._copies:
                self._materialise(location)
            self.home = location
            self._raise_version()

    # -- who still has to read ---------------------------------------------------------------------

    def add_reader(self, reader: Reader) -> bool:
        """Let ``reader`` run before the value changes; returns whether it is new here.

        Raises:
            StorageBusy: ``storage_mut`` holds the storage open.
            StaleHandleError: the value belongs to a pass that is over.
        """
        with _lock:
            if self._busy:
                raise self._open_error("read")
            self._any_copy()
            if self._readers is None:
                self._readers = []
            new = reader not in self._readers
            if new:
                self._readers.append(reader)
        return new

    def remove_reader(self, reader: Reader) -> None:
        """Forget a reader that has read."""
        with _lock:
            if self._readers is not None and reader in self._readers:
                self._readers.remove(reader)

    # -- copies ------------------------------------------------------------------------------------

    def clear(self) -> None:
        """Drop the value for good: its pass is over. Every later access raises."""
        self._copies = {}

    def _any_copy(self) -> Array:
        """Return a copy for its shape and dtype."""
        copies = self._copies
        if not copies:
            raise self._stale_error()
        return copies[self.home] if self.home in copies else next(iter(copies.values()))

    def _materialise(self, location: str) -> Array:
        """Add a copy at ``location`` by one counted move."""
        copies = self._copies  # a write meanwhile installs another dictionary
        if not copies:
            raise self._stale_error()
        source = self.home if self.home in copies else next(iter(copies))
        copies[location] = copy = move(copies[source], source, location)
        return copy

    def _install(self, value: Array, location: str) -> None:
        self._copies = {location: value}
        self._raise_version()
        if observers:
            observe("write", value)

    def _raise_version(self) -> None:
        self.version += 1
        writes.count += 1  # all writes hold the lock

    @staticmethod
    def _open_error(action: str) -> StorageBusy:
        return StorageBusy(
            f"a storage needs to be closed to {action} it, got one that storage_mut holds open. "
            "Leave the 'with t.storage_mut()' block first, and use the array that it gives."
        )

    def _stale_error(self) -> StaleHandleError:
        assert self.origin is not None
        op, site, generation = self.origin
        return StaleHandleError(
            f"a read needs a value of the present pass, got the result of {op} ({line_of(site)}), "
            f"which was computed on {self.home} in pass {generation} and is gone. Build it inside "
            "the grad_tape, or make it a Parameter."
        )


def write_scalars(storages: Sequence[Storage], vector: Array, location: str) -> None:
    """Install the elements of a vector ``(N,)`` as the values of N storages of shape (): ``write``.

    All are written, or none. They look into one buffer: one of its own costs more than a number.

    Raises:
        StorageBusy: ``storage_mut`` holds one of the storages open.
        ShapeError: another shape or dtype than the present values'.
        StaleHandleError: a value belongs to a pass that is over.
    """
    shape, dtype = (len(storages),), vector.dtype
    present = [storage._any_copy() for storage in storages]
    if vector.shape != shape or any(x.ndim or x.dtype != dtype for x in present):
        found = sorted({f"shape {x.shape}, dtype {x.dtype}" for x in present})
        raise ShapeError(
            f"{shape[0]} storages of single numbers need a vector of shape {shape} and their dtype,"
            f" got shape {vector.shape}, dtype {dtype} for {found}. Convert it first."
        )
    backend = backend_of(location)
    with _Unread(storages, "write"):
        parts = backend.scalars(backend.own(vector))
        for storage, part in zip(storages, parts, strict=True):
            storage._install(part, location)


class _Unread:
    """Holds the lock from a moment on when nobody still has to read the values."""

    __slots__ = ("_action", "_storages")

    def __init__(self, storages: Sequence[Storage], action: str) -> None:
        self._storages = storages
        self._action = action

    def __enter__(self) -> None:
        waiting: list[Reader] = []
        while True:
            for reader in waiting:  # from whichever thread it is
                reader.run()
            waiting, held = [], False
            _lock.acquire()
            try:
                for storage in self._storages:
                    if storage._busy:
                        raise Storage._open_error(self._action)
                    if storage._readers:
                        waiting += storage._readers
                held = not waiting
            finally:
                if not held:
                    _lock.release()
            if held:
                return

    def __exit__(self, *error: object) -> None:
        _lock.release()
