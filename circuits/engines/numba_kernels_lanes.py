"""Between lanes and numbers that lie apart in memory: where lanes are samples, a row each.

A block may hold fewer samples than a vector has lanes. Then the last one is read again for the
lanes that are left, and nothing is written from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from circuits.engines.numba_simd import Vector, intrinsic

# Any in this file: Numba's and LLVM's values, which have no types for mypy.

_INT = ir.IntType(64)


def _integers(context: Any, builder: Any, kinds: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    pairs = zip(values, kinds, strict=True)
    return [context.cast(builder, value, kind, types.int64) for value, kind in pairs]


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return cgutils.create_struct_proxy(kind)(context, builder, value=array).data


def _place(builder: Any, start: Any, step: Any, lane: int, lanes: Any) -> Any:
    """Index of what a lane reads: that of the last lane in use, for those behind it."""
    number, last = ir.Constant(_INT, lane), builder.sub(lanes, ir.Constant(_INT, 1))
    used = builder.select(builder.icmp_signed("<", number, last), number, last)
    return builder.add(start, builder.mul(step, used))


def _lane(number: int) -> Any:
    return ir.Constant(ir.IntType(32), number)


@intrinsic
def vgather(typingctx: Any, array: Any, start: Any, step: Any, lanes: Any) -> Any:
    """Vector of ``array[start]``, ``array[start + step]`` and so on, ``lanes`` of them."""
    vector = Vector(array.dtype)

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = _data(context, builder, array, args[0])
        start, step, lanes = _integers(context, builder, signature.args[1:], args[1:])
        value = ir.Constant(context.get_value_type(vector), ir.Undefined)
        for lane in range(vector.count):
            number = builder.load(builder.gep(data, [_place(builder, start, step, lane, lanes)]))
            value = builder.insert_element(value, number, _lane(lane))
        return value

    return vector(array, start, step, lanes), gen


@intrinsic
def vscatter(typingctx: Any, array: Any, start: Any, step: Any, lanes: Any, value: Any) -> Any:
    """Write the first ``lanes`` to ``array[start]``, ``array[start + step]`` and so on."""
    vector = Vector(array.dtype)

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = _data(context, builder, array, args[0])
        start, step, lanes = _integers(context, builder, signature.args[1:4], args[1:4])
        for lane in range(vector.count):
            number = ir.Constant(_INT, lane)
            with builder.if_then(builder.icmp_signed("<", number, lanes), likely=True):
                place = builder.add(start, builder.mul(step, number))
                element = builder.extract_element(args[4], _lane(lane))
                builder.store(element, builder.gep(data, [place]))
        return context.get_dummy_value()

    return types.none(array, start, step, lanes, vector), gen


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Rows of the transposed square: bit by bit of their numbers, rows trade places with lanes."""
    rows, count, bit = list(rows), len(rows), 1
    numbers = range(count)
    while bit < count:
        low = [i if not i & bit else count + (i ^ bit) for i in numbers]
        high = [count + i if i & bit else i ^ bit for i in numbers]
        low, high = [ir.Constant(ir.VectorType(ir.IntType(32), count), x) for x in (low, high)]
        for i in numbers:
            if not i & bit:
                pair = rows[i], rows[i | bit]
                rows[i], rows[i | bit] = [builder.shuffle_vector(*pair, m) for m in (low, high)]
        bit *= 2
    return rows


@intrinsic
def transpose(
    typingctx: Any,
    source: Any,
    start: Any,
    step: Any,
    rows: Any,
    target: Any,
    to: Any,
    apart: Any,
    columns: Any,
) -> Any:
    """Transpose a square as wide as a vector: from rows ``step`` apart to rows ``apart`` apart.

    Only ``rows`` of the source are read, and ``columns`` of the target are written.
    """
    vector = Vector(source.dtype)

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, form = signature.args, context.get_value_type(vector).as_pointer()
        align = vector.element.bitwidth // 8
        data = _data(context, builder, source, args[0])
        start, step, rows = _integers(context, builder, kinds[1:4], args[1:4])
        found = []
        for lane in range(vector.count):
            place = builder.gep(data, [_place(builder, start, step, lane, rows)])
            found.append(builder.load(builder.bitcast(place, form), align=align))
        data = _data(context, builder, target, args[4])
        to, apart, columns = _integers(context, builder, kinds[5:], args[5:])
        for lane, value in enumerate(_transposed(builder, found)):
            number = ir.Constant(_INT, lane)
            with builder.if_then(builder.icmp_signed("<", number, columns), likely=True):
                place = builder.gep(data, [builder.add(to, builder.mul(apart, number))])
                builder.store(value, builder.bitcast(place, form), align=align)
        return context.get_dummy_value()

    return types.none(source, start, step, rows, target, to, apart, columns), gen
