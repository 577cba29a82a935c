"""The instances of the kernels of ``statevector.cu``, and what each may use."""

from __future__ import annotations

from pathlib import Path

from autodiff.backends.raw_modules import Budget, KernelSet, Source

_REGISTERS = {
    "prepare_samples": (80, 80),
    "forward": (80, 128),
    "reverse": (80, 128),
    "collect": (32, 32),
    "finish_samples": (64, 72),
    "sparse_product": (48, 64),
    "permute": (48, 48),
    "multiply": (48, 56),
    "matrix_gradient": (32, 40),
}

KERNELS = KernelSet(
    Source(
        Path(__file__).with_name("statevector.cu"),
        tuple([Path(__file__).with_name(f"statevector_{name}.h") for name in ("tiles", "gates")]),
    ),
    {
        f"{name}<{real}>": Budget(registers)
        for name, budgets in _REGISTERS.items()
        for real, registers in zip(("float", "double"), budgets, strict=True)
    },
)
