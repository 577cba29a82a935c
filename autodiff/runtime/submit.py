"""Submitted runs: a worker that owns all it needs, and a handle that may be dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from autodiff.errors import AutodiffError
from autodiff.runtime.errors import (
    Renamed,
    ResultTimeout,
    WorkerError,
    WorkerFailed,
    WorkerNotStarted,
    WorkerPanicked,
)
from autodiff.tensors import Tensor

#: Starts a worker that calls its argument once.
Spawner = Callable[[Callable[[], None]], object]


def spawn_thread(target: Callable[[], None]) -> None:
    """Start a thread. It is no daemon: leaving the interpreter waits for admitted runs."""
    threading.Thread(target=target, name="ketgrad-runtime", daemon=False).start()


class Handle:
    """The result of a submitted run, once there is one. Dropping it changes nothing.

    Made by ``Runtime.submit``.
    """

    def __init__(self, outcome: _Outcome) -> None:
        self._outcome = outcome

    def done(self) -> bool:
        """Whether the run has ended, well or not."""
        return self._outcome.ended.is_set()

    def result(self, timeout: float | None = None) -> tuple[Tensor, ...]:
        """Wait for the run and return its outputs.

        Args:
            timeout: seconds to wait at most; None: as long as it takes.

        Raises:
            ResultTimeout: the run has not ended in time; it goes on.
            WorkerFailed: it failed with one of this project's errors, the cause.
            WorkerPanicked: the worker died of anything else, the cause.
        """
        if not self._outcome.ended.wait(timeout):
            raise ResultTimeout(
                f"a submitted run needs more than {timeout} s, got no result yet. Wait longer: it "
                "goes on."
            )
        return self._outcome.take()


class _Outcome:
    """What a worker leaves behind. As a block it takes whatever ends the block."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._outputs: tuple[Tensor, ...] = ()
        self._error: BaseException | None = None

    def __enter__(self) -> _Outcome:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        # The traceback holds the worker's frames, and with them the values of the run.
        self._error = error and error.with_traceback(None)
        self.ended.set()
        return True

    def give(self, outputs: tuple[Tensor, ...]) -> None:
        self._outputs = outputs

    def take(self) -> tuple[Tensor, ...]:
        if self._error is None:
            return self._outputs
        kind: type[WorkerError] = WorkerPanicked
        if isinstance(self._error, AutodiffError):
            kind = WorkerFailed
        raise kind(
            f"a submitted run needs to end well, got {type(self._error).__name__}: {self._error}"
        ) from self._error


def start(run: Callable[[], tuple[Tensor, ...]], spawn: Spawner) -> Handle:
    """Run in a worker.

    Raises:
        WorkerNotStarted: ``spawn`` raised, the cause.
    """
    outcome = _Outcome()

    def work() -> None:
        with outcome:
            outcome.give(run())

    with Renamed(WorkerNotStarted, "a submitted run", "a worker"):
        spawn(work)
    return Handle(outcome)
