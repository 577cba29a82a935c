"""The ops that have kernels in ``tensor.cu``: from a list of ops to a plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from autodiff.backends import tensor_kernels as kernels
from autodiff.backends.tensor_plan import (
    BOOL,
    CODES,
    MOST_BLOCKS,
    REAL_NAMES,
    ElementwiseProgram,
    Launch,
    NoKernel,
    Planner,
    Slot,
    Step,
    TensorPlan,
    ValueMeta,
    View,
    axes_of,
    by_value,
    real_of,
    strides_of,
)

# Any in this file: attrs of ops.


def make_plan(
    steps: Sequence[Step],
    metas: Mapping[int, ValueMeta],
    leaves: Sequence[int],
    outputs: Sequence[int],
) -> TensorPlan | None:
    """Plan a list of ops.

    Args:
        steps: the ops in order.
        metas: shape and dtype of every value.
        leaves: the values that are given.
        outputs: the values that are wanted.

    Returns:
        The plan, or None where an op has no kernel for its operands.
    """
    last_uses = {x: number for number, step in enumerate(steps) for x in step.operands}
    for step in steps:
        last_uses.setdefault(step.result, -1)
    last_uses.update(dict.fromkeys(outputs, len(steps)))
    planner = Planner(metas, last_uses)
    slots = tuple([planner.define(leaf).slot for leaf in leaves])
    try:
        _plan_steps(planner, steps)
        wanted = tuple([planner.in_order(planner.values[value]) for value in outputs])
    except NoKernel:
        return None
    return TensorPlan(tuple(planner.launches), slots, wanted, planner.nbytes)


def _plan_steps(planner: Planner, steps: Sequence[Step]) -> None:
    program: ElementwiseProgram | None = None
    for number, step in enumerate(steps):
        code = _code_of(step)
        if program is not None:
            uses = any(x in program.results for x in step.operands)
            joins = code is not None and program.takes(step, planner, number)
            if not joins and (uses or step.view is None):
                _finish(planner, program, number)
                program = None
        if step.view is not None:
            planner.view(step)
        elif code is not None:
            if program is None:
                dtypes = [planner.metas[x][1] for x in (*step.operands, step.result)]
                program = ElementwiseProgram(planner.metas[step.result][0], real_of(dtypes))
            registers = [program.operand(x, planner.values.get(x, _NOWHERE)) for x in step.operands]
            program.append(code, registers, step.result)
        else:
            _kernel_of(step)(planner, step)
    if program is not None:
        _finish(planner, program, len(steps))


_NOWHERE: Any = None
"""Of a value that lies in a register only."""


def _code_of(step: Step) -> int | None:
    """Return the instruction of an elementwise op."""
    if step.name == "astype":
        return CODES["copy"]
    return None if step.view is not None else CODES.get(step.name)


def _finish(planner: Planner, program: ElementwiseProgram, number: int) -> None:
    """Launch a program; what later steps read is written."""
    alive = [value for value in program.results if planner.last_uses[value] >= number]
    if alive:
        program.emit(planner, {value: planner.define(value) for value in alive})


def _kernel_of(step: Step) -> Callable[[Planner, Step], None]:
    if step.name not in _KERNELS:
        raise NoKernel(step.name)
    return _KERNELS[step.name]


# -- one function a kernel -------------------------------------------------------------------------


def _real(view: View) -> np.dtype[Any]:
    """Return the dtype of an operand that has to be a floating one."""
    if view.slot.dtype not in REAL_NAMES:
        raise NoKernel(f"dtype {view.slot.dtype}")
    return view.slot.dtype


def _reduce(planner: Planner, step: Step) -> None:
    source = planner.values[step.operands[0]]
    real, shape, strides = _real(source), source.sample.shape, source.strides
    reduction = np.zeros((), kernels.REDUCTION)
    for part in ("outer", "inner"):
        kept = [k for k in range(len(shape)) if (k in step.attrs["axis"]) == (part == "inner")]
        reduction[part] = prod([shape[k] for k in kept])
        found = axes_of([shape[k] for k in kept], [strides[k] for k in kept])
        reduction[f"{part}_extents"], reduction[f"{part}_strides"] = found
    reduction["offset"], reduction["reducer"] = source.offset, REDUCERS[step.name]
    scale = 1.0 / max(int(reduction["inner"]), 1) if step.name == "mean" else 1.0
    result = planner.define(step.result)
    threads = min(result.slot.size, MOST_BLOCKS) * kernels.THREADS
    arguments = (by_value(reduction), source.slot, result.slot, real.type(scale))
    planner.add(f"reduce<{REAL_NAMES[real]}>", threads, *arguments)


def _spread(planner: Planner, step: Step) -> None:
    """Look at the operand as if it were repeated; where that is divided, write it."""
    (value,), parts = step.operands, step.attrs["parts"]
    source = planner.in_order(planner.values[value])
    real, shape = _real(source), planner.metas[step.result][0]
    lead = shape[: step.attrs.get("lead", 0)]
    sample = np.broadcast_to(source.sample.reshape((*lead, *step.attrs["kept"])), shape)
    repeated = View(source.slot, sample)
    if parts == 1:
        planner.values[step.result] = repeated
        return
    program = ElementwiseProgram(shape, real)
    registers = [program.operand(value, repeated), program.operand(_NUMBER, parts)]
    program.append(CODES["divide"], registers, step.result)
    program.emit(planner, {step.result: planner.define(step.result)})


_NUMBER = -1
"""Stands for the value number of an integer."""


def _smooth(planner: Planner, step: Step) -> None:
    source = planner.in_order(planner.values[step.operands[0]])
    real, axis = _real(source), step.attrs["axis"]
    before, extent, behind = _middle(source.sample.shape, axis)
    result = planner.define(step.result)
    rows = before * behind
    threads = min(rows, MOST_BLOCKS) * kernels.THREADS if extent else 0
    sizes = [np.int64(n) for n in (rows, extent, behind)]
    limit = real.type(np.finfo(real).max)
    arguments = (np.int32(FAMILIES[step.name]), source.slot, result.slot, *sizes, limit)
    planner.add(f"smooth<{REAL_NAMES[real]}>", threads, *arguments)


def _middle(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, int, int]:
    """Return the extents before, of and behind neighbouring axes."""
    first, last = min(axes, default=0), max(axes, default=-1)
    if list(range(first, last + 1)) != sorted(axes) or not axes:
        raise NoKernel(f"axes {axes}")
    return prod(shape[:first]), prod(shape[first : last + 1]), prod(shape[last + 1 :])


def _matmul(planner: Planner, step: Step) -> None:
    left, right = [planner.values[x] for x in step.operands]
    real, shape = real_of([left.slot.dtype, right.slot.dtype]), planner.metas[step.result][0]
    depth, batch = left.sample.shape[-1], shape[:-2]
    if max(*shape[-2:], depth) > LARGEST_MATRIX or len(batch) > 1 or BOOL in _dtypes(left, right):
        raise NoKernel(f"matmul of shape {shape}")
    product = np.zeros((), kernels.PRODUCT)
    for part, view, axes in (
        ("left", left, ("row", "depth")),
        ("right", right, ("depth", "column")),
    ):
        sample = np.broadcast_to(view.sample, (*batch, *view.sample.shape[-2:]))
        strides = [0, *strides_of(sample)][-3:]
        product[f"{part}_offset"] = view.offset
        for axis, stride in zip(("batch", *axes), strides, strict=True):
            product[f"{part}_{axis}"] = stride
    product["rows"], product["columns"], product["depth"] = *shape[-2:], depth
    result = planner.define(step.result)
    tiles = [-(-n // kernels.TILE) for n in (shape[-1], shape[-2])]
    if result.slot.size:
        planner.launches.append(
            Launch(
                f"matmul<{REAL_NAMES[real]}, {kernels.TILE}>",
                (tiles[0], tiles[1], prod(batch)),
                (kernels.TILE, kernels.TILE, 1),
                (by_value(product), left.slot, right.slot, result.slot),
            )
        )


def _dtypes(*views: View) -> list[np.dtype[Any]]:
    return [view.slot.dtype for view in views]


def _pick(planner: Planner, step: Step) -> None:
    """Plan take and its adjoint segment_sum, along an axis that counts from the end."""
    source, index = [planner.in_order(planner.values[x]) for x in step.operands]
    real, shape = _real(source), source.sample.shape
    axis = len(shape) + step.attrs["axis"]
    _, extent, behind = _middle(shape, (axis,))
    if index.slot.dtype != np.int64 or (step.name == "segment_sum" and extent > LONGEST_INDEX):
        raise NoKernel(f"{step.name} of {extent} elements")
    count = planner.metas[step.result][0][axis]
    result = planner.define(step.result)
    sizes = [np.int64(n) for n in (result.slot.size, extent, count, behind)]
    arguments: list[Slot | np.generic] = [source.slot, index.slot, result.slot, *sizes]
    planner.add(f"{step.name}<{REAL_NAMES[real]}>", result.slot.size, *arguments)


LARGEST_MATRIX = 512
LONGEST_INDEX = 4096
FAMILIES = kernels.enumeration("Smooth")
REDUCERS = {**kernels.enumeration("Reducer"), "mean": kernels.enumeration("Reducer")["sum"]}

_KERNELS: dict[str, Callable[[Planner, Step], None]] = {
    **dict.fromkeys(REDUCERS, _reduce),
    **dict.fromkeys(FAMILIES, _smooth),
    "spread": _spread,
    "matmul": _matmul,
    "take": _pick,
    "segment_sum": _pick,
}

#: The names of the ops that have a kernel; views need none.
RESIDENT = frozenset({*CODES, "astype", *_KERNELS})
