"""The kernels of circuits: every one in both precisions, under the engine's block size."""

from __future__ import annotations

import re

from circuits.engines.cuda_program import PART
from circuits.engines.cuda_table import THREADS
from circuits.engines.statevector_kernels import KERNELS


def test_every_kernel_has_an_instance_in_both_precisions() -> None:
    text = KERNELS.source.text()
    names = re.findall(r"__launch_bounds__\((\d+), [^)]*\)\s+(\w+)\(", text.replace("(R)", "R"))
    assert {name for _, name in names} == {i.split("<")[0] for i in KERNELS.instances}
    assert {int(threads) for threads, _ in names} == {THREADS}
    assert len(KERNELS.instances) == 2 * len(names)


def test_shared_sums_are_as_many_as_the_kernels_use() -> None:
    text = KERNELS.source.text()
    warps, parts = (int(re.search(rf"{name} = (\d+);", text)[1]) for name in ("WARPS", "PARTS"))
    assert 2 * warps * parts == PART
    assert 32 * warps >= THREADS
