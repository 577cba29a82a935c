"""Raw modules on the CPU: the same CUDA C++ text, built by g++ behind ``host_shim.h``.

The text that g++ is given differs from the file by two substitutions, both of declarations in
shared memory, which C++ has no word for:

    extern __shared__ T name[];   becomes   T *name = ... the block's dynamic shared memory ...;
    __shared__ T name[N];         becomes   T (&name)[N] = ... N elements of the block ...;

Arguments are checked against the kernel's own signature, which no GPU does: kind, size, number, and
that no kernel gets an array to write that must not change. Built libraries are kept by a hash of
all that they are made of, below NUMBA_CACHE_DIR where that is set, else below ``__pycache__``.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from autodiff.backends.interface import HostArray
from autodiff.backends.raw_modules import (
    Argument,
    Extents,
    KernelArgumentError,
    KernelError,
    Source,
)
from autodiff.errors import DeviceUnavailable

SHIM = Path(__file__).with_name("host_shim.h")

COMMAND = (
    "g++",
    "-std=c++17",
    "-xc++",
    "-O1",
    "-fPIC",
    "-ffp-contract=off",
    "-U_FORTIFY_SOURCE",
)

_TYPE = r"(?:__align__\(\d+\)\s+)?([\w:<> ]+?)\s+(\w+)\s*"
_DYNAMIC = re.compile(rf"extern\s+__shared__\s+{_TYPE}\[\s*\]\s*;")
_STATIC = re.compile(rf"(?<!extern )__shared__\s+{_TYPE}((?:\[[^\]]+\])+)\s*;")
# The address of a lambda's static variable: one for each declaration and template instance.
_TAG = "[]() -> const void * { static char tag; return &tag; }()"
# The shim keeps the state of a launch in globals.
_running = threading.Lock()


class CompilerMissing(DeviceUnavailable):
    """There is no C++ compiler to build kernels for the CPU with."""


@dataclass(frozen=True)
class Schedule:
    """In which order the emulated threads run, and which blocks.

    Attributes:
        order: ``"forward"``, ``"reversed"``, or ``"seeded"``: another one for each block.
        seed: for ``"seeded"``.
        first: the first block that runs.
        count: how many blocks run; 0 for all. For launches whose array is mapped sparsely.
    """

    order: str = "forward"
    seed: int = 0
    first: int = 0
    count: int = 0


ORDERS = ("forward", "reversed", "seeded")


class _Schedule(ctypes.Structure):
    _fields_ = (
        ("order", ctypes.c_int),
        ("seed", ctypes.c_uint),
        ("first", ctypes.c_longlong),
        ("count", ctypes.c_longlong),
    )


def pack_schedule(schedule: Schedule) -> _Schedule:
    """Return a schedule as the shim reads it."""
    order = ORDERS.index(schedule.order)
    return _Schedule(order, schedule.seed, schedule.first, schedule.count)


def host_text(text: str) -> str:
    """Return CUDA C++ with the two substitutions that make it C++."""
    text = _DYNAMIC.sub(r"\1* \2 = static_cast<\1*>(host_shim::dynamic_shared());", text)
    return _STATIC.sub(
        lambda found: (
            f"{found[1]} (&{found[2]}){found[3]} = "
            f"host_shim::shared_array<{found[1]}{found[3]}>({_TAG});"
        ),
        text,
    )


def translation_unit(source: Source, instances: Sequence[str]) -> str:
    """Return what is compiled: the shim, the kernels, and one entry for each instance."""
    exports = [f"HOST_SHIM_EXPORT({k}, {name})" for k, name in enumerate(instances)]
    parts = [
        f'#line 1 "{SHIM.name}"',
        SHIM.read_text(encoding="utf-8"),
        f'#line 1 "{source.name}"',
        host_text(source.text()),
        '#line 1 "instances"',
        *exports,
    ]
    return "\n".join(parts) + "\n"


def cache_folder() -> Path:
    """Return the folder of built libraries, made if need be.

    Raises:
        KernelError: it cannot be made.
    """
    base = os.environ.get("NUMBA_CACHE_DIR")
    folder = (Path(base) if base else Path(__file__).parent / "__pycache__") / "host-modules"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise KernelError(
            f"building kernels for the CPU needs a folder that can be written, got {error}. "
            "Set NUMBA_CACHE_DIR to one."
        ) from error
    return folder


def compile_text(text: str, options: Sequence[str], suffix: str) -> Path:
    """Compile C++ with g++, or find what an earlier call has made of the same text and options.

    Raises:
        CompilerMissing: there is no g++.
        KernelError: the text does not compile.
    """
    command = [*COMMAND, *options]
    digest = sha256("\0".join([*command, text]).encode()).hexdigest()[:24]
    path = cache_folder() / f"{digest}{suffix}"
    if path.exists():
        return path
    # Atomically: another process may be building the same.
    unfinished = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        done = subprocess.run(
            [*command, "-", "-o", str(unfinished)],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise CompilerMissing(
            "kernels on the emulated device need g++, got none on PATH. Install it "
            "(apt-get install g++), or use the device 'cpu'."
        ) from error
    if done.returncode:
        raise KernelError(
            f"a raw module needs source that compiles, got {done.stderr[:4000]}. Correct the file."
        )
    unfinished.replace(path)
    return path


class HostLibrary:
    """The kernels of one source, loaded into this process.

    Args:
        source: the file.
        instances: C++ names of the kernels, template arguments included.

    Raises:
        CompilerMissing: there is no g++.
        KernelError: the source does not compile.
    """

    def __init__(self, source: Source, instances: tuple[str, ...]) -> None:
        path = compile_text(translation_unit(source, instances), ["-shared"], ".so")
        self._library = ctypes.CDLL(str(path))
        self._library.launch_error.restype = ctypes.c_char_p
        self._entries = {name: self._entry(k) for k, name in enumerate(instances)}

    def _entry(self, number: int) -> tuple[Any, tuple[str, ...]]:  # Any: a ctypes function
        signature = getattr(self._library, f"signature_{number}")
        signature.restype = ctypes.c_char_p
        launch = getattr(self._library, f"launch_{number}")
        return launch, tuple(signature().decode().splitlines())

    def pack(self, instance: str, arguments: Sequence[Argument]) -> list[Any]:
        """Check arguments against the kernel's signature and return their bytes as arrays.

        Raises:
            KernelArgumentError: another number of arguments, or one of another kind or size.
        """
        wanted = self._entries[instance][1]
        if len(arguments) != len(wanted):
            raise KernelArgumentError(
                f"{instance} needs {len(wanted)} arguments, got {len(arguments)}. "
                "Compare the launch with the kernel."
            )
        return [
            _packed(instance, position, argument, code)
            for position, (argument, code) in enumerate(zip(arguments, wanted, strict=True))
        ]

    def launch(
        self,
        instance: str,
        grid: Extents,
        block: Extents,
        packed: Sequence[Any],
        shared_bytes: int,
        shared_limit: int,
        schedule: Schedule,
    ) -> None:
        """Run a kernel to its end.

        Raises:
            KernelError: a barrier or a warp collective that not all threads reach, or more shared
                memory than there is.
        """
        launch, _ = self._entries[instance]
        addresses = (ctypes.c_void_p * len(packed))(*[x.ctypes.data for x in packed])
        with _running:
            failed = launch(
                (ctypes.c_uint * 3)(*grid),
                (ctypes.c_uint * 3)(*block),
                ctypes.c_size_t(shared_bytes),
                ctypes.c_size_t(shared_limit),
                addresses,
                ctypes.byref(pack_schedule(schedule)),
            )
            said = self._library.launch_error().decode() if failed else ""
        if failed:
            raise KernelError(f"{instance} needs to run on a GPU, got {said}. Correct the kernel.")


def _packed(instance: str, position: int, argument: Argument, code: str) -> Any:
    """Return the bytes of one argument as an array; a pointer's are its address."""
    access, _, kind = code.rpartition(" ")
    if isinstance(argument, np.generic):
        if access or kind != _kind(argument.dtype):
            raise _argument_error(instance, position, code, argument)
        return np.array([argument])
    if not access or not _points_to(kind, argument):
        raise _argument_error(instance, position, code, argument)
    if access == "write" and not argument.flags.writeable:
        raise KernelArgumentError(
            f"{instance}, argument {position} needs an array that the kernel may write, got a "
            f"read-only one of shape {argument.shape}. Copy it, or take a pointer to const."
        )
    return np.array([argument.ctypes.data], np.uintp)


def _points_to(kind: str, array: HostArray) -> bool:
    """Whether an array can be what a pointer points to; bytes can be whole structures."""
    if kind.startswith("V") and array.dtype == np.uint8:
        return array.nbytes % int(kind[1:]) == 0
    return kind in ("any", _kind(array.dtype))


def _kind(dtype: np.dtype[Any]) -> str:
    """Return a dtype as the shim writes it; complex numbers and structures are bytes to it."""
    return ("V" if dtype.kind == "c" else dtype.kind) + str(dtype.itemsize)


def _argument_error(
    instance: str, position: int, code: str, argument: Argument
) -> KernelArgumentError:
    access, _, kind = code.rpartition(" ")
    wanted = f"an array of {kind}" if access else f"a NumPy scalar of {kind}"
    given = "a scalar" if isinstance(argument, np.generic) else "an array"
    return KernelArgumentError(
        f"{instance}, argument {position} needs {wanted}, got {given} of {argument.dtype} "
        f"({_kind(argument.dtype)}). Compare the launch with the kernel."
    )
