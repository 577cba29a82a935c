"""Faults of ``tensor.cu``."""

from __future__ import annotations

import mmap

import numpy as np
from mutants import Mutant, MutantSet, scenario_checks
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
MAP_NORESERVE = 0x4000


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


def small_listing() -> tuple[Listing, list[int]]:
    """The kernels whose threads share memory, for the thread sanitizer."""
    rng = np.random.default_rng(9)
    f = Listing(rng.normal(size=(2, 70)), rng.normal(size=(5, 20)), rng.normal(size=(20, 7)))
    return f, [
        f.add("matmul", 1, 2),
        f.add("softmax", 0, axis=(1,)),
        f.add("sum", 0, axis=(1,), keepdims=False),
    ]


def scenario(backend: EmulatedBackend, source: Source) -> None:
    """Run all kernels in the blocks that the plan wants."""
    run(backend, source, *listing(), small=False)


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
        instance, block = launch.instance, launch.block
        if small:
            instance = instance.replace(f", {kernels.TILE}>", ", 8>")
            block = (8, 8, 1) if "matmul" in instance else (64, 1, 1)
        module.launch(instance, launch.grid, block, arguments)
    f.compare(outputs, [slot(x.slot).reshape(x.sample.shape) for x in plan.outputs])


def check_graph(source: Source) -> None:
    """Replay a captured plan with leaves of every size, which move from run to run."""
    rng = np.random.default_rng(4)
    for _ in range(2):
        f = Listing(rng.normal(size=9), rng.normal(size=9) > 0, rng.normal(size=(3, 3)))
        outputs = [f.add("where", 1, 0, f.add("negative", 0)), f.add("exp", 2)]
        graph = TensorGraph(EmulatedBackend(), f.planned(*outputs), source)
        for _ in range(3):
            f.compare(outputs, graph(np, *[f.values[k].copy() for k in f.leaves]))


def check_large(source: Source) -> None:
    """The last block of a program on 2^34 numbers."""
    size = 1 << 34
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE
    result = np.frombuffer(mmap.mmap(-1, 4 * size, flags=flags), np.float32)
    program = np.zeros((), kernels.PROGRAM)
    program["size"], program["extents"] = size, (1, 1, 1, size)
    program["inputs"] = program["outputs"] = 1
    backend = EmulatedBackend()
    blocks = size // kernels.THREADS
    backend.kernels.schedule = Schedule(first=blocks - 1, count=1)
    pointers = [np.full(1, 6, np.float32)] * 4 + [result] * 4
    module = backend.raw_module(source, ("elementwise<float>",))
    module.launch(
        "elementwise<float>", (blocks, 1, 1), (kernels.THREADS, 1, 1), [program[()], *pointers]
    )
    np.testing.assert_array_equal(result[-512:], np.repeat([0, 6], 256))


MUTANTS = MutantSet(
    SOURCE,
    INSTANCES,
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
    ),
    {
        **scenario_checks(SOURCE, scenario, small_scenario),
        "graph": check_graph,
        "large": check_large,
    },
)
