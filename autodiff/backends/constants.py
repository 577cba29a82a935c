"""Attributes of ops that hold arrays of the host: a device gets each of them once.

An op's forward never makes an array of the device from one of the host: that would be an upload at
every call, which no device counts. It reads the array off an attribute that is a ``Constants``. A
backend hands the forward a copy of that attribute whose arrays are its own; the CPU the attribute
itself.

    table = ConstantArray(np.array([2, 0]))
    apply(op, x, index=table)      # forward(xp, x, index): x.take(index.array)
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from numpy.typing import NDArray

# Any in this file: attributes are whatever an op's row says, arrays of every dtype and backend.
Send = Callable[[NDArray[Any]], Any]
C = TypeVar("C", bound="Constants")


class Constants(ABC):
    """Base of attributes with arrays that do not change.

    They are told apart by identity. What a forward decides by, such as whether all numbers of an
    array are 1, is kept beside the array: to find it out on a device would wait for that.
    """

    @property
    @abstractmethod
    def arrays_read(self) -> Sequence[str]:
        """Names of the arrays that a forward reads, and of Constants that have some."""

    def sent(self: C, send: Send) -> C:
        """Return a copy whose arrays that a forward reads are sent by ``send``."""
        made = copy(self)
        for name in self.arrays_read:
            value = vars(self)[name]
            vars(made)[name] = value.sent(send) if isinstance(value, Constants) else send(value)
        return made


class ConstantArray(Constants):
    """One array.

    Args:
        array: which nobody changes.

    Attributes:
        array: the same; for a forward, on its device.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array: Any = array

    @property
    def arrays_read(self) -> Sequence[str]:
        """The array."""
        return ("array",)


class SentConstants:
    """What of Constants was sent to a device; it goes when they do.

    Args:
        send: copies an array of the host to the device, and counts that.

    >>> import numpy as np
    >>> sent = SentConstants(lambda array: array + 1)
    >>> numbers = ConstantArray(np.zeros(2))
    >>> here = sent.in_place_of({"numbers": numbers, "axis": 0})
    >>> here["numbers"].array, sent.in_place_of({"numbers": numbers})["numbers"] is here["numbers"]
    (array([1., 1.]), True)
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._known: WeakKeyDictionary[Constants, Constants] = WeakKeyDictionary()
        self._lock = threading.Lock()

    def in_place_of(self, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return attributes as a forward on the device gets them."""
        for value in attrs.values():
            if isinstance(value, Constants):
                break
        else:
            return attrs
        return {
            name: self._here(value) if isinstance(value, Constants) else value
            for name, value in attrs.items()
        }

    def _here(self, constants: Constants) -> Constants:
        with self._lock:
            found = self._known.get(constants)
            if found is None:
                found = self._known[constants] = constants.sent(self._send)
            return found
