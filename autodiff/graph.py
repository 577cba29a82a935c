"""graph_mode: ops on a device wait in a queue that runs as one launch."""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from types import TracebackType

from autodiff.errors import QueuedOpError
from autodiff.modes import modes
from autodiff.queue import queue_of, run_queues

_CHECK = "AUTODIFF_GRAPH_CHECK"


def graph_mode(on: bool | None = None, check: bool | None = None) -> bool:
    """Turn graph mode on or off in this thread, and return the setting before; None: leave it.

    In graph mode an op on a device does not run: it joins a queue and gives a pending value. The
    queue runs as one launch when a pending value is read on the host, an op that cannot be queued
    runs, a value that a queued op has to read is about to be written (an optimizer's step, a loaded
    state, ``storage_mut``), or graph mode is turned off. ``backward`` does not make it run. Results
    are those of eager mode, bit by bit. Ops on the CPU are never queued.

    Work that user code orders by hand, outside the op table, is not protected: run it with graph
    mode off.

    Args:
        on: whether ops are queued.
        check: run each op at its own call all the same, so that an error shows the line that made
            it. ``AUTODIFF_GRAPH_CHECK=1`` in the environment does so too.

    Raises:
        QueuedOpError: turned off, and an op of the queue failed.

    >>> from autodiff import Tensor
    >>> x = Tensor(2.0, device="emulated")
    >>> before = graph_mode(True)
    >>> y = x * x + 1
    >>> graph_mode(before), y.item()
    (True, 5.0)
    """
    before = modes.graph
    if check is not None:
        modes.check = bool(check)
    if on is not None:
        modes.graph = bool(on)
    at_once = not modes.graph or modes.check or os.environ.get(_CHECK) == "1"
    modes.queues = None if at_once else queue_of
    if at_once:
        run_queues()
    return before


class local_graph_mode(ContextDecorator):  # noqa: N801 - used as a function
    """Restore graph mode's settings on leaving, come what may; a context manager and decorator.

    If the block raises, its own error is the one that is seen; one of the queue, which runs on
    leaving, is added to it as a note.

    Args:
        on: as for ``graph_mode``, inside the block.
        check: as for ``graph_mode``.

    >>> from autodiff import Tensor
    >>> with local_graph_mode(True):
    ...     y = Tensor(2.0, device="emulated") + 1
    >>> graph_mode()
    False
    """

    def __init__(self, on: bool | None = None, check: bool | None = None) -> None:
        self._inside = on, check
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((modes.graph, modes.check))
        graph_mode(*self._inside)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        before = self._before.pop()
        try:
            graph_mode(*before)
        except QueuedOpError as queued:
            if error is None:
                raise
            error.add_note(f"Graph mode's queue failed as well: {queued}")
