"""Every kernel instance compiled for real GPUs, within its budget; what breaks one is found."""

from __future__ import annotations

import re

import nvrtc
import pytest
import sample_kernels
from sources import PACKAGES, ROOT

from autodiff.backends.raw_modules import Budget, KernelSet

SETS = [*nvrtc.kernel_sets(), sample_kernels.KERNELS]


@pytest.mark.slow
@pytest.mark.parametrize("architecture", nvrtc.ARCHITECTURES)
@pytest.mark.parametrize("kernels", SETS, ids=lambda kernels: kernels.source.name)
def test_kernels_keep_to_their_budgets(kernels: KernelSet, architecture: str) -> None:
    assert nvrtc.findings(kernels, architectures=[architecture]) == []


@pytest.mark.parametrize("kernels", SETS, ids=lambda kernels: kernels.source.name)
def test_single_kernels_do_no_double_arithmetic(kernels: KernelSet) -> None:
    assert nvrtc.findings(kernels, architectures=()) == []
    assert any(map(nvrtc.is_single, kernels.instances))


def test_every_cuda_file_is_covered() -> None:
    files = {path for package in PACKAGES for path in (ROOT / package).rglob("*.cu")}
    assert {kernels.source.path for kernels in nvrtc.kernel_sets()} == files


HEAVY = """
template <class R> __global__ void __launch_bounds__(1024, 2) heavy(R *x) {
  R v[64];
#pragma unroll
  for (int i = 0; i < 64; i++) v[i] = x[1024 * i + threadIdx.x];
  for (int k = 0; k < 8; k++)
#pragma unroll
    for (int i = 0; i < 64; i++) v[i] = v[i] * v[(i + 7) % 64] + v[(5 * i + 3) % 64];
#pragma unroll
  for (int i = 0; i < 64; i++) x[1024 * i + threadIdx.x] = v[i];
}
"""
LOCAL = """
template <class R> __global__ void heavy(R *x) {
  R v[64];
  for (int i = 0; i < 64; i++) v[static_cast<int>(x[i])] = x[i + 64];
  x[threadIdx.x] = v[threadIdx.x];
}
"""
STATIC = """
template <class R> __global__ void heavy(R *x) {
  __shared__ R v[64];
  v[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = v[63 - threadIdx.x];
}
"""
DOUBLE = "template <class R> __global__ void heavy(R *x) { *x = *x * 0.1; }\n"

PLANTED = {
    "spills": (HEAVY, Budget(64), r"spilled bytes \(Usage\(stack="),
    "stack": (LOCAL, Budget(64), r"stack bytes \(Usage\(stack=\d{3}"),
    "registers": (HEAVY.replace("(1024, 2)", "(256)"), Budget(64), r"registers > 64"),
    "shared memory": (STATIC, Budget(64, 255), r"shared bytes > 255"),
    "double arithmetic": (DOUBLE, Budget(64), r"double precision in a kernel of .*: .*\.f64"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_kernel_that_breaks_its_budget_is_found(name: str) -> None:
    text, budget, expected = PLANTED[name]
    kernels = KernelSet(sample_kernels.KERNELS.source, {"heavy<float>": budget})
    found = nvrtc.findings(kernels, text, ["sm_90"])
    assert found
    assert any(re.search(expected, finding) for finding in found), found


def test_budget_that_fits_is_kept() -> None:
    kernels = KernelSet(sample_kernels.KERNELS.source, {"heavy<float>": Budget(64, 256)})
    assert nvrtc.findings(kernels, STATIC, ["sm_90"]) == []
    double = KernelSet(kernels.source, {"heavy<double>": Budget(64)})
    assert nvrtc.findings(double, DOUBLE, ["sm_90"]) == []


def test_source_that_does_not_compile_shows_the_log() -> None:
    with pytest.raises(nvrtc.CompileError, match=r"identifier.*no_such_thing"):
        nvrtc.usage("__global__ void f() { no_such_thing(); }", ["f"], "sm_90")
