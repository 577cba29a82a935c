"""Program: an immutable listing captured from Nodes, replayed with other values.

Replaying goes through the dispatch point again, so a replayed program is recorded, traced and
differentiated like anything else. With a batch, every instruction is evaluated as if per sample:
the batch axis stands first, attrs are rewritten to count axes from the end (a row's
``per_sample``), and operands of a lower per-sample rank get axes of length 1 after the batch axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from autodiff.device import CPU
from autodiff.dispatch import apply
from autodiff.dtypes import DType, float64
from autodiff.errors import ShapeError, TraceError
from autodiff.node import Attrs, Autograd, Cell, Kind, Node, Op, Shape, State
from autodiff.table import FUNCTIONS
from autodiff.tensors import Tensor


class Place(StrEnum):
    """Where an operand of an instruction comes from."""

    SLOT = "slot"
    CONSTANT = "constant"
    RESULT = "result"


class Ref(NamedTuple):
    """An operand: a slot, a constant, or an output of an earlier instruction."""

    place: Place
    index: int  # type: ignore[assignment]  # not the method of tuples
    output: int = 0


@dataclass(frozen=True)
class Instruction:
    """One op of a program, with the per-sample rank of each operand.

    ``compiler_made``: no user's line asked for it, so that no user can place it either.
    """

    op: Op
    operands: tuple[Ref, ...]
    attrs: Attrs
    ranks: tuple[int, ...]
    compiler_made: bool = False


@dataclass(frozen=True)
class Program:
    """An immutable listing of ops.

    Attributes:
        slots: the leaves that get values at each run: the arguments of a traced function, else in
            order of first use (operands left to right, depth first).
        constants: values copied at capture.
        instructions: ops in order.
        outputs: what a run returns.
    """

    slots: tuple[Tensor, ...]
    constants: tuple[Tensor, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[Ref, ...]

    @classmethod
    def capture(
        cls,
        outputs: Sequence[Tensor],
        is_slot: Callable[[Tensor], bool],
        refuse: Callable[[Tensor], Exception] | None,
    ) -> Program:
        """List how ``outputs`` are computed from slots and constants; iterative, for any depth.

        Args:
            outputs: tensors.
            is_slot: whether a leaf gets its value at each run.
            refuse: makes the error for a leaf that is neither a slot nor a constant; None: what
                has a value is a constant as it is, neither followed to its leaves nor copied.
        """
        walk = _Capture(is_slot, refuse)
        refs = tuple([walk.visit(out) for out in outputs])
        return cls(tuple(walk.slots), tuple(walk.constants), tuple(walk.instructions), refs)

    @classmethod
    def trace(
        cls,
        function: Callable[..., Tensor | Sequence[Tensor]],
        *specs: tuple[Shape, DType],
    ) -> Program:
        """Run ``function`` on placeholders of the given shapes and dtypes, and capture it.

        >>> program = Program.trace(lambda x: x * x, ((2,), float64))
        >>> program.run([Tensor([1.0, 2.0])])[0].tolist()
        [1.0, 4.0]
        """
        slots = [placeholder(shape, dtype) for shape, dtype in specs]
        made = function(*slots)
        outputs = (made,) if isinstance(made, Tensor) else tuple(made)
        position = {id(x._cell): k for k, x in enumerate(slots)}
        program = cls.capture(outputs, lambda x: id(x._cell) in position, _untraced)
        return program._with_slots(slots, [position[id(x._cell)] for x in program.slots])

    def _with_slots(self, slots: Sequence[Tensor], position: Sequence[int]) -> Program:
        """Return the same program with other slots; ``position`` says where the present ones go."""

        def moved(ref: Ref) -> Ref:
            return Ref(ref.place, position[ref.index]) if ref.place is Place.SLOT else ref

        instructions = tuple(
            replace(i, operands=tuple(map(moved, i.operands))) for i in self.instructions
        )
        outputs = tuple(map(moved, self.outputs))
        return Program(tuple(slots), self.constants, instructions, outputs)

    def run(
        self, values: Sequence[Tensor], batched: Sequence[bool] | None = None
    ) -> tuple[Tensor, ...]:
        """Evaluate with one value a slot.

        Args:
            values: tensors, one a slot.
            batched: which values carry a batch axis in front; None: none does.

        Returns:
            The outputs; one that depends on a batched value has the batch axis in front.

        Raises:
            ShapeError: not one value a slot, or another shape than the slot's.
            TraceError: a batched value meets an op without a per-sample meaning.
        """
        flags = (False,) * len(values) if batched is None else batched
        found = [x.shape[1:] if flag else x.shape for x, flag in zip(values, flags, strict=True)]
        wanted = [slot.shape for slot in self.slots]
        if found != wanted:
            raise ShapeError(
                f"a program needs one value a slot, of shapes {wanted} a sample, got {found}. "
                "Name the values that have a batch axis in front."
            )
        results: list[tuple[tuple[Tensor, ...], bool]] = []
        given = list(zip(values, flags, strict=True))

        def fetch(ref: Ref) -> tuple[Tensor, bool]:
            if ref.place is Place.SLOT:
                return given[ref.index]
            if ref.place is Place.CONSTANT:
                return self.constants[ref.index], False
            outs, flag = results[ref.index]
            return outs[ref.output], flag

        for instruction in self.instructions:
            operands = [fetch(ref) for ref in instruction.operands]
            results.append(_execute(instruction, operands))
        return tuple([fetch(ref)[0] for ref in self.outputs])


def _execute(
    instruction: Instruction, operands: Sequence[tuple[Tensor, bool]]
) -> tuple[tuple[Tensor, ...], bool]:
    op, attrs = instruction.op, instruction.attrs
    flag = any(b for _, b in operands)
    tensors = [x for x, _ in operands]
    if flag:
        if op.per_sample is None:
            raise no_batch_error(op)
        attrs = op.per_sample(attrs, instruction.ranks)
        top = max(instruction.ranks)
        tensors = [
            _pad(x, top - rank) if batched else x
            for (x, batched), rank in zip(operands, instruction.ranks, strict=True)
        ]
    outs = apply(op, *tensors, **attrs)
    return (outs if isinstance(outs, tuple) else (outs,)), flag


def no_batch_error(op: Op) -> TraceError:
    """The error of an op without a per-sample meaning."""
    return TraceError(
        f"an expression that is evaluated per sample needs elementwise ops, reductions or indices, "
        f"got {op.name!r}. Compute it outside, and pass the result as an Input."
    )


def _pad(x: Tensor, count: int) -> Tensor:
    """Insert axes of length 1 after the batch axis."""
    if count == 0:
        return x
    padded: Tensor = FUNCTIONS["reshape"](x, (x.shape[0], *[1] * count, *x.shape[1:]))
    return padded


class _Capture:
    """Walks from outputs to leaves: the history link, or the node of a placeholder."""

    def __init__(
        self, is_slot: Callable[[Tensor], bool], refuse: Callable[[Tensor], Exception] | None
    ) -> None:
        self.is_slot = is_slot
        self.refuse = refuse
        self.slots: list[Tensor] = []
        self.constants: list[Tensor] = []
        self.instructions: list[Instruction] = []
        self._leaves: dict[int, Ref] = {}
        self._done: dict[int, int] = {}

    def visit(self, output: Tensor) -> Ref:
        stack: list[tuple[Tensor, bool]] = [(output, False)]
        while stack:
            x, ready = stack.pop()
            node, _ = self._source(x)
            if node is None:
                if _identity(x) not in self._leaves:
                    self._leaves[_identity(x)] = self._leaf(x)
            elif id(node) in self._done:
                continue
            elif ready:
                self._done[id(node)] = len(self.instructions)
                refs = tuple([self._ref(i) for i in node.inputs])
                ranks = tuple([i.ndim for i in node.inputs])
                self.instructions.append(Instruction(node.op, refs, node.attrs, ranks))
            else:
                stack.append((x, True))
                stack.extend((i, False) for i in reversed(node.inputs))
        return self._ref(output)

    def _leaf(self, x: Tensor) -> Ref:
        if self.is_slot(x):
            self.slots.append(x)
            return Ref(Place.SLOT, len(self.slots) - 1)
        if self.refuse is None:
            self.constants.append(_with_value(x))
        elif x._meta.kind is Kind.CONSTANT or _is_traced_constant(x):
            self.constants.append(x.deep_clone())
        else:
            raise self.refuse(x)
        return Ref(Place.CONSTANT, len(self.constants) - 1)

    def _source(self, x: Tensor) -> tuple[Node | None, int]:
        """Return the node to follow from ``x``, if any."""
        if self.refuse is None and x._cell.state is not State.ABSTRACT:
            return None, 0
        return _source(x)

    def _ref(self, x: Tensor) -> Ref:
        node, index = self._source(x)
        if node is None:
            return self._leaves[_identity(x)]
        done = self._done[id(node)]
        if node.op.outputs is not None and index >= node.op.outputs:
            # A rule reads what only its op saved: a replay has to hand that out as well.
            self.instructions[done] = replace(self.instructions[done], op=_all_public(node.op))
        return Ref(Place.RESULT, done, index)


@cache
def _all_public(op: Op) -> Op:
    """Return the row whose saved outputs are public, too."""
    return Op(
        op.name,
        op.forward,
        op.vjp,
        op.meta,
        outputs=None,
        reads_outputs=op.reads_outputs,
        reads_from=op.reads_from,
        per_sample=op.per_sample,
        draws=op.draws,
        prepare=op.prepare,
    )


def _is_traced_constant(x: Tensor) -> bool:
    """Whether a handle is on a fixed value in a trace, which a detached one is as well."""
    return x._cell.state is State.ABSTRACT and x._cell.storage is not None


def _with_value(x: Tensor) -> Tensor:
    """Return a handle without history on a value, which a trace may have made abstract."""
    cell = x._cell
    if _is_traced_constant(x):
        cell = Cell(x.shape, x.dtype, x.device, cell.storage)
        cell.strides, cell.offset = x._cell.strides, x._cell.offset
    meta = Autograd()
    meta.kind = x._meta.kind  # numbers travel with a launch
    return Tensor._wrap(cell, meta)


def _identity(x: Tensor) -> int:
    """What makes two handles one leaf: a placeholder's cell, any other leaf's metadata.

    A transform differentiates a placeholder by a handle with metadata of its own.
    """
    return id(x._cell) if x._cell.state is State.ABSTRACT else id(x._meta)


def _source(x: Tensor) -> tuple[Node | None, int]:
    """Return the node to follow from ``x``: its history, and ``_node`` only where ABSTRACT."""
    cell = x._cell
    if cell.state is State.ABSTRACT:
        return cell.node, cell.index
    history = x._meta.history
    return (None, 0) if history is None else (history.node, x._meta.index)


def placeholder(
    shape: Shape, dtype: DType = float64, name: str | None = None, device: str = CPU
) -> Tensor:
    """Return a tensor without a value: ops on it are traced, not run."""
    meta = Autograd()
    meta.kind = Kind.INPUT
    meta.name = name
    return Tensor._wrap(Cell(shape, dtype, device, None, state=State.ABSTRACT), meta)


def _untraced(x: Tensor) -> TraceError:
    return TraceError(
        f"a traced function needs to use its arguments and constants only, got {x._label()}. "
        "Pass it as an argument."
    )
