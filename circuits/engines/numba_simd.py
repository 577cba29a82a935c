"""Explicit vectors for Numba: one type a precision, of a register's size, and operations on it.

The kernels are written on these vectors because what Numba's auto-vectoriser makes of loops over
rows depends on run-time checks for overlap and on luck. LLVM turns the vectors into whatever the
CPU has. Also here: the decorator of all compiled functions, parity, and the atomic counter.

Numba notices an edit only in the file of the function that it loads from its cache. So the cache
folder's name holds a hash of all files of this engine that are compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import config, types
from numba import njit as numba_njit
from numba.core import cgutils
from numba.extending import intrinsic as numba_intrinsic
from numba.extending import models, register_model

from circuits.engines.numba_features import target_features

_FEATURES = target_features()
VECTOR_BYTES = 64 if "avx512f" in _FEATURES else 32
"""A register's size. With AVX-512, 16 to 20 qubits take 0.6 to 0.8 of the time."""
PERMUTES = "avx2" in _FEATURES
"""Whether one instruction permutes a vector's lanes in any way."""

# What is made by them is called with vectors, and without ``typingctx``.
intrinsic: Any = numba_intrinsic
njit: Any = numba_njit
settings: Any = config

# Any in this file: Numba's and LLVM's values, which have no types for mypy.


def _cache_folder() -> str:
    """Return the folder of this version of the kernels, below NUMBA_CACHE_DIR where that is set."""
    here = Path(__file__).parent
    others = [here / f"{name}.py" for name in ("instructions", "numba_features")]
    files = [Path(__file__), *sorted([*here.glob("numba_kernels*.py"), *others])]
    digest = sha256(b"".join([file.read_bytes() for file in files])).hexdigest()[:16]
    base = Path(settings.CACHE_DIR) if settings.CACHE_DIR else here / "__pycache__"
    return str(base / f"kernels-{digest}")


_FOLDER = _cache_folder()
_OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
"""Without ``_nrt``, Numba counts references to arrays around every call: atomic instructions, for
which the CPU waits until all stores are done. Python holds the arrays; a kernel makes none."""
_INNER = {**_OPTIONS, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function that only compiled code calls."""
    return njit(**_INNER)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function into its compiled callers: what a loop does to a row is no call."""
    return njit(**_INNER, forceinline=True)(function)


def merged(function: Callable[..., Any]) -> Any:
    """Make a function a part of its only caller: to compile it by itself takes time for nothing."""
    return njit(**_INNER, inline="always")(function)


def compiled_driver(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls, at its first call, and keep it in the cache folder."""
    before, settings.CACHE_DIR = settings.CACHE_DIR, _FOLDER
    try:
        return njit(**_OPTIONS, cache=True, no_cfunc_wrapper=True)(function)
    finally:
        settings.CACHE_DIR = before


class Vector(types.Type):
    """A vector of float32 or float64 lanes, known to Numba."""

    def __init__(self, element: Any) -> None:
        self.element = element
        self.count = VECTOR_BYTES * 8 // element.bitwidth
        super().__init__(name=f"Vector({element} x {self.count})")


def _llvm(vector: Vector) -> Any:
    element = ir.DoubleType() if vector.element.bitwidth == 64 else ir.FloatType()
    return ir.VectorType(element, vector.count)


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        super().__init__(manager, kind, _llvm(kind))


def _pointer(context: Any, builder: Any, kind: Any, array: Any, offset: Any, width: Any) -> Any:
    """Address of ``array[offset]`` as that of a vector."""
    data = cgutils.create_struct_proxy(kind)(context, builder, value=array).data
    index = context.cast(builder, offset, width, types.int64)
    return builder.bitcast(builder.gep(data, [index]), _llvm(Vector(kind.dtype)).as_pointer())


def _shuffle(builder: Any, first: Any, second: Any, lanes: list[int]) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes)
    return builder.shuffle_vector(first, second, mask)


@intrinsic
def vload(typingctx: Any, array: Any, offset: Any) -> Any:
    """Vector at ``array[offset]`` and what follows; no alignment is assumed."""
    if not isinstance(array, types.Array):
        return None
    vector = Vector(array.dtype)

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _pointer(context, builder, array, args[0], args[1], signature.args[1])
        return builder.load(address, align=vector.element.bitwidth // 8)

    return vector(array, offset), gen


@intrinsic
def vstore(typingctx: Any, array: Any, offset: Any, value: Any) -> Any:
    """Write a vector to ``array[offset]`` and what follows."""
    vector = Vector(array.dtype)

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address = _pointer(context, builder, array, args[0], args[1], signature.args[1])
        builder.store(args[2], address, align=vector.element.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(array, offset, vector), gen


@intrinsic
def vsplat(typingctx: Any, value: Any) -> Any:
    """Vector with the same number in all lanes."""
    vector = Vector(value)

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = _llvm(vector)
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, args[0], ir.Constant(ir.IntType(32), 0))
        return _shuffle(builder, first, undefined, [0] * vector.count)

    return vector(value), gen


@intrinsic
def vfill(typingctx: Any, array: Any, value: Any) -> Any:
    """Vector of the array's precision with the same float64 in all lanes."""
    vector = Vector(array.dtype)

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = _llvm(vector)
        wide = context.cast(builder, args[1], signature.args[1], types.float64)
        number = wide if vector.element.bitwidth == 64 else builder.fptrunc(wide, kind.element)
        undefined = ir.Constant(kind, ir.Undefined)
        first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
        return _shuffle(builder, first, undefined, [0] * vector.count)

    return vector(array, value), gen


@intrinsic
def vzero(typingctx: Any, array: Any) -> Any:
    """Zeros of the array's precision."""
    vector = Vector(array.dtype)

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(_llvm(vector), [0.0] * vector.count)

    return vector(array), gen


@intrinsic
def vlen(typingctx: Any, array: Any) -> Any:
    """Lanes of a vector of the array's precision, a constant when compiled."""
    count = Vector(array.dtype).count

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return ir.Constant(ir.IntType(64), count)

    return types.int64(array), gen


def _multiply_add(builder: Any, a: Any, b: Any, c: Any, vector: Vector) -> Any:
    kind = _llvm(vector)
    name = f"llvm.fmuladd.v{vector.count}f{vector.element.bitwidth}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind, kind, kind]), name
    )
    return builder.call(function, [a, b, c])


@intrinsic
def fma(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a b + c, with one rounding where the CPU has it."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _multiply_add(builder, args[0], args[1], args[2], a)

    return a(a, a, a), gen


@intrinsic
def fms(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Return c - a b. ``b`` is what gets the sign: a negated coefficient would hold a register."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _multiply_add(builder, args[0], builder.fneg(args[1]), args[2], a)

    return a(a, a, a), gen


def _binary(operation: str) -> Any:
    @intrinsic
    def function(typingctx: Any, a: Any, b: Any) -> Any:
        def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return getattr(builder, operation)(*args)

        return a(a, a), gen

    return function


vmul, vadd, vsub = _binary("fmul"), _binary("fadd"), _binary("fsub")


def _flipped(bit: int) -> Any:
    @intrinsic
    def function(typingctx: Any, a: Any) -> Any:
        def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            lanes = [i ^ bit if i ^ bit < a.count else i for i in range(a.count)]
            return _shuffle(builder, args[0], args[0], lanes)

        return a(a), gen

    return function


_flip1, _flip2, _flip4, _flip8 = _flipped(1), _flipped(2), _flipped(4), _flipped(8)


@inlined
def flip_by_bits(vector: Any, bits: int) -> Any:
    """Lane i takes lane i ^ bits: one shuffle a bit, which any CPU has."""
    if bits & 1:
        vector = _flip1(vector)
    if bits & 2:
        vector = _flip2(vector)
    if bits & 4:
        vector = _flip4(vector)
    if bits & 8:
        vector = _flip8(vector)
    return vector


@intrinsic
def flip_at_once(typingctx: Any, vector: Any, bits: Any) -> Any:
    """Lane i takes lane i ^ bits: one instruction of AVX-512 or AVX2, whatever the bits."""
    words = VECTOR_BYTES // 4  # AVX2 moves words of four bytes only
    per_lane = words // vector.count

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, value = [ir.VectorType(t, words) for t in (ir.IntType(32), ir.FloatType())]
        undefined = ir.Constant(kind, ir.Undefined)
        wide = context.cast(builder, args[1], signature.args[1], types.int64)
        number = builder.mul(builder.trunc(wide, ir.IntType(32)), ir.IntType(32)(per_lane))
        first = builder.insert_element(undefined, number, ir.IntType(32)(0))
        splat = _shuffle(builder, first, undefined, [0] * words)
        order = builder.xor(ir.Constant(kind, list(range(words))), splat)
        name = f"llvm.x86.{'avx512.permvar.sf.512' if words == 16 else 'avx2.permps'}"
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(value, [value, kind]), name
        )
        moved = builder.call(function, [builder.bitcast(args[0], value), order])
        return builder.bitcast(moved, _llvm(vector))

    return vector(vector, bits), gen


vflip = flip_at_once if PERMUTES else flip_by_bits


def _mixed(choose: Callable[[int], list[int]]) -> Any:
    @intrinsic
    def function(typingctx: Any, a: Any, b: Any) -> Any:
        def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _shuffle(builder, args[0], args[1], choose(a.count))

        return a(a, b), gen

    return function


vevens = _mixed(lambda count: list(range(0, 2 * count, 2)))
vodds = _mixed(lambda count: list(range(1, 2 * count, 2)))
vzip_low = _mixed(lambda count: [i // 2 + count * (i % 2) for i in range(count)])
vzip_high = _mixed(lambda count: [count // 2 + i // 2 + count * (i % 2) for i in range(count)])


@intrinsic
def vround(typingctx: Any, a: Any) -> Any:
    """Nearest integers."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = _llvm(a)
        name = f"llvm.nearbyint.v{a.count}f{a.element.bitwidth}"
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind]), name
        )
        return builder.call(function, args)

    return a(a), gen


@intrinsic
def vpick(typingctx: Any, test: Any, a: Any, b: Any) -> Any:
    """Lanes of a where test > 0, of b elsewhere."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(_llvm(a), [0.0] * a.count)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

    return a(a, a, a), gen


@intrinsic
def vreaches(typingctx: Any, a: Any, limit: Any) -> Any:
    """Whether |a| < limit fails in any lane, as it does for what is not a number."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, bits = _llvm(a), ir.IntType(a.count)
        name = f"llvm.fabs.v{a.count}f{a.element.bitwidth}"
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind]), name
        )
        tests = builder.fcmp_unordered(">=", builder.call(function, args[:1]), args[1])
        return builder.icmp_unsigned("!=", builder.bitcast(tests, bits), ir.Constant(bits, 0))

    return types.boolean(a, a), gen


@intrinsic
def vdiffer(typingctx: Any, a: Any, b: Any, before: Any) -> Any:
    """Return 1 in lanes where a and b differ in any bit, elsewhere what is ``before``."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind, one = ir.VectorType(ir.IntType(a.element.bitwidth), a.count), [1.0] * a.count
        test = builder.icmp_unsigned("!=", *[builder.bitcast(value, kind) for value in args[:2]])
        return builder.select(test, ir.Constant(_llvm(a), one), args[2])

    return a(a, a, a), gen


@intrinsic
def vsum(typingctx: Any, a: Any) -> Any:
    """Sum of the lanes in float64."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        total = ir.Constant(ir.DoubleType(), 0.0)
        for i in range(a.count):
            lane = builder.extract_element(args[0], ir.Constant(ir.IntType(32), i))
            wide = lane if a.element.bitwidth == 64 else builder.fpext(lane, ir.DoubleType())
            total = builder.fadd(total, wide)
        return total

    return types.float64(a), gen


@intrinsic
def popcount(typingctx: Any, value: Any) -> Any:
    """Number of ones of an int64."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = context.cast(builder, args[0], signature.args[0], types.int64)
        return builder.ctpop(wide)

    return types.int64(value), gen


@intrinsic
def atomic_add(typingctx: Any, array: Any, index: Any, amount: Any) -> Any:
    """Add to ``array[index]`` (int64), for all threads in one order; return what it was."""

    def gen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = cgutils.create_struct_proxy(array)(context, builder, value=args[0]).data
        place = context.cast(builder, args[1], signature.args[1], types.int64)
        wide = context.cast(builder, args[2], signature.args[2], types.int64)
        return builder.atomic_rmw("add", builder.gep(data, [place]), wide, "seq_cst")

    return types.int64(array, index, amount), gen
