"""Graph mode's queue: ops that were asked for and have not run, and their run as one launch.

A queue belongs to a thread and a device. It holds what the ops need, not the tensors that asked:
a result that nobody can reach any more when the queue runs is computed for its users and dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import ref

from autodiff.backends.interface import Array
from autodiff.device import backend_of
from autodiff.errors import QueuedOpError, TraceError
from autodiff.keys import Key, Recent, frozen
from autodiff.node import Attrs, Cell, Meta, Op, State
from autodiff.pool import Pool, pool_of
from autodiff.sites import Site, line_of
from autodiff.storage import Storage, next_serial

if TYPE_CHECKING:
    from autodiff.tensors import Tensor


class Leaf(NamedTuple):
    """An operand that has its value: its position among the queue's leaves."""

    position: int


class Result(NamedTuple):
    """An operand that an earlier op of the same queue will give."""

    position: int
    output: int


Ref: TypeAlias = Leaf | Result


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


class Plan(NamedTuple):
    """A prepared execution: which results are wanted, and which each op uses for the last time."""

    entries: tuple[Entry, ...]  # keeps the attrs that the key may know by identity
    drops: tuple[tuple[Result, ...], ...]


#: Prepared executions by structure; ``hits`` counts the runs that needed no planning.
prepared: Recent[Plan] = Recent(64)
_planning = threading.Lock()


class Queue:
    """The ops that one thread has asked for on one device, in order."""

    def __init__(self, device: str, pool: Pool) -> None:
        self.device = device
        self.entries: list[Entry] = []
        self.leaves: list[Cell] = []
        self._pool = pool
        self._positions: dict[int, int] = {}
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

    def leaf(self, cell: Cell) -> Leaf:
        """Return the operand for a value; it runs the queue before it changes."""
        position = self._positions.get(id(cell))
        if position is None:
            cell.require_storage().add_reader(self)
            position = self._positions[id(cell)] = len(self.leaves)
            self.leaves.append(cell)
        return Leaf(position)

    def run(self) -> None:
        """Run everything that is queued as one launch. Afterwards the queue is empty.

        Raises:
            QueuedOpError: an op failed; what did not depend on it has its value.
        """
        with self._lock:
            entries, leaves = self.entries, self.leaves
            self.entries, self.leaves, self._positions = [], [], {}
            error = None
            try:
                if entries:
                    error = _Run(self.device, self._pool, entries, leaves).run()
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
        return Result(entry.position, handle._cell.index)
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
    errors: list[QueuedOpError] = []
    for queue in _queues.by_device.values():
        with _Caught(errors):
            queue.run()
    if errors:
        raise errors[0]


class _Caught(AbstractContextManager["_Caught"]):
    """A block whose ``QueuedOpError`` is put on a list."""

    def __init__(self, errors: list[QueuedOpError]) -> None:
        self._errors = errors

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, QueuedOpError):
            self._errors.append(error)
            return True
        return False


# -- one run ---------------------------------------------------------------------------------------


class _Run:
    """One run of a queue's entries."""

    def __init__(
        self, device: str, pool: Pool, entries: Sequence[Entry], leaves: Sequence[Cell]
    ) -> None:
        self._backend = backend_of(device)
        self._device = device
        self._pool = pool
        self.entries = entries
        self._leaves = leaves
        #: Held here, so that what is wanted now stays wanted until it is there.
        self._cells = [[cell() for cell in entry.cells] for entry in entries]
        self._want_sources()
        self._values: dict[Result, Array] = {}
        self.error: QueuedOpError | None = None

    def _want_sources(self) -> None:
        """Give a cell to what a wanted view looks into: views of one value share its storage."""
        for entry in reversed(self.entries):
            operand = entry.operands[0] if entry.operands else None
            if entry.op.view and isinstance(operand, Result):
                wanted = self._cells[operand.position]
                if self._cells[entry.position][0] and not wanted[operand.output]:
                    wanted[operand.output] = self.entries[operand.position].cell(operand.output)

    def run(self) -> QueuedOpError | None:
        """Run them and return the first error."""
        drops = self._plan().drops
        try:
            with _Named(self, None), self._backend.graph():
                for entry, last_uses in zip(self.entries, drops, strict=True):
                    with _Named(self, entry):
                        self._execute(entry)
                    for result in last_uses:
                        self._values.pop(result, None)
        finally:
            for entry, cells in zip(self.entries, self._cells, strict=True):
                if entry.error is None and any(cell and cell.storage is None for cell in cells):
                    entry.error = self.error or self.failure(entry, "an interrupt")
        return self.error

    def _plan(self) -> Plan:
        key = self._key()
        with _planning:
            plan = prepared.get(key)
            if plan is None:
                plan = Plan(tuple(self.entries), _last_uses(self.entries))
                prepared.put(key, plan)
        return plan

    def _key(self) -> Key:
        lines = [(e.op, frozen(e.attrs), e.operands) for e in self.entries]
        leaves = [(cell.shape, cell.dtype, cell.device) for cell in self._leaves]
        wanted = [tuple([cell is not None for cell in cells]) for cells in self._cells]
        return (self._device, *lines, *leaves, *wanted)

    def _execute(self, entry: Entry) -> None:
        op = entry.op
        for operand in entry.operands:
            if isinstance(operand, Result) and self.entries[operand.position].error is not None:
                entry.error = self.entries[operand.position].error
                return
        operands = [
            self._values[x] if isinstance(x, Result) else self._leaves[x.position].read()
            for x in entry.operands
        ]
        storage_class = self._backend.storage_classes[0]
        made = self._backend.launch(op.forward, operands, entry.attrs, op.name, storage_class)
        values = made if isinstance(made, tuple) else (made,)
        if len(values) != len(entry.cells):
            raise _meta_error(op, f"{len(entry.cells)} outputs", f"{len(values)}")
        for output, value in enumerate(values):
            self._values[Result(entry.position, output)] = self._settle(entry, output, value)

    def _settle(self, entry: Entry, output: int, value: Array) -> Array:
        """Give a result to its cell, if anybody still has that, and return what users read."""
        cell = self._cells[entry.position][output]
        shape, dtype = entry.metas[output]
        if (value.shape, value.dtype) != (tuple(shape), dtype):
            said = f"shape {tuple(shape)}, dtype {dtype}"
            raise _meta_error(entry.op, said, f"shape {value.shape}, dtype {value.dtype}")
        if entry.op.view:
            if cell is None:
                return value
            share(cell, self._source(entry), value)
        if cell is None or cell.storage is None:
            value = self._backend.own(value)
        if cell is not None and cell.storage is None:
            cell.storage = Storage(value, self._device, entry.version)
            self._pool.add(cell.storage, entry.op.name, entry.site)
        if cell is not None:
            cell.state, cell.queued = State.CONCRETE, None
        return value

    def _source(self, entry: Entry) -> Cell:
        """Return the cell that a wanted view looks into."""
        operand = entry.operands[0]
        if isinstance(operand, Leaf):
            return self._leaves[operand.position]
        source = self._cells[operand.position][operand.output]
        assert source is not None
        return source

    def failure(self, entry: Entry | None, reason: str) -> QueuedOpError:
        """The error of the queue: which op failed, and which were queued where."""
        by_line: dict[str, list[str]] = {}
        for queued in self.entries:
            by_line.setdefault(line_of(queued.site), []).append(queued.op.name)
        lines = [f"  {line}: {', '.join(names)}" for line, names in by_line.items()]
        where = f"{entry.op.name} ({line_of(entry.site)})" if entry else "their launch"
        listed = "\n".join(lines)
        return QueuedOpError(
            f"graph mode needs every queued op to run, got {reason} from {where}. Correct it "
            "there; graph_mode(check=True) runs each op at its own call. What was queued, and "
            f"where:\n{listed}"
        )


class _Named(AbstractContextManager["_Named"]):
    """A block whose error becomes that of an entry, or of all: the others go on."""

    def __init__(self, run: _Run, entry: Entry | None) -> None:
        self._run = run
        self._entry = entry

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        named = self._run.failure(self._entry, f"{type(error).__name__} ({error})")
        named.__cause__ = error
        if self._entry is not None:
            self._entry.error = named
        self._run.error = self._run.error or named
        return True


def _last_uses(entries: Sequence[Entry]) -> tuple[tuple[Result, ...], ...]:
    """Return, by entry, the results that nobody reads after it."""
    last: dict[Result, int] = {}
    for entry in entries:
        for output in range(len(entry.cells)):
            last[Result(entry.position, output)] = entry.position
        for operand in entry.operands:
            if isinstance(operand, Result):
                last[operand] = entry.position
    drops: list[list[Result]] = [[] for _ in entries]
    for result, position in last.items():
        drops[position].append(result)
    return tuple([tuple(found) for found in drops])


def _meta_error(op: Op, said: str, given: str) -> TraceError:
    return TraceError(
        f"the shape rule of {op.name} needs to say what its forward gives, got {said} for {given}. "
        "Correct its meta."
    )


def share(cell: Cell, source: Cell, value: Array) -> None:
    """Make a cell a view of the source's storage, if the value shares its memory."""
    storage = source.require_storage()
    spec = backend_of(cell.device).view_of(value, storage.read(cell.device))
    if spec is not None:
        cell.storage = storage
        cell.strides, cell.offset = spec
