"""Whether ops are recorded, and whether they are queued: per thread, never per process."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, overload

from autodiff.errors import GradientError

if TYPE_CHECKING:
    from autodiff.node import Attrs, Cell, Op
    from autodiff.sites import Site
    from autodiff.tensors import Tensor

F = TypeVar("F", bound=Callable[..., Any])  # Any: any function can be decorated


class Waiting(Protocol):
    """Where the ops on a device wait in graph mode."""

    def add(self, op: Op, inputs: Sequence[Tensor], attrs: Attrs, site: Site) -> tuple[Cell, ...]:
        """Let an op wait, and return cells that will have its results."""

    def run(self) -> None:
        """Run everything that waits."""


class _Modes(threading.local):
    grad = True
    graph = False
    check = False
    #: Where the ops on a device wait; None: they run at their own calls.
    queues: Callable[[str], Waiting] | None = None


modes = _Modes()


def is_grad_enabled() -> bool:
    """Return whether ops are recorded in this thread.

    >>> is_grad_enabled()
    True
    """
    return modes.grad


class _Left(threading.local):
    """The modes to return to. Per thread: a decorated function may run in several at once."""

    def __init__(self) -> None:
        self.modes: list[bool] = []


class _GradMode(ContextDecorator):
    """A context manager and decorator; one instance may be entered again while it is open."""

    _value: bool

    @overload
    def __new__(cls, function: None = None) -> Self: ...

    @overload
    def __new__(cls, function: F) -> F: ...  # type: ignore[misc]  # a bare decorator is no mode

    def __new__(cls, function: Any = None) -> Any:  # Any: see the overloads
        """Make the mode, or decorate at once: ``@no_grad`` is ``@no_grad()``."""
        if function is None:
            return super().__new__(cls)
        if not callable(function):
            raise GradientError(
                f"{cls.__name__} needs nothing, or a function to decorate, got {function!r}. "
                f"Write with {cls.__name__}():"
            )
        return cls()(function)

    def __init__(self) -> None:
        self._left = _Left()

    def __call__(self, function: F) -> F:
        """Decorate a function: each call runs in the mode."""
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise GradientError(
                "a grad mode decorates a plain function, got a generator or coroutine "
                f"{function.__name__!r}, whose body runs later. Use a with block inside it."
            )
        return super().__call__(function)

    def __enter__(self) -> None:
        self._left.modes.append(modes.grad)
        modes.grad = self._value

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        modes.grad = self._left.modes.pop()


class no_grad(_GradMode):  # noqa: N801 - PyTorch's name, used as a function
    """Compute without recording, in this thread, as context manager or decorator.

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """

    _value = False


class enable_grad(_GradMode):  # noqa: N801 - PyTorch's name, used as a function
    """Record again inside a ``no_grad`` block, in this thread.

    >>> with no_grad(), enable_grad():
    ...     is_grad_enabled()
    True
    """

    _value = True
