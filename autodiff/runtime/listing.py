"""A program with its values numbered and their shapes known: what is planned and scheduled.

Values are the slots, then the constants, then the outputs of every instruction, saved ones too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from autodiff.errors import TraceError
from autodiff.node import Attrs, Meta, Op
from autodiff.program import Place, Program, Ref


@dataclass(frozen=True, eq=False)
class Line:
    """An instruction.

    Attributes:
        index: its number in the program.
        op: what it runs.
        attrs: the op's attributes.
        operands: value numbers.
        results: value numbers.
        compiler_made: no user asked for it; it runs where the program's root does.
    """

    index: int
    op: Op
    attrs: Attrs
    operands: tuple[int, ...]
    results: range
    compiler_made: bool


@dataclass(frozen=True, eq=False)
class Listing:
    """A program whose inputs have known shapes.

    Attributes:
        lines: the instructions in order.
        metas: shape and dtype by value number.
        slots: the value numbers of the inputs.
        constants: the value numbers of the constants.
        numbers: the values that go along with a launch and need no location.
        outputs: the value numbers of what a run returns.
        users: which lines read a value, by value number, in order.
        drops: the values that nobody needs after a line, by line.
    """

    lines: tuple[Line, ...]
    metas: tuple[Meta, ...]
    slots: range
    constants: range
    numbers: frozenset[int]
    outputs: tuple[int, ...]
    users: tuple[tuple[int, ...], ...]
    drops: tuple[tuple[int, ...], ...]

    @cached_property
    def borrowed(self) -> frozenset[int]:
        """The values that may lie in memory of others: the inputs, and what views look into."""
        views = [value for line in self.lines if line.op.view for value in line.results]
        return frozenset((*self.slots, *views))

    @property
    def entering(self) -> list[int]:
        """The slots and constants that need a location."""
        entering = range(len(self.slots) + len(self.constants))
        return [
            v
            for v in entering
            if v not in self.numbers and (self.users[v] or (v in self.slots and v in self.outputs))
        ]

    @property
    def root(self) -> Line | None:
        """The last instruction of the user's on the way to the first output."""
        makers = {value: line for line in self.lines for value in line.results}
        line = makers.get(self.outputs[0]) if self.outputs else None
        while line is not None and line.compiler_made:
            line = next((makers[v] for v in line.operands if v in makers), None)
        return line


def list_values(program: Program, inputs: Sequence[Meta], numbers: Iterable[int] = ()) -> Listing:
    """Number the values of a program and work out their shapes from those of the inputs.

    Args:
        program: the program.
        inputs: shape and dtype of each slot's value.
        numbers: the slots that go along with a launch, as every constant of shape () does.

    Raises:
        TraceError: an op without a shape rule.
    """
    metas = [*inputs, *[(x.shape, x.dtype) for x in program.constants]]
    slots = range(len(inputs))
    constants = range(len(inputs), len(metas))
    lines: list[Line] = []

    def number(ref: Ref) -> int:
        if ref.place is Place.RESULT:
            return lines[ref.index].results[ref.output]
        return ref.index + (constants.start if ref.place is Place.CONSTANT else 0)

    for index, instruction in enumerate(program.instructions):
        operands = tuple([number(ref) for ref in instruction.operands])
        found = _metas(instruction.op, instruction.attrs, [metas[v] for v in operands])
        results = range(len(metas), len(metas) + len(found))
        metas.extend(found)
        made = instruction.compiler_made
        lines.append(Line(index, instruction.op, instruction.attrs, operands, results, made))
    outputs = tuple([number(ref) for ref in program.outputs])
    users = _users(lines, len(metas))
    drops = _drops(lines, users, frozenset(outputs))
    travelling = frozenset((*numbers, *[v for v in constants if metas[v][0] == ()]))
    return Listing(tuple(lines), tuple(metas), slots, constants, travelling, outputs, users, drops)


def _metas(op: Op, attrs: Attrs, operands: Sequence[Meta]) -> Sequence[Meta]:
    if op.meta is None:
        raise TraceError(
            f"a prepared program needs ops with a shape rule, got {op.name!r}. Give its row a meta "
            "function, or compute it outside the program."
        )
    return op.meta(*operands, **attrs)


def _users(lines: Sequence[Line], count: int) -> tuple[tuple[int, ...], ...]:
    users: list[list[int]] = [[] for _ in range(count)]
    for line in lines:
        for value in dict.fromkeys(line.operands):
            users[value].append(line.index)
    return tuple(map(tuple, users))


def _drops(
    lines: Sequence[Line], users: Sequence[Sequence[int]], outputs: frozenset[int]
) -> tuple[tuple[int, ...], ...]:
    """A value goes after the last line that reads it, and unread at once; an output stays."""
    drops: list[list[int]] = [[] for _ in lines]
    for line in lines:
        for value in dict.fromkeys((*line.operands, *line.results)):
            last = users[value][-1] if users[value] else line.index
            if last == line.index and value not in outputs:
                drops[line.index].append(value)
    return tuple(map(tuple, drops))
