"""Many small tables as one array: Numba's dispatch pays for every array that a driver is given.

Packed are a head and the parts behind it. The head has ``PART`` numbers a part: where it starts,
and the lengths of its axes. Parts of real numbers keep their bits; each starts at a whole integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import populate_array
from numpy.typing import NDArray

from circuits.engines.numba_instructions import Integers
from circuits.engines.numba_simd import intrinsic

PART = 4
"""Numbers of the head for every part: where it starts, and up to three lengths."""

# Any in this file: arrays of either kind of number, and Numba's and LLVM's values.


def packed(first: Integers, parts: Sequence[NDArray[Any]]) -> tuple[Integers, list[NDArray[Any]]]:
    """Return an array of ``first``, the head and the parts, and the parts as views of it."""
    size = first.itemsize
    heads = len(first) + PART * len(parts)
    places = np.cumsum([heads, *[-(-part.nbytes // size) for part in parts]])
    room = np.zeros(places[-1], np.int64)
    room[: len(first)] = first
    views = []
    for k, (part, at, end) in enumerate(zip(parts, places[:-1], places[1:], strict=True)):
        head = len(first) + PART * k
        room[head : head + 1 + part.ndim] = at, *part.shape
        view = room[at:end].view(part.dtype)[: part.size].reshape(part.shape)
        view[...] = part
        views.append(view)
    return room, views


def _unpacker(dimensions: int) -> Any:
    @intrinsic
    def function(typingctx: Any, room: Any, head: Any, like: Any) -> Any:
        kind = types.Array(like.dtype, dimensions, "C")

        def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = cgutils.create_struct_proxy(room)(context, builder, value=args[0]).data
            first = context.cast(builder, args[1], signature.args[1], types.int64)
            places = [builder.add(first, first.type(i)) for i in range(1 + dimensions)]
            start, *shape = [builder.load(builder.gep(data, [place])) for place in places]
            size = ir.Constant(first.type, like.dtype.bitwidth // 8)
            strides = [size]
            for length in shape[:0:-1]:
                strides.insert(0, builder.mul(strides[0], length))
            out = cgutils.create_struct_proxy(kind)(context, builder)
            address = builder.bitcast(builder.gep(data, [start]), out.data.type)
            populate_array(out, address, shape, strides, size, None)
            return out._getvalue()

        return kind(room, head, like), gen

    return function


part, part_rows, part_planes = _unpacker(1), _unpacker(2), _unpacker(3)
"""Part with one axis, two or three, of a packed array whose head for it stands at ``room[head]``.
It has the type of number of the array ``like``, and lives as long as the packed array does."""
