"""Reverse accumulation over the recorded history: iterative, and all or nothing.

Everything that can be refused is refused before a gradient is installed: freed graphs, changed
versions, bad seeds. Leaf gradients are installed last.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import overload

import numpy as np

from autodiff.device import CPU
from autodiff.dispatch import apply, constant, constant_one, result_of, traced_constant
from autodiff.dtypes import is_complex
from autodiff.errors import GradientError, ShapeError
from autodiff.modes import enable_grad, modes, no_grad
from autodiff.node import ABSTRACT, CONCRETE, TENSOR, Autograd, Cell, History, Queued
from autodiff.ops.declare import fit
from autodiff.refusals import check_versions, freed_error, rule_error
from autodiff.slices import Slice, Sums, evaluated
from autodiff.storage import Storage, next_serial
from autodiff.table import OPS
from autodiff.tensors import Operand, Tensor

Seeds = Sequence[tuple[Tensor, Tensor]]
Key = int | tuple[int, int]
Results = dict[Key, tuple[Tensor, Tensor | Slice]]

_accumulating = threading.Lock()  # two threads may accumulate into one leaf


def run_backward(
    tensor: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Accumulate d(tensor)/d(leaf) into every leaf's ``grad``. ``Tensor.backward`` documents it."""
    if not tensor._meta.requires_grad:
        raise GradientError(
            f"backward needs a tensor that requires grad, got {tensor._label()}. "
            "Compute it from a leaf with requires_grad=True, outside no_grad."
        )
    seed = make_seed(tensor, gradient)
    sweep = Sweep([(tensor, seed)], retain_graph, create_graph)
    recorded, modes.grad = modes.grad, create_graph
    try:
        sweep.run()
        sweep.install()
    finally:
        modes.grad = recorded


def make_seed(tensor: Tensor, gradient: Operand | None) -> Tensor:
    """Return the cotangent that a pass starts with, or refuse."""
    if gradient is None:
        cell = tensor._cell
        if cell.shape or cell.dtype.kind == "c":
            what = "take .real or abs() of it" if is_complex(cell.dtype) else "sum() it"
            raise GradientError(
                f"backward() without a gradient needs a real tensor of shape (), got "
                f"{tensor._label()}. Either {what}, or call backward(gradient=g)."
            )
        if cell.state is CONCRETE and cell.device == CPU:
            return constant_one(cell.dtype)
        return _filled("ones_like", tensor)
    if not isinstance(gradient, Tensor):
        gradient = Tensor(gradient, device=tensor.device)
    wanted = (tensor.shape, tensor.dtype, tensor.device)
    if (gradient.shape, gradient.dtype, gradient.device) != wanted:
        raise GradientError(
            f"backward needs a gradient of shape {tensor.shape}, dtype {tensor.dtype} on "
            f"{tensor.device}, got {gradient._label()}. Convert it first."
        )
    return gradient


def _filled(name: str, like: Tensor) -> Tensor:
    """Return ones or zeros; on a device it makes them itself, in a trace they are a constant."""
    if like.device != CPU:
        made: Tensor = apply(OPS[name], like.detach())
        return made
    values = np.empty(like.shape, like.dtype)
    values.fill(_FILL[name])
    tensor = constant(values)
    return traced_constant(tensor) if like._cell.state is ABSTRACT else tensor


_FILL = {"ones_like": 1, "zeros_like": 0}


class Sweep:
    """One reverse pass from given cotangents."""

    def __init__(
        self,
        seeds: Seeds,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        self.seeds = seeds
        self.retain = create_graph if retain_graph is None else retain_graph
        self.create = create_graph
        self.inputs = inputs
        self.needed = {key_of(x._meta) for x in inputs} if inputs else set()
        #: cotangents that are complete, with the tensor they belong to
        self.results: Results = {}
        self.sums = Sums()
        self._started = next_serial()
        #: What gradients may not share; a seed that has its storage is known by that one's age.
        self._given = {id(seed._cell) for _, seed in seeds if seed._cell.storage is None}

    def run(self) -> None:
        """Compute every cotangent that is asked for; changes no gradient.

        The thread records if ``create_graph`` was given, and else it does not.
        """
        order = self._order()
        if self.inputs is not None:
            order = leading_to(self.needed, order)
        check_versions(order)
        pending = self.results  # what is left there at the end belongs to leaves and inputs
        for tensor, seed in self.seeds:
            self._add(pending, tensor, seed)
        for history in reversed(order):
            self._propagate(history, pending)
        if not self.retain:
            for history in order:
                history.node = None
                history.cells = ()

    def _propagate(self, history: History, pending: Results) -> None:
        """Send the cotangents of one node's outputs to its inputs."""
        node = history.node
        assert node is not None
        gs = self._arrived(history, pending)
        if gs is None:
            return
        cells = history.cells
        outs = [self._output(history, k) for k in range(len(cells))] if cells else ()
        assert node.op.vjp is not None
        cotangents = node.op.vjp(gs, outs, node.inputs, **node.attrs)
        if len(cotangents) != len(node.inputs):
            raise rule_error(node, len(cotangents))
        for x, g in zip(node.inputs, cotangents, strict=True):
            if g is None or not x._meta.requires_grad:
                continue
            if type(g) is not Slice:
                g = fit(g, x)
            elif g.shape != x._cell.shape or g.flat._cell.dtype is not x._cell.dtype:
                g = fit(g.tensor(), x)
            self._add(pending, x, g)

    def _add(self, pending: Results, x: Tensor, g: Tensor | Slice) -> None:
        """Add ``g`` to what ``x`` has received so far."""
        key = key_of(x._meta)
        entry = pending.get(key)
        if entry is not None:
            known, total = entry
            g = self.sums.add(total, g)
            # A rule's ``outs`` and the user's tensor are one output; only the latter can retain.
            if not x._meta.retains_grad:
                x = known
        pending[key] = (x, g)

    def _arrived(self, history: History, pending: Results) -> list[Tensor | None] | None:
        """Take the cotangents of one node's outputs; None if there are none."""
        gs: list[Tensor | None] = [None] * history.count
        found = False
        for index in range(history.count):
            key = (id(history), index)
            entry = pending.pop(key, None)
            if entry is None:
                continue
            found = True
            tensor, arrived = entry
            gs[index] = g = arrived.tensor() if type(arrived) is Slice else arrived
            if tensor._meta.retains_grad or key in self.needed:
                pending[key] = (tensor, g)
        return gs if found else None

    def _output(self, history: History, index: int) -> Tensor:
        """Return what a rule reads: with history where the rule itself is differentiated again."""
        assert history.node is not None
        number = history.node.op.reads_from + index
        recorded = self.create and number < history.count
        return result_of(history.cells[index], history if recorded else None, number)

    def _order(self) -> list[History]:
        """Histories in an order in which every node stands after those that made its inputs."""
        goal = self._goal() if self.inputs else None
        order: list[History] = []
        begun: list[History] = []
        seen: set[History] = set()
        for tensor, _ in self.seeds:
            first = tensor._meta.history
            stack: list[History | None] = [] if first is None else [first]
            while stack:
                history = stack.pop()
                if history is None:  # a mark: what made the operands of the last one is in order
                    order.append(begun.pop())
                    continue
                if history in seen:
                    continue
                seen.add(history)
                if history is goal:
                    continue
                if history.node is None:
                    raise freed_error(tensor)
                begun.append(history)
                stack.append(None)
                for x in history.node.inputs:
                    parent = x._meta.history
                    if parent is not None and parent not in seen:
                        stack.append(parent)
        return order

    def _goal(self) -> History | None:
        """The one history that made every input that is asked for: nothing before it matters."""
        assert self.inputs is not None
        histories = {id(x._meta.history): x._meta.history for x in self.inputs}
        return next(iter(histories.values())) if len(histories) == 1 else None

    def install(self) -> None:
        """Accumulate into leaves and retained intermediates."""
        queued = bool(modes.queues)
        with _accumulating:
            for tensor, g in self.results.values():
                meta = tensor._meta
                if meta.history is not None and not meta.retains_grad:
                    continue
                if meta.raw_grad is not None:
                    g = self.sums.add(meta.raw_grad, g)
                elif type(g) is not Slice:
                    g = self.own(g)
                # While ops are queued, a slice's own join the pass that they belong to.
                meta.raw_grad = evaluated(g) if queued else g

    def own(self, g: Tensor) -> Tensor:
        """Return ``g`` with memory that no seed, operand or other gradient shares."""
        if g._cell.state is ABSTRACT:
            return g  # without memory; a run of the traced program owns what it gives
        memory = _memory_of(g._cell)
        own = g._cell.strides is None and self._given.isdisjoint(memory)
        if not (own and _is_fresh(g._cell, self._started)):
            g = apply(OPS["copy"], g)
            memory = _memory_of(g._cell)
        self._given.update(memory)
        g._meta.kind = TENSOR  # a gradient is no number of the user's, whatever it was made of
        return g


def _memory_of(cell: Cell) -> tuple[int, ...]:
    """Identities that stand for a value's memory: the cell's, too; a pending one has no storage."""
    return (id(cell),) if cell.storage is None else (id(cell), id(cell.storage))


def _is_fresh(cell: Cell, mark: int) -> bool:
    """Whether a value was made after ``mark``, in memory of its own."""
    made: Storage | Queued | None = cell.storage or cell.queued
    return made is not None and made.serial > mark


def leading_to(needed: Collection[Key], order: Sequence[History]) -> list[History]:
    """Keep the histories whose operands are, or depend on, the metadata in ``needed``."""
    useful: set[int] = set()
    kept = []
    for history in order:
        assert history.node is not None
        metas = [x._meta for x in history.node.inputs]
        if any(key_of(meta) in needed or id(meta.history) in useful for meta in metas):
            useful.add(id(history))
            kept.append(history)
    return kept


def key_of(meta: Autograd) -> Key:
    """Return what cotangents are gathered by: a leaf, or an output of an execution."""
    return id(meta) if meta.history is None else (id(meta.history), meta.index)


@overload
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor,
    grad_outputs: Operand | Sequence[Operand | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> Tensor: ...


@overload
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Operand | Sequence[Operand | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> tuple[Tensor, ...]: ...


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Operand | Sequence[Operand | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> Tensor | tuple[Tensor, ...]:
    """Return the gradients of ``outputs`` by ``inputs`` without touching any ``grad``.

    Args:
        outputs: one or several tensors; each needs shape () and a real dtype, or a
            ``grad_outputs``. One that was not recorded contributes zeros.
        inputs: one or several tensors that require grad, intermediates too; only the graph
            between them and the outputs is traversed and freed.
        grad_outputs: cotangents of the outputs, one (or an array, a number) or a sequence.
        retain_graph: keep the graph for another pass; by default as ``create_graph``.
        create_graph: record the pass, for second derivatives.

    Returns:
        One gradient for a single tensor as ``inputs``, else a tuple; an input that does not reach
        the outputs gets zeros. No two of them share memory.

    Raises:
        GradientError: an input that does not require grad, a bad seed, a freed graph.

    >>> x = Tensor(3.0, requires_grad=True)
    >>> grad(x * x, x).item()
    6.0
    """
    outs = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    ins = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    cotangents: tuple[Operand | None, ...] = (None,) * len(outs)
    if grad_outputs is not None:
        if not isinstance(grad_outputs, Sequence):
            grad_outputs = (grad_outputs,)
        cotangents = tuple(grad_outputs)
    if len(cotangents) != len(outs):
        raise ShapeError(
            f"grad needs one cotangent an output, got {len(cotangents)} for {len(outs)} outputs. "
            "Give None where the output is a real scalar."
        )
    for x in ins:
        if not x.requires_grad:
            raise GradientError(
                f"grad needs inputs that require grad, got {x._label()}. Set requires_grad=True."
            )
    seeds = [(out, make_seed(out, g)) for out, g in zip(outs, cotangents, strict=True)]
    recorded = [(out, seed) for out, seed in seeds if out.requires_grad]
    sweep = Sweep(recorded, retain_graph, create_graph, inputs=ins)
    with enable_grad() if create_graph else no_grad():
        sweep.run()
        found = tuple([_result(sweep, x) for x in ins])
    return found[0] if isinstance(inputs, Tensor) else found


def _result(sweep: Sweep, x: Tensor) -> Tensor:
    entry = sweep.results.get(key_of(x._meta))
    if entry is None:
        return _filled("zeros_like", x)
    return sweep.own(evaluated(entry[1]))
