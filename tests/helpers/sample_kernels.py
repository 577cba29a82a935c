"""The kernels of ``sample.cu``."""

from __future__ import annotations

from pathlib import Path

from autodiff.backends.raw_modules import Budget, KernelSet, Source

KERNELS = KernelSet(
    Source(Path(__file__).with_name("sample.cu")),
    {
        f"{name}<{real}>": Budget(registers, shared * (8 if real == "double" else 4))
        for real in ("float", "double")
        for name, registers, shared in (
            ("scale", 24, 0),
            ("conjugate", 24, 0),
            ("row_sums", 40, 32),
            ("reverse_tiles", 24, 0),
        )
    },
)
