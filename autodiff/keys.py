"""What prepared executions are kept by: stand-ins for attributes, and a bounded memory."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T")
Key = Hashable


def frozen(value: Any) -> Key:  # Any: attributes are whatever an op's row says
    """Return a hashable stand-in; an object that has none is taken by identity.

    Whoever keeps the key has to keep the object, so that its identity is not given to another one.

    >>> frozen({"axis": [0, 1]}) == frozen({"axis": [0, 1]})
    True
    """
    match value:
        case Mapping():
            return tuple([(name, frozen(value[name])) for name in sorted(value)])
        case list() | tuple():
            return (type(value), *map(frozen, value))
        case slice():
            return (slice, *map(frozen, (value.start, value.stop, value.step)))
        case np.ndarray():
            return (value.dtype, value.shape, value.tobytes())
        case float() | complex():
            return repr(value)  # 0.0 == -0.0, and 1.0 == 1
    try:
        hash(value)
    except TypeError:
        return (type(value), id(value))
    return (type(value), value)


class Recent(Generic[T]):
    """What was used last, by key. Threads may share one: none of them waits, or finds it broken.

    Attributes:
        hits: how often a key was known.
        misses: how often it was not.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._known: dict[Key, T] = {}  # what was used last stands last
        self.hits = self.misses = 0

    def get(self, key: Key) -> T | None:
        """Return what is known of a key."""
        value = self._known.pop(key, None)
        if value is None:
            self.misses += 1
        else:
            self.hits += 1
            self._known[key] = value
        return value

    def put(self, key: Key, value: T) -> None:
        """Keep it, and forget what was not used for longest."""
        self._known[key] = value
        if len(self._known) > self._capacity:
            oldest, *_ = self._known  # in one step, as other threads may put and get meanwhile
            self._known.pop(oldest, None)

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()
