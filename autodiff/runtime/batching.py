"""Programs evaluated as if per sample: the batch axis goes in front, and the compiler pads.

The same meaning as ``Program.run(values, batched)``, written out as instructions, so that the
padding is placed, scheduled and explained like everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from autodiff.node import Attrs, Meta
from autodiff.program import Instruction, Place, Program, Ref, no_batch_error
from autodiff.runtime.listing import list_values
from autodiff.table import OPS


def batched_program(program: Program, inputs: Sequence[Meta], flags: Sequence[bool]) -> Program:
    """Return the program for inputs of which some carry a batch axis in front.

    Args:
        program: for one sample.
        inputs: shapes and dtypes of the actual inputs.
        flags: which of them carry a batch axis.

    Raises:
        TraceError: a batched value meets an op without a per-sample meaning.
    """
    if not any(flags):
        return program
    size = next(meta[0][0] for meta, flag in zip(inputs, flags, strict=True) if flag)
    single = [
        (shape[1:] if flag else shape, dtype)
        for (shape, dtype), flag in zip(inputs, flags, strict=True)
    ]
    writer = _Writer(program, single, size)
    moved = [writer.write(k, flags) for k in range(len(program.instructions))]
    outputs = tuple([_moved(ref, moved) for ref in program.outputs])
    return replace(program, instructions=tuple(writer.instructions), outputs=outputs)


class _Batched(NamedTuple):
    """A new instruction's number, and whether its results carry the batch axis."""

    number: int
    flag: bool


class _Writer:
    def __init__(self, program: Program, single: Sequence[Meta], size: int) -> None:
        self._program = program
        self._size = size
        self._listing = list_values(program, single)
        self._done: list[_Batched] = []
        self.instructions: list[Instruction] = []

    def write(self, index: int, flags: Sequence[bool]) -> _Batched:
        """Write one instruction, with what has to be padded before it."""
        instruction = self._program.instructions[index]
        carry = [self._carries(ref, flags) for ref in instruction.operands]
        refs = tuple([_moved(ref, self._done) for ref in instruction.operands])
        attrs = instruction.attrs
        if any(carry):
            if instruction.op.per_sample is None:
                raise no_batch_error(instruction.op)
            attrs = instruction.op.per_sample(attrs, instruction.ranks)
            top = max(instruction.ranks)
            line = self._listing.lines[index]
            shapes = [self._listing.metas[v][0] for v in line.operands]
            refs = tuple(
                [
                    self._padded(ref, shape, top) if flag and len(shape) < top else ref
                    for ref, shape, flag in zip(refs, shapes, carry, strict=True)
                ]
            )
        made = replace(instruction, operands=refs, attrs=attrs)
        self.instructions.append(made)
        self._done.append(_Batched(len(self.instructions) - 1, any(carry)))
        return self._done[-1]

    def _carries(self, ref: Ref, flags: Sequence[bool]) -> bool:
        if ref.place is Place.SLOT:
            return flags[ref.index]
        return ref.place is Place.RESULT and self._done[ref.index].flag

    def _padded(self, ref: Ref, shape: tuple[int, ...], rank: int) -> Ref:
        """Insert axes of length 1 after the batch axis."""
        padded = (self._size, *[1] * (rank - len(shape)), *shape)
        attrs: Attrs = {"shape": padded}
        operand = len(shape) + 1
        self.instructions.append(
            Instruction(OPS["reshape"], (ref,), attrs, (operand,), compiler_made=True)
        )
        return Ref(Place.RESULT, len(self.instructions) - 1)


def _moved(ref: Ref, done: Sequence[_Batched]) -> Ref:
    """Return the same operand by its new number."""
    return ref._replace(index=done[ref.index].number) if ref.place is Place.RESULT else ref
