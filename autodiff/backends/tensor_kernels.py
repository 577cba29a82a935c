"""The kernels of ``tensor.cu``, and the structures that they are told things in."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from autodiff.backends.raw_modules import Budget, KernelSet, Source

AXES, OPERANDS, LENGTH, THREADS, TILE = 4, 4, 8, 256, 16

_BUDGETS = {  # registers, and elements in shared memory
    "elementwise": (64, 12 * 256),
    "reduce": (48, 8),
    "smooth": (72, 8),
    "take": (48, 0),
    "segment_sum": (56, 0),
}

KERNELS = KernelSet(
    Source(Path(__file__).with_name("tensor.cu")),
    {
        **{
            f"{name}<{real}>": Budget(registers, elements * (4 if real == "float" else 8))
            for name, (registers, elements) in _BUDGETS.items()
            for real in ("float", "double")
        },
        **{
            f"matmul<{real}, {TILE}>": Budget(48, 2 * TILE * (TILE + 1) * size)
            for real, size in (("float", 4), ("double", 8))
        },
        "take_leaves": Budget(48),
    },
)


def enumeration(name: str) -> dict[str, int]:
    """Return the names of an enum of the source, in lower case, with their numbers.

    >>> enumeration("Reducer")
    {'sum': 0, 'max': 1, 'min': 2}
    """
    found = re.search(rf"enum {name} \{{(.*?)\}}", KERNELS.source.text(), re.DOTALL)
    assert found is not None, name
    names = [part.strip().lower() for part in found[1].split(",")]
    return {name: number for number, name in enumerate(names)}


_long, _int = np.int64, np.int32

OPERAND = np.dtype(
    [("offset", _long), ("strides", _long, AXES), ("kind", _int), ("pad", _int)], align=True
)
INSTRUCTION = np.dtype([(name, _int) for name in ("code", "first", "second", "third")])
PROGRAM = np.dtype(
    [
        ("size", _long),
        ("extents", _long, AXES),
        ("operands", OPERAND, OPERANDS),
        ("code", INSTRUCTION, LENGTH),
        ("output", _int, OPERANDS),
        ("kind", _int, OPERANDS),
        *[(name, _int) for name in ("inputs", "length", "outputs", "pad")],
    ],
    align=True,
)
REDUCTION = np.dtype(
    [
        *[(name, _long) for name in ("outer", "inner", "offset")],
        *[
            (f"{part}_{what}", _long, AXES)
            for part in ("outer", "inner")
            for what in ("extents", "strides")
        ],
        ("reducer", _int),
        ("pad", _int),
    ],
    align=True,
)
PRODUCT = np.dtype(
    [
        *[(f"left_{name}", _long) for name in ("offset", "batch", "row", "depth")],
        *[(f"right_{name}", _long) for name in ("offset", "batch", "depth", "column")],
        *[(name, _int) for name in ("rows", "columns", "depth", "pad")],
    ],
    align=True,
)
LEAF = np.dtype(
    [*[(name, np.uint64) for name in ("address", "offset", "bytes")], ("number", np.uint8, 8)]
)
