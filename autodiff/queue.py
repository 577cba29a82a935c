"""Graph mode's queue: ops that were asked for and have not run, and their run as one launch.

A queue belongs to a thread and a device. It holds what the ops need, not the tensors that asked:
a result that nobody can reach any more when the queue runs is computed for its users and dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import ref

from autodiff.errors import QueuedOpError
from autodiff.node import Attrs, Cell, Meta, Op, State
from autodiff.pool import Pool, pool_of
from autodiff.program import Place, Ref
from autodiff.queue_run import QueueRun
from autodiff.runtime.errors import Caught
from autodiff.sites import Site
from autodiff.storage import next_serial

if TYPE_CHECKING:
    from autodiff.tensors import Tensor


#: Looked up once: they stand in every operand.
_SLOT, _RESULT = Place.SLOT, Place.RESULT


class Entry:
    """A queued op."""

    __slots__ = (
        "attrs", "cells", "error", "metas", "op", "operands", "position", "queue", "serial",
        "site", "version",
    )  # fmt: skip

    def __init__(
        self, queue: Queue, op: Op, attrs: Attrs, operands: tuple[Ref, ...], version: int
    ) -> None:
        self.queue = queue
        self.op = op
        self.attrs = attrs
        self.operands = operands
        self.version = version  # of the storage that a view looks into
        self.position = len(queue.entries)
        self.site: Site
        self.metas: Sequence[Meta] = ()
        self.cells: tuple[ref[Cell], ...] = ()
        self.error: QueuedOpError | None = None
        self.serial = 0 if op.view else next_serial()

    def cell(self, output: int) -> Cell:
        """Make a cell that will have a result."""
        shape, dtype = self.metas[output]
        return Cell(
            tuple(shape),
            dtype,
            self.queue.device,
            None,
            state=State.PENDING,
            queued=self,
            index=output,
        )

    def force(self) -> None:
        """Run the queue, or raise the error that this op, or one that it needs, met."""
        if self.error is None:
            self.queue.run()
        if self.error is not None:
            raise self.error.with_traceback(None)


class Queue:
    """The ops that one thread has asked for on one device, in order."""

    def __init__(self, device: str, pool: Pool) -> None:
        self.device = device
        self.entries: list[Entry] = []
        self.leaves: list[Cell] = []
        self._pool = pool
        self._refs: dict[int, Ref] = {}
        self._lock = threading.RLock()

    def add(self, op: Op, inputs: Sequence[Tensor], attrs: Attrs, site: Site) -> tuple[Cell, ...]:
        """Queue an op and return cells that will have its results."""
        assert op.meta is not None
        metas = op.meta(*[(x.shape, x.dtype) for x in inputs], **attrs)
        for x in inputs:  # before the lock: another thread may be doing the same with this queue
            queued = x._cell.queued
            if isinstance(queued, Entry) and (queued.queue is not self or queued.error is not None):
                queued.force()
        with self._lock:
            operands = tuple([graph_operand(x, self) for x in inputs])
            entry = Entry(self, op, attrs, operands, inputs[0]._cell.version if op.view else 0)
            entry.site, entry.metas = site, metas
            cells = tuple([entry.cell(output) for output in range(len(metas))])
            entry.cells = tuple([ref(cell) for cell in cells])
            self.entries.append(entry)
        return cells

    def leaf(self, cell: Cell) -> Ref:
        """Return the operand for a value; it runs the queue before it changes."""
        known = self._refs.get(id(cell))
        if known is None:
            cell.require_storage().add_reader(self)
            known = self._refs[id(cell)] = Ref(_SLOT, len(self.leaves))
            self.leaves.append(cell)
        return known

    def run(self) -> None:
        """Run everything that is queued as one launch. Afterwards the queue is empty.

        Raises:
            QueuedOpError: an op failed; what did not depend on it has its value.
        """
        with self._lock:
            entries, leaves = self.entries, self.leaves
            self.entries, self.leaves, self._refs = [], [], {}
            error = None
            try:
                if entries:
                    error = QueueRun(self.device, self._pool, entries, leaves).run()
            finally:
                for cell in leaves:
                    cell.require_storage().remove_reader(self)
        if error is not None:
            raise error


def graph_operand(handle: Tensor, queue: Queue) -> Ref:
    """Return how an op in ``queue`` gets at a value: the only way into a graph.

    A handle that is pending in this queue stays what it is and is computed once. One that has its
    value comes in as a leaf, whatever it was computed from, so that nothing runs twice, let alone
    with operands that changed since.
    """
    entry = handle._cell.queued
    if isinstance(entry, Entry) and entry.queue is queue and entry.error is None:
        return Ref(_RESULT, entry.position, handle._cell.index)
    return queue.leaf(handle._cell)


class _Queues(threading.local):
    def __init__(self) -> None:
        self.by_device: dict[str, Queue] = {}


_queues = _Queues()


def queue_of(device: str) -> Queue:
    """Return this thread's queue for a device."""
    queue = _queues.by_device.get(device)
    if queue is None:
        queue = _queues.by_device[device] = Queue(device, pool_of(device))
    return queue


def run_queues() -> None:
    """Run all queues of this thread.

    Raises:
        QueuedOpError: an op failed; the other queues have run all the same.
    """
    first: Exception | None = None
    for queue in _queues.by_device.values():
        with Caught(QueuedOpError) as caught:
            queue.run()
        first = first or caught.error
    if first is not None:
        raise first
