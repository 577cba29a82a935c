"""Pools: the values that a thread has computed on a device in its present pass.

When a pass begins (``grad_tape``), what the earlier ones computed on the device is dropped.
Parameters, optimizer state and uploaded leaves are in no pool, and survive.
"""

from __future__ import annotations

import threading
from weakref import WeakSet

from autodiff.sites import Site
from autodiff.storage import Origin, Storage


class Pool:
    """What one thread has computed on one device in the present pass."""

    def __init__(self) -> None:
        self.generation = 0
        self._members: WeakSet[Storage] = WeakSet()

    def add(self, storage: Storage, op: str, site: Site) -> None:
        """Let a storage end with the present pass."""
        storage.origin = Origin(op, site, self.generation)
        self._members.add(storage)

    def reset(self) -> None:
        """Begin a pass: the values of the earlier ones are gone, and their memory is free."""
        self.generation += 1
        for storage in list(self._members):
            if storage.origin is not None:  # else it was kept
                storage.clear()
        self._members.clear()


class _Pools(threading.local):
    def __init__(self) -> None:
        self.by_device: dict[str, Pool] = {}


_pools = _Pools()


def pool_of(device: str) -> Pool:
    """Return this thread's pool on a device."""
    pool = _pools.by_device.get(device)
    if pool is None:
        pool = _pools.by_device[device] = Pool()
    return pool


def thread_pools() -> tuple[Pool, ...]:
    """Return this thread's pools on all devices."""
    return tuple(_pools.by_device.values())


def keep(storage: Storage) -> None:
    """Let a storage survive its pass."""
    storage.origin = None
