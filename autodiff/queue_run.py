"""One run of graph mode's queue: a program that the runtime prepares once and runs as one launch.

The program's slots are the values that the ops read, its outputs the results that somebody can
still reach. The same ops on values of the same shapes find what was prepared before.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from autodiff.backends.interface import Array
from autodiff.device import backend_of
from autodiff.dispatch import share
from autodiff.errors import QueuedOpError
from autodiff.keys import Key, Recent, frozen
from autodiff.node import Cell, State
from autodiff.pool import Pool
from autodiff.program import Instruction, Place, Program, Ref, placeholder
from autodiff.runtime.errors import Caught, ExecutionFailed
from autodiff.runtime.execute import Failure, PartialRun
from autodiff.runtime.executor import Executor, IngressContract
from autodiff.runtime.prepare import prepare_at
from autodiff.runtime.prepared import Prepared
from autodiff.sites import line_of
from autodiff.storage import Storage

if TYPE_CHECKING:
    from autodiff.queue import Entry

#: Prepared executions by structure; ``hits`` counts the runs that needed no planning.
prepared: Recent[Prepared] = Recent(64)
_planning = threading.Lock()


@cache
def _executor_of(device: str) -> Executor:
    """Return who runs a device's queues; as in eager code, all memory of the device is one."""
    backend = backend_of(device)
    home = Executor(device).placement(backend.storage_classes[0])

    def owns(buffer: Any, storage_class: str) -> bool:  # Any: that is the question
        return backend.owns(buffer)

    contract = IngressContract(
        eligible=lambda placement: placement == home,
        accepts=lambda value: backend.owns(value.buffer),
        owns=owns,
    )
    return Executor(device, contract=contract)


class QueueRun:
    """One run of a queue's entries.

    Args:
        device: where.
        pool: what the results belong to.
        entries: the ops in order.
        leaves: the values that they read.
    """

    def __init__(
        self, device: str, pool: Pool, entries: Sequence[Entry], leaves: Sequence[Cell]
    ) -> None:
        self._device = device
        self._pool = pool
        self._entries = entries
        self._leaves = leaves
        #: Held here, so that what is wanted now stays wanted until it is there.
        self._cells = [[cell() for cell in entry.cells] for entry in entries]
        self._want_sources()
        self._errors: dict[int, QueuedOpError] = {}

    def _want_sources(self) -> None:
        """Give a cell to what a wanted view looks into: views of one value share its storage."""
        for entry in reversed(self._entries):
            if not entry.op.view or self._cells[entry.position][0] is None:
                continue
            source = entry.operands[0]
            if source.place is Place.RESULT:
                wanted = self._cells[source.index]
                if wanted[source.output] is None:
                    wanted[source.output] = self._entries[source.index].cell(source.output)

    def run(self) -> QueuedOpError | None:
        """Run them and return the first error."""
        run: PartialRun | None = None
        caught = Caught()
        try:
            with caught:
                run = self._execution()
                run.run()
        finally:
            self._settle(run, caught.error)
        return next((entry.error for entry in self._entries if entry.error is not None), None)

    # -- the program -------------------------------------------------------------------------------

    def _execution(self) -> PartialRun:
        """Read the leaves; one that cannot be read fails the ops that need it."""
        buffers: dict[int, Array] = {}
        missing: dict[int, Exception] = {}
        for slot, cell in enumerate(self._leaves):
            with Caught() as caught:
                buffers[slot] = cell.read()
            if caught.error is not None:
                missing[slot] = caught.error
        return PartialRun(self._prepared(), buffers, missing)

    def _prepared(self) -> Prepared:
        key = self._key()
        with _planning:
            known = prepared.get(key)
            if known is None:
                numbers = [k for k, x in enumerate(self._leaves) if x.device != self._device]
                known = prepare_at(_executor_of(self._device), self._program(), numbers)
                prepared.put(key, known)
        return known

    def _key(self) -> Key:
        lines = [(e.op, frozen(e.attrs), e.operands) for e in self._entries]
        leaves = [(cell.shape, cell.dtype, cell.device) for cell in self._leaves]
        wanted = [tuple([cell is not None for cell in cells]) for cells in self._cells]
        return (self._device, *lines, *leaves, *wanted)

    def _program(self) -> Program:
        slots = [placeholder(x.shape, x.dtype, device=x.device) for x in self._leaves]
        wanted = [
            Ref(Place.RESULT, entry.position, output)
            for entry, cells in zip(self._entries, self._cells, strict=True)
            for output, cell in enumerate(cells)
            if cell is not None
        ]
        instructions = tuple(map(self._instruction, self._entries))
        return Program(tuple(slots), (), instructions, tuple(wanted))

    def _instruction(self, entry: Entry) -> Instruction:
        shapes = [
            self._leaves[x.index].shape
            if x.place is Place.SLOT
            else self._entries[x.index].metas[x.output][0]
            for x in entry.operands
        ]
        return Instruction(entry.op, entry.operands, entry.attrs, tuple(map(len, shapes)))

    # -- the results -------------------------------------------------------------------------------

    def _settle(self, run: PartialRun | None, unstarted: Exception | None) -> None:
        """Give every result to its cell, and an error to every op that has none."""
        results: dict[int, Array] = {} if run is None else run.results
        failures: Mapping[int, Failure] = {} if run is None else run.failures
        first = len(self._leaves)  # results are numbered after the slots
        for entry, cells in zip(self._entries, self._cells, strict=True):
            failure = failures.get(first)
            if failure is not None:
                self._fail(entry, self._entries[failure.line], failure.error)
            else:
                for value, cell in enumerate(cells, first):
                    if cell is not None and value in results:
                        self._give(entry, cell, results.pop(value))
                    elif cell is not None:
                        self._fail(entry, None if unstarted else entry, unstarted)
            first += len(cells)
        results.clear()  # an error's traceback holds the run, and this object
        self._cells.clear()

    def _give(self, entry: Entry, cell: Cell, value: Array) -> None:
        """Give a result to its cell, as a view of another one's storage where it looks into that.

        Only a view can still need memory: what other ops give is in memory of its own.
        """
        if entry.op.view:
            with Caught() as caught:
                share(cell, self._source(entry), value)
                if cell.storage is None:
                    value = backend_of(self._device).own(value)
            if caught.error is not None:
                self._fail(entry, entry, caught.error)
                return
        if cell.storage is None:
            cell.storage = Storage(value, self._device, entry.version)
            self._pool.add(cell.storage, entry.op.name, entry.site)
        cell.state, cell.queued = State.CONCRETE, None

    def _source(self, entry: Entry) -> Cell:
        """Return the cell that a wanted view looks into."""
        operand = entry.operands[0]
        if operand.place is Place.SLOT:
            return self._leaves[operand.index]
        source = self._cells[operand.index][operand.output]
        assert source is not None
        return source

    def _fail(self, entry: Entry, culprit: Entry | None, error: Exception | None) -> None:
        """Leave an op without results; what has the same reason has the same error.

        Args:
            entry: the op.
            culprit: the op that failed; None: their launch.
            error: what it raised; None: something ended the run.
        """
        if isinstance(error, ExecutionFailed) and isinstance(error.__cause__, Exception):
            error = error.__cause__
        if id(error) not in self._errors:
            named = self._named(culprit, error)
            named.__cause__ = error
            self._errors[id(error)] = named
        entry.error = self._errors[id(error)]

    def _named(self, culprit: Entry | None, error: Exception | None) -> QueuedOpError:
        """The error of the queue: which op failed, and which were queued where."""
        reason = "an interrupt" if error is None else f"{type(error).__name__} ({error})"
        by_line: dict[str, list[str]] = {}
        for queued in self._entries:
            by_line.setdefault(line_of(queued.site), []).append(queued.op.name)
        lines = [f"  {line}: {', '.join(names)}" for line, names in by_line.items()]
        where = f"{culprit.op.name} ({line_of(culprit.site)})" if culprit else "their launch"
        listed = "\n".join(lines)
        return QueuedOpError(
            f"graph mode needs every queued op to run, got {reason} from {where}. Correct it "
            "there; graph_mode(check=True) runs each op at its own call. What was queued, and "
            f"where:\n{listed}"
        )
