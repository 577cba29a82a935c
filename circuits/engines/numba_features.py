"""Which instructions of the CPU Numba compiles for."""

from __future__ import annotations

from typing import Any

from numba import config
from numba.core.codegen import get_host_cpu_features

settings: Any = config


def enabled(text: str) -> frozenset[str]:
    """Return the features that LLVM's text turns on: the last mention of each counts.

    >>> sorted(enabled("+avx2,+fma,+avx512f,-avx512f"))
    ['avx2', 'fma']
    """
    last = {item[1:]: item[0] == "+" for item in text.replace(" ", "").split(",") if item}
    return frozenset(name for name, is_on in last.items() if is_on)


def target_features() -> frozenset[str]:
    """Return what Numba compiles for, by its own rule.

    That is NUMBA_CPU_FEATURES where it is set, nothing where NUMBA_CPU_NAME is "generic", and
    what this machine has otherwise, also where NUMBA_CPU_NAME is another CPU.
    """
    chosen = settings.CPU_FEATURES  # Numba has made it "" for a generic CPU
    return enabled(get_host_cpu_features() if chosen is None else chosen)
