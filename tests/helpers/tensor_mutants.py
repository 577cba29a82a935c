"""Faults of ``tensor.cu``."""

from __future__ import annotations

import numpy as np
from mutants import Mutant, MutantSet, scenario_checks
from statevector_large import sparse_zeros
from tensor_listing import Listing

from autodiff.backends import tensor_kernels as kernels
from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.host_modules import Schedule
from autodiff.backends.raw_modules import Source
from autodiff.backends.tensor_graph import TensorGraph
from autodiff.backends.tensor_plan import Slot

SOURCE = kernels.KERNELS.source
INSTANCES = (
    *[name for name in kernels.KERNELS.instances if "double" in name],
    "matmul<double, 8>",  # of few threads
)


def listing() -> tuple[Listing, list[int]]:
    """Every kernel of double precision, on sizes that divide nothing."""
    rng = np.random.default_rng(9)
    wide = rng.normal(size=(3, 300))
    wide[1, 5:9] = np.nan, 0.5, -np.inf, 1.0
    index = np.array([2, 0, 2, 1, 2])
    f = Listing(wide, rng.normal(size=(5, 20)), rng.normal(size=(20, 7)), index)
    part = f.add("getitem", 0, index=(slice(0, 1), slice(1, None, 2)))
    column = f.add("getitem", 0, index=(slice(None), slice(2, 3)))
    larger = f.add("maximum", 0, column)
    chosen = f.add("where", f.add("less", 0, column), f.add("square", 0), larger)
    product = f.add("matmul", 1, 2)
    return f, [
        f.add("exp", part),
        larger,
        chosen,
        f.add("sum", f.add("getitem", 0, index=(0,)), axis=(0,), keepdims=False),
        f.add("softmax", f.add("getitem", 0, index=(slice(0, None, 2),)), axis=(1,)),
        f.add("logsumexp", product, axis=(0,), keepdims=False),
        product,
        f.add("segment_sum", product, 3, count=3, axis=-2),
        f.add("take", 1, 3, axis=-1),
    ]


def views_listing() -> tuple[Listing, list[int]]:
    """Views of four axes, that start anywhere, and of every kind of output."""
    rng = np.random.default_rng(8)
    falling = np.array([[9.0, 8.0], [2.0, 1.0]])
    infinite = np.array([[-np.inf, -np.inf], [np.inf, 1.0], [-np.inf, 0.5]])
    boxes, index = rng.normal(size=(2, 3, 5, 6)), rng.permutation(12) % 5
    f = Listing(boxes, falling, infinite, index, rng.normal(size=(2, 3)))
    turned = f.add("transpose", 0, axes=(3, 1, 0, 2))
    batches = f.add("getitem", 0, index=(slice(None), 1))
    left = f.add("getitem", batches, index=(slice(None), slice(1, 4), slice(None, None, 2)))
    right = f.add("getitem", batches, index=(slice(None), slice(2, None), slice(1, 4)))
    taken = f.add("take", batches, 3, axis=-2)
    kept = {"axis": (1,), "keepdims": False}
    exp, less, square, nan = (
        f.add(*op) for op in (("exp", 4), ("less", 4, 4), ("square", 4), ("isnan", 4))
    )
    return f, [
        f.add("matmul", left, right),
        f.add("exp", turned),
        f.add("sum", turned, axis=(0, 1, 3), keepdims=False),
        f.add("mean", turned, axis=(1, 2), keepdims=False),
        f.add("sum", turned, axis=(), keepdims=False),
        *[f.add(name, x, **kept) for x in (1, f.add("negative", 1)) for name in ("max", "min")],
        f.add("logsumexp", 2, **kept),
        f.add("clip", f.add("square", 1), 1, f.add("negative", 1)),
        taken,
        f.add("segment_sum", taken, 3, count=6, axis=-2),
        *[exp, less, square, nan],
    ]


def small_listing() -> tuple[Listing, list[int]]:
    """The kernels whose threads share memory, for the thread sanitizer."""
    rng = np.random.default_rng(9)
    f = Listing(rng.normal(size=(2, 70)), rng.normal(size=(5, 20)), rng.normal(size=(20, 7)))
    return f, [
        f.add("matmul", 1, 2),
        f.add("softmax", 0, axis=(1,)),
        f.add("sum", 0, axis=(1,), keepdims=False),
        f.add("logsumexp", 0, axis=(1,), keepdims=False),
    ]


def scenario(backend: EmulatedBackend, source: Source) -> None:
    """Run all kernels in the blocks that the plan wants, and in one that has all to do."""
    run(backend, source, *listing(), small=False)
    run(backend, source, *views_listing(), small=True)


def small_scenario(backend: EmulatedBackend, source: Source) -> None:
    """Run some kernels in small blocks: the thread sanitizer loses races of many threads."""
    run(backend, source, *small_listing(), small=True)


def run(
    backend: EmulatedBackend, source: Source, f: Listing, outputs: list[int], small: bool
) -> None:
    """Run a plan's launches one by one, with the leaves in place."""
    plan = f.planned(*outputs)
    module = backend.raw_module(source, INSTANCES)
    workspace = backend.empty((plan.nbytes,), np.dtype(np.uint8))

    def slot(x: Slot) -> np.ndarray:
        return workspace[x.offset : x.offset + x.size * x.dtype.itemsize].view(x.dtype)

    for leaf, place in zip(f.leaves, plan.leaves, strict=True):
        slot(place)[...] = f.values[leaf].reshape(-1)
    for launch in plan.launches:
        arguments = [slot(x) if isinstance(x, Slot) else x for x in launch.arguments]
        instance, grid, block = launch.instance, launch.grid, launch.block
        if small and "matmul" in instance:
            instance, block = instance.replace(f", {kernels.TILE}>", ", 8>"), (8, 8, 1)
        elif small:
            grid, block = (1, 1, 1), (64, 1, 1)
        module.launch(instance, grid, block, arguments)
    f.compare(outputs, [slot(x.slot).reshape(x.sample.shape) for x in plan.outputs])


def moved(leaf: np.ndarray) -> np.ndarray:
    """A copy that begins one element behind the start of its memory: bytes at an odd address."""
    flat = leaf.reshape(-1)
    return np.concatenate([flat[:1], flat])[1:].reshape(leaf.shape)


def check_graph(source: Source) -> None:
    """Replay a captured plan with leaves of every size, which move from run to run."""
    rng = np.random.default_rng(4)
    for _ in range(2):
        leaves = (rng.normal(size=9), rng.normal(size=9) > 0, rng.normal(size=(3, 3)))
        f = Listing(*leaves, rng.normal(size=9000), rng.normal(size=17001) > 0)
        outputs = [f.add("where", 1, 0, f.add("negative", 0)), f.add("exp", 2)]
        outputs += [f.add("negative", 3), f.add("logical_not", 4)]
        graph = TensorGraph(EmulatedBackend(), f.planned(*outputs), source)
        for _ in range(3):
            f.compare(outputs, graph(np, *[moved(f.values[k]) for k in f.leaves]))


def check_large(source: Source) -> None:
    """The last block of 2^34 numbers that are copied, taken, or added up."""
    size, dtype = 1 << 34, np.dtype(np.float32)
    values = sparse_zeros(size, dtype)
    values[-512:] = last = np.arange(512)
    program = np.zeros((), kernels.PROGRAM)
    program["size"], program["extents"] = size, (1, 1, 1, size)
    program["inputs"] = program["outputs"] = 1
    program["operands"]["strides"][0, -1] = 1
    halves = (np.array([0, 1]), *[np.int64(n) for n in (size, 2, 2, size // 2)])
    backend, blocks = EmulatedBackend(), size // kernels.THREADS
    backend.kernels.schedule = Schedule(first=blocks - 1, count=1)
    names = [f"{name}<float>" for name in ("elementwise", "take", "segment_sum")]
    module = backend.raw_module(source, tuple(names))
    for name in names:
        result = sparse_zeros(size, dtype)
        pointers = [program[()], *[values] * 4, *[result] * 4]
        if "elementwise" not in name:
            pointers = [values, halves[0], result, *halves[1:]]
        module.launch(name, (blocks, 1, 1), (kernels.THREADS, 1, 1), pointers)
        np.testing.assert_array_equal(result[-512:], np.where(last < 256, 0, last))


MUTANTS = MutantSet(
    SOURCE,
    (
        Mutant(
            "parts that are still read",
            r"  __syncthreads\(\);  // the parts of the last.*\n",
            "",
            "thread",
            "data race",
        ),
        Mutant(
            "parts that are not yet written",
            r"(parts\[threadIdx.x / 32\] = value;\n)  __syncthreads\(\);\n",
            r"\1",
            "values",
        ),
        Mutant("a warp left out", r"warp < warps;", "warp < warps - 1;", "values"),
        Mutant(
            "a tile that is still read",
            r"(sum \+= a\[y\]\[i\] \* b\[i\]\[x\];\n)    __syncthreads\(\);\n",
            r"\1",
            "thread",
            "data race",
        ),
        Mutant(
            "a tile beyond the matrix",
            r"column < given.columns && k \+ y < given.depth",
            "column < given.columns",
            "address",
            "heap-buffer-overflow",
        ),
        Mutant("an offset left out", r"i64 at = operand.offset", "i64 at = 0", "values"),
        Mutant("an index too far", r"at < program.size", "at <= program.size", "address"),
        Mutant("a swapped choice", r"x != 0 \? y : z", "x != 0 ? z : y", "values"),
        Mutant("NaN that is lost", r"x > y \|\| x != x", "x > y", "values"),
        Mutant("an element left out", r"k < extent; k\+\+", "k < extent - 1; k++", "values"),
        Mutant(
            "a reduction of one warp only",
            r"for \(int distance = 16; distance; distance >>= 1\)\n    value = combine",
            "if (threadIdx.x < 16) for (int distance = 16; distance; distance >>= 1)\n"
            "    value = combine",
            "values",
            "every lane of its warp",
        ),
        Mutant("every leaf is the first", r"table\[blockIdx.y\]", "table[0]", "graph"),
        Mutant("a leaf's last bytes", r"i = 4 \* words \+ first", "i = leaf.bytes", "graph"),
        Mutant(
            "a 32-bit index",
            r"i64 at = static_cast<i64>\(blockIdx.x\) \* blockDim.x \+ t;",
            "i64 at = blockIdx.x * blockDim.x + t;",
            "large",
        ),
        Mutant(
            "rows that no block takes",
            r"k < given.outer; k \+= gridDim.x",
            "k < given.outer; k += given.outer",
            "values",
        ),
        Mutant(
            "a maximum that begins in another row",
            r"== SUM \? R\(0\) : from\[0\]",
            "== SUM ? R(0) : values[0]",
            "values",
        ),
        Mutant(
            "an axis left out",
            r"axis = 0; axis < AXES; axis\+\+\) at",
            "axis = 1; axis < AXES; axis++) at",
            "values",
        ),
        Mutant(
            "a shift by -inf",
            r"larger\(reduce_block\(MAX, top\), -limit\)",
            "reduce_block(MAX, top)",
            "values",
        ),
        Mutant(
            "a result that all threads write",
            r"if \(threadIdx.x == 0\) result\[row\]",
            "result[row]",
            "thread",
            "data race",
        ),
        Mutant("the first matrix of a batch", r"blockIdx.z \* given.right_batch", "0", "values"),
        Mutant(
            "an upper bound that yields",
            r"smaller\(larger\(x, y\), z\)",
            "larger(smaller(x, z), y)",
            "values",
        ),
        Mutant(
            "another output's kind",
            r"store\(y, program.kind\[2\]",
            "store(y, program.kind[1]",
            "values",
        ),
        Mutant("another output's register", r"program.output\[3\]", "program.output[2]", "values"),
        Mutant(
            "bytes beyond all threads",
            r"i < leaf.bytes; i \+= step",
            "i < leaf.bytes; i += leaf.bytes",
            "graph",
        ),
        Mutant(
            "a 32-bit position", r"place\[axis\] = rest %", "place[axis] = int(rest) %", "large"
        ),
        Mutant(
            "a 32-bit segment", r"segment = at / behind", "segment = unsigned(at) / behind", "large"
        ),
    ),
    {
        **scenario_checks(SOURCE, scenario, small_scenario),
        "graph": check_graph,
        "large": check_large,
    },
)
