"""One class per kind of refusal. A message says what is needed, what was given and what to do."""

from __future__ import annotations


class AutodiffError(Exception):
    """Base of everything that this package raises on purpose."""


class GradientError(AutodiffError, RuntimeError):
    """A gradient that does not exist, or a request for one that breaks the rules of recording."""


class VersionError(AutodiffError, RuntimeError):
    """A value that backward needs was changed after it had been recorded."""


class StorageBusy(AutodiffError, RuntimeError):
    """A storage was read or written while ``storage_mut`` holds it open."""


class StaleHandleError(AutodiffError, RuntimeError):
    """A value of an earlier pass, which the device has dropped."""


class QueuedOpError(AutodiffError, RuntimeError):
    """An op of graph mode's queue that failed, or a value that depended on it."""


class ParameterError(AutodiffError, ValueError):
    """A Parameter made of, or set to, something that cannot be trained."""


class ShapeError(AutodiffError, ValueError):
    """Shapes that do not fit together."""


class IterationError(AutodiffError, TypeError):
    """Length or elements of a tensor without axes; a TypeError, as libraries that ask expect."""


class DTypeError(AutodiffError, TypeError):
    """A dtype that has no meaning here."""


class DeviceMismatch(AutodiffError, ValueError):
    """Operands that live on different devices."""


class DeviceUnavailable(AutodiffError, RuntimeError):
    """A device that this machine or this version does not have."""


class TraceError(AutodiffError, TypeError):
    """A placeholder used as if it had a value, or an op that cannot be traced."""


class GradcheckError(AutodiffError, AssertionError):
    """A derivative rule that disagrees with finite differences."""


def reason(error: Exception) -> str:
    """Return what an error says, for the middle of a sentence of ours: without its full stop.

    >>> reason(ValueError("Rows differ."))
    'Rows differ'
    """
    return str(error).removesuffix(".")
