"""Raw modules: the kernels of a CUDA C++ file, compiled by a backend and launched one by one.

    KERNELS = KernelSet(Source(Path(__file__).with_name("x.cu")), {"scale<float>": Budget(32)})
    module = backend.raw_module(KERNELS.source, KERNELS.instances)
    module.launch("scale<float>", (blocks, 1, 1), (256, 1, 1), (array, np.int32(size)))

Arguments are arrays as an op's forward sees them, passed as pointers, and NumPy scalars, passed by
value. A Python number has no width that a kernel could rely on and is refused. Structures are
NumPy's structured scalars by value, and arrays of bytes in memory: CuPy has no structured dtypes.

Beside every ``x.cu`` stands ``x_kernels.py`` with a ``KERNELS``: by that the compile check finds
each instance and its budget.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from autodiff.errors import AutodiffError, DTypeError

#: Extents of a grid or of a block: x, y, z.
Extents: TypeAlias = tuple[int, int, int]
#: A device's array, or a number that is passed by value.
Argument: TypeAlias = Any  # Any: the backend's own array type

#: What NVRTC is told beside what CuPy tells it.
COMPILE_OPTIONS = ("-std=c++17",)
MAX_BLOCK = 1024
MAX_GRID = (2**31 - 1, 65535, 65535)


class KernelError(AutodiffError, RuntimeError):
    """A raw module that does not compile, or a kernel that cannot be launched or went wrong."""


class KernelArgumentError(DTypeError):
    """Arguments of a launch that are not what the kernel takes."""


class OutOfDeviceMemory(AutodiffError, MemoryError):
    """An allocation for which a device has not enough memory."""


@dataclass(frozen=True)
class Source:
    """A file of CUDA C++ without includes.

    Attributes:
        path: where it is.
        before: files whose text stands in front of it; lines are counted from the first one on.
    """

    path: Path
    before: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The file's name, by which messages refer to its lines."""
        return self.path.name

    def text(self) -> str:
        """Return the source, exactly as every compiler is given it."""
        return "".join([path.read_text(encoding="utf-8") for path in (*self.before, self.path)])


@dataclass(frozen=True)
class Budget:
    """What a kernel instance may use.

    Attributes:
        registers: per thread.
        shared_bytes: static shared memory per block.
    """

    registers: int
    shared_bytes: int = 0


@dataclass(frozen=True)
class KernelSet:
    """The kernels of one source.

    Attributes:
        source: the file.
        budgets: the budget of every instance, by its C++ name as in ``"scale<float>"``. One with
            ``float`` and without ``double`` in its name must do no double-precision arithmetic.
    """

    source: Source
    budgets: Mapping[str, Budget]

    @property
    def instances(self) -> tuple[str, ...]:
        """The names of all instances, in order."""
        return tuple(self.budgets)


@dataclass(frozen=True)
class DeviceLimits:
    """What kernels have at hand on a device, whatever runs there.

    Attributes:
        shared_bytes_per_block: shared memory of a block.
        shared_bytes_optin: the same for a kernel that asks for it; every launch here does.
        multiprocessors: how many blocks really run at once, at least.
        total_bytes: memory of the device.
        warp: threads of a warp.
    """

    shared_bytes_per_block: int
    shared_bytes_optin: int
    multiprocessors: int
    total_bytes: int
    warp: int = 32


class RawModule(ABC):
    """Compiled kernels of one source, of a backend that made it.

    Attributes:
        source: the file.
        instances: the kernels' names.
    """

    def __init__(self, source: Source, instances: tuple[str, ...]) -> None:
        self.source = source
        self.instances = instances

    @abstractmethod
    def launch(
        self,
        instance: str,
        grid: Extents,
        block: Extents,
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
    ) -> None:
        """Queue a kernel behind what the device was asked for before. Nothing waits for it.

        Args:
            instance: one of ``instances``.
            grid: how many blocks, in x, y, z.
            block: how many threads a block has, in x, y, z; 1024 at most.
            arguments: C-contiguous arrays and NumPy scalars of exactly the kernel's types.
            shared_bytes: dynamic shared memory of a block.

        Raises:
            KernelError: no such instance, or a launch that no device can do.
            KernelArgumentError: an argument of another kind, dtype or layout.
        """

    def check_shape(
        self, instance: str, grid: Extents, block: Extents, shared_bytes: int, limits: DeviceLimits
    ) -> None:
        """Refuse a launch that no device can do."""
        if instance not in self.instances:
            raise KernelError(
                f"a launch needs one of {list(self.instances)} of {self.source.name}, got "
                f"{instance!r}. Add the instance to the module."
            )
        if not all(1 <= n <= most for n, most in zip(grid, MAX_GRID, strict=True)):
            raise KernelError(
                f"{instance} needs a grid from (1, 1, 1) to {MAX_GRID}, got {grid}. "
                "Give a block more work."
            )
        if min(block) < 1 or block[0] * block[1] * block[2] > MAX_BLOCK:
            raise KernelError(
                f"{instance} needs a block of 1 to {MAX_BLOCK} threads, got {block}. "
                "Take smaller blocks."
            )
        if not 0 <= shared_bytes <= limits.shared_bytes_optin:
            raise KernelError(
                f"{instance} needs at most {limits.shared_bytes_optin} bytes of shared memory, got "
                f"{shared_bytes}. Take smaller tiles."
            )


class KernelGraph(ABC):
    """Launches of raw modules that were captured and run again as one."""

    @abstractmethod
    def launch(self) -> None:
        """Queue all of them: numbers as they were at the capture, arrays as they are now."""


def refuse_capture(graph: KernelGraph | None, what: str) -> None:
    """Refuse what CUDA cannot do while launches are captured."""
    if graph is not None:
        raise KernelError(
            f"capturing a graph needs launches of raw modules and nothing else, got {what}. "
            "Do it before the capture, on buffers that stay."
        )


def check_argument(instance: str, position: int, argument: Argument, is_array: bool) -> None:
    """Refuse what is neither a NumPy scalar nor a C-contiguous array of the backend."""
    if isinstance(argument, np.generic):
        return
    if not is_array:
        raise KernelArgumentError(
            f"{instance}, argument {position} needs a NumPy scalar or an array of the device, got "
            f"{type(argument).__name__}. Write np.int32(...) or np.float64(...) for a number."
        )
    if not argument.flags.c_contiguous:
        raise KernelArgumentError(
            f"{instance}, argument {position} needs a C-contiguous array, got shape "
            f"{argument.shape} with strides {argument.strides}. Copy it first."
        )
