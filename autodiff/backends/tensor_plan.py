"""Which kernels of ``tensor.cu`` run a list of ops, on which parts of one workspace.

A plan knows shapes and dtypes and no device. Consecutive elementwise ops of one shape become one
program; ops that only look at their operand in another way become strides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from autodiff.backends import tensor_kernels as kernels
from autodiff.backends.interface import HostArray
from autodiff.backends.raw_modules import Extents

# Any in this file: attrs of ops.

#: Shape and dtype of a value.
ValueMeta = tuple[tuple[int, ...], np.dtype[Any]]
ALIGNMENT = 256
MOST_BLOCKS = 1024
BOOL = np.dtype(bool)
REAL_NAMES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
CODES = kernels.enumeration("Code")
KINDS = kernels.enumeration("Kind")


class NoKernel(LookupError):
    """An op, or an operand of one, for which ``tensor.cu`` has no kernel."""


class Step(NamedTuple):
    """An op of a list.

    Attributes:
        name: the op's.
        attrs: the op's.
        operands: value numbers.
        result: the value number of its only result.
        view: the forward of an op that only looks at its operand in another way, else None.
    """

    name: str
    attrs: Mapping[str, Any]
    operands: tuple[int, ...]
    result: int
    view: Any = None  # Any: a function of NumPy and an array


class Slot(NamedTuple):
    """A stretch of the workspace.

    Attributes:
        offset: in bytes.
        size: in elements.
        dtype: of the elements.
    """

    offset: int
    size: int
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Launch:
    """A kernel and its arguments: slots and NumPy scalars."""

    instance: str
    grid: Extents
    block: Extents
    arguments: tuple[Slot | np.generic, ...]


@dataclass(frozen=True)
class View:
    """A value: a slot, looked at in some way.

    Attributes:
        slot: where it lies.
        sample: an array of the slot's size, seen in the same way; its elements mean nothing.
    """

    slot: Slot
    sample: HostArray

    @property
    def offset(self) -> int:
        """Where the first element lies in the slot, in elements."""
        base = _owner(self.sample)
        start = self.sample.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return int(start) // self.sample.itemsize

    @property
    def strides(self) -> list[int]:
        """Elements from one position to the next, by axis."""
        return strides_of(self.sample)

    @property
    def contiguous(self) -> bool:
        """Whether it is the slot, in order."""
        return self.sample.flags.c_contiguous and self.sample.size == self.slot.size


@dataclass(frozen=True)
class TensorPlan:
    """What runs.

    Attributes:
        launches: the kernels, in order.
        leaves: where the given values are put.
        outputs: the values that are wanted, each in order in a slot.
        nbytes: of the workspace.
    """

    launches: tuple[Launch, ...]
    leaves: tuple[Slot, ...]
    outputs: tuple[View, ...]
    nbytes: int


def _owner(array: HostArray) -> HostArray:
    while type(array.base) is np.ndarray:
        array = array.base
    return array


class Planner:
    """Turns steps into launches.

    Args:
        metas: shape and dtype of every value.
        last_uses: the number of the last step that uses a value; beyond all for outputs.
    """

    def __init__(self, metas: Mapping[int, ValueMeta], last_uses: Mapping[int, int]) -> None:
        self.metas = metas
        self.last_uses = last_uses
        self.launches: list[Launch] = []
        self.values: dict[int, View] = {}
        self.nbytes = 0

    def allocate(self, meta: ValueMeta) -> View:
        """Return new memory."""
        shape, dtype = meta
        slot = Slot(self.nbytes, prod(shape), dtype)
        nbytes = slot.size * dtype.itemsize
        self.nbytes += -(-nbytes // ALIGNMENT) * ALIGNMENT
        return View(slot, np.empty(shape, dtype))

    def define(self, value: int) -> View:
        """Return memory for a value."""
        self.values[value] = self.allocate(self.metas[value])
        return self.values[value]

    def add(self, instance: str, size: int, *arguments: Slot | np.generic) -> None:
        """Launch a kernel with one thread an element."""
        if size:
            blocks = min(-(-size // kernels.THREADS), MOST_BLOCKS)
            launch = Launch(instance, (blocks, 1, 1), (kernels.THREADS, 1, 1), arguments)
            self.launches.append(launch)

    def view(self, step: Step) -> None:
        """Look at a value in another way; where that needs a copy, copy first."""
        source = self.values[step.operands[0]]
        sample = step.view(np, source.sample, **step.attrs)
        if not np.may_share_memory(sample, source.sample) and sample.size:
            source = self.in_order(source)
            sample = step.view(np, source.sample, **step.attrs)
        self.values[step.result] = View(source.slot, sample)

    def in_order(self, value: View) -> View:
        """Return a value as it is if its elements lie in order, else a copy of it."""
        if value.contiguous:
            return value
        copy = self.allocate((value.sample.shape, value.sample.dtype))
        program = ElementwiseProgram(value.sample.shape, real_of([value.sample.dtype]))
        register = program.operand(-1, value)
        program.append(CODES["copy"], [register], -2)
        program.emit(self, {-2: copy})
        return copy


class ElementwiseProgram:
    """Elementwise ops of one shape that run as one kernel."""

    def __init__(self, shape: tuple[int, ...], real: np.dtype[Any]) -> None:
        self.shape = shape
        self.real = real
        self.operands: dict[int, View | int] = {}
        self.results: dict[int, int] = {}  # value number to register
        self._code: list[tuple[int, ...]] = []

    def operand(self, value: int, view: View | int) -> int:
        """Return the register of an operand, which is a value or an integer."""
        if value in self.results:
            return self.results[value]
        self.operands[value] = view
        return list(self.operands).index(value)

    def append(self, code: int, registers: Sequence[int], result: int) -> None:
        """Add an instruction."""
        self.results[result] = kernels.OPERANDS + len(self._code)
        self._code.append((code, *registers, *[0] * (3 - len(registers))))

    def takes(self, step: Step, planner: Planner, number: int) -> bool:
        """Whether an op fits in: shape, precision, and room in the registers."""
        shape, dtype = planner.metas[step.result]
        operands = {*self.operands, *[x for x in step.operands if x not in self.results]}
        dtypes = [planner.metas[x][1] for x in step.operands]
        alive = [r for r in (*self.results, step.result) if planner.last_uses[r] > number]
        return (
            shape == self.shape
            and self.real in (real_of([dtype, *dtypes]), *[d for d in dtypes if d != BOOL])
            and len(operands) <= kernels.OPERANDS
            and len(self._code) < kernels.LENGTH
            and len(alive) <= kernels.OPERANDS
        )

    def emit(self, planner: Planner, outputs: Mapping[int, View]) -> None:
        """Launch the program; ``outputs`` says which results are written where."""
        program = np.zeros((), kernels.PROGRAM)
        program["size"] = prod(self.shape)
        program["extents"], _ = axes_of(self.shape, [0] * len(self.shape))
        for operand, view in zip(program["operands"], self.operands.values(), strict=False):
            if isinstance(view, int):
                operand["offset"], operand["kind"] = view, KINDS["number"]
                continue
            stretched = np.broadcast_to(view.sample, self.shape)
            operand["offset"] = view.offset
            operand["strides"] = axes_of(self.shape, strides_of(stretched))[1]
            operand["kind"] = KINDS["bool" if view.slot.dtype == BOOL else "real"]
        for k, instruction in enumerate(self._code):
            program["code"][k] = instruction
        for k, (value, view) in enumerate(outputs.items()):
            program["output"][k] = self.results[value]
            program["kind"][k] = view.slot.dtype == BOOL
        program["inputs"], program["length"] = len(self.operands), len(self._code)
        program["outputs"] = len(outputs)
        written = [view.slot for view in outputs.values()]
        read = [written[0] if isinstance(x, int) else x.slot for x in self.operands.values()]
        slots = [_filled(read or written), _filled(written)]
        name = f"elementwise<{REAL_NAMES[self.real]}>"
        planner.add(name, prod(self.shape), by_value(program), *slots[0], *slots[1])


def _filled(slots: list[Slot]) -> list[Slot]:
    """Repeat the first slot in the places of a kernel's unused pointers."""
    return slots + slots[:1] * (kernels.OPERANDS - len(slots))


def by_value(structure: HostArray) -> np.generic:
    """Return a structure as an argument that is passed by value."""
    value: Any = structure[()]  # NumPy's stubs take it for an array
    assert isinstance(value, np.generic)
    return value


def strides_of(sample: HostArray) -> list[int]:
    """Return the strides of an array in elements."""
    return [s // sample.itemsize for s in sample.strides]


def axes_of(extents: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return four axes for a kernel; those of length 1 do not count.

    >>> axes_of([2, 1, 3], [3, 3, 1])
    ([1, 1, 2, 3], [0, 0, 3, 1])
    """
    axes = [(n, s) for n, s in zip(extents, strides, strict=True) if n != 1]
    if len(axes) > kernels.AXES:
        raise NoKernel(f"{len(axes)} axes")
    axes = [(1, 0)] * (kernels.AXES - len(axes)) + axes
    return [n for n, _ in axes], [s for _, s in axes]


def real_of(dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the one floating dtype among some; of booleans alone, single precision.

    Raises:
        NoKernel: there are two, or another one.
    """
    found = {dtype for dtype in dtypes if dtype != BOOL} or {np.dtype(np.float32)}
    if len(found) > 1 or not found <= REAL_NAMES.keys():
        raise NoKernel(f"dtypes {sorted(map(str, found))}")
    return found.pop()
