"""The kernels are written for the CPU that Numba compiles for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from numba.core.codegen import get_host_cpu_features

from circuits.engines import numba_features
from circuits.engines.numba_features import enabled, target_features

ASKED = "import circuits.engines.numba_simd as simd; print(simd.VECTOR_BYTES, simd.PERMUTES)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("+avx2", {"avx2"}),
        ("-avx2", set()),
        ("+64bit,+avx2,-avx512fp16,+avx512f", {"64bit", "avx2", "avx512f"}),
        ("+avx2,+avx512f,-avx512f", {"avx2"}),
        ("-avx2,+avx2", {"avx2"}),
        (" +avx2, +fma,", {"avx2", "fma"}),
    ],
)
def test_the_last_mention_of_a_feature_counts(text: str, expected: set[str]) -> None:
    assert enabled(text) == expected


def test_this_machine_where_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba_features.settings, "CPU_FEATURES", None)
    assert target_features() == enabled(get_host_cpu_features())


def test_what_is_set_counts_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba_features.settings, "CPU_FEATURES", "+avx2,-avx512f")
    assert target_features() == {"avx2"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"NUMBA_CPU_FEATURES": "+avx2,+avx512f"}, "64 True"),
        ({"NUMBA_CPU_FEATURES": "+avx2,-avx512f"}, "32 True"),
        ({"NUMBA_CPU_FEATURES": "+sse4.2"}, "32 False"),
        ({"NUMBA_CPU_NAME": "generic"}, "32 False"),
        ({"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "+avx2"}, "32 True"),
    ],
)
def test_vectors_by_environment(environment: dict[str, str], expected: str) -> None:
    others = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_CPU")}
    command = [sys.executable, "-c", ASKED]
    done = subprocess.run(
        command, env=others | environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[0] == expected
