"""What every raw module refuses, and what a set of kernels says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autodiff.backends.raw_modules import (
    Budget,
    DeviceLimits,
    KernelArgumentError,
    KernelError,
    KernelSet,
    RawModule,
    Source,
    check_argument,
)

LIMITS = DeviceLimits(48 << 10, 100_000, 1, 1 << 30)


class Module(RawModule):
    """One that launches nothing."""

    def launch(
        self,
        instance: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[Any],
        shared_bytes: int = 0,
    ) -> None:
        self.check_shape(instance, grid, block, shared_bytes, LIMITS)


MODULE = Module(Source(Path("some.cu")), ("f<int>",))

REFUSED = {
    "unknown": (("g<int>", (1, 1, 1), (1, 1, 1)), r"one of \['f<int>'\] of some.cu, got 'g<int>'"),
    "no blocks": (("f<int>", (1, 0, 1), (1, 1, 1)), r"grid from .*, got \(1, 0, 1\)"),
    "many blocks": (("f<int>", (1, 65536, 1), (1, 1, 1)), r"grid from .*, got \(1, 65536, 1\)"),
    "no threads": (("f<int>", (1, 1, 1), (0, 1, 1)), r"block of 1 to 1024 threads, got \(0"),
    "many threads": (("f<int>", (1, 1, 1), (32, 33, 1)), r"1024 threads, got \(32, 33, 1\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_launch_that_no_device_can_do_is_refused(name: str) -> None:
    (instance, grid, block), message = REFUSED[name]
    with pytest.raises(KernelError, match=message):
        MODULE.launch(instance, grid, block, ())


@pytest.mark.parametrize("shared_bytes", [-1, 100_001])
def test_shared_memory_has_a_limit(shared_bytes: int) -> None:
    with pytest.raises(KernelError, match=rf"100000 bytes of shared memory, got {shared_bytes}"):
        MODULE.launch("f<int>", (1, 1, 1), (1, 1, 1), (), shared_bytes)


def test_largest_launch_is_allowed() -> None:
    MODULE.launch("f<int>", (2**31 - 1, 65535, 65535), (1024, 1, 1), (), 100_000)


@pytest.mark.parametrize("argument", [1, 1.0, True, "x", [1.0], None])
def test_argument_without_a_width_is_refused(argument: object) -> None:
    with pytest.raises(KernelArgumentError, match=r"f, argument 2 needs a NumPy scalar or an arr"):
        check_argument("f", 2, argument, is_array=False)


def test_strided_array_is_refused() -> None:
    with pytest.raises(KernelArgumentError, match=r"C-contiguous array, got shape \(2,\) with str"):
        check_argument("f", 0, np.ones(4)[::2], is_array=True)
    check_argument("f", 0, np.ones(4), is_array=True)
    check_argument("f", 0, np.float32(1), is_array=False)


def test_source_is_its_file(tmp_path: Path) -> None:
    path = tmp_path / "x.cu"
    path.write_text("// é\n", encoding="utf-8")
    source = Source(path)
    assert (source.name, source.text()) == ("x.cu", "// é\n")
    (tmp_path / "y.cu").write_text("y\n")
    assert Source(path, (tmp_path / "y.cu", path)).text() == "y\n// é\n// é\n"
    kernels = KernelSet(source, {"g<float>": Budget(32), "f<float>": Budget(64, 128)})
    assert kernels.instances == ("g<float>", "f<float>")
