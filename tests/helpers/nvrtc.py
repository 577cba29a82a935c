"""Compiles kernels for real GPUs with NVRTC, which needs no GPU, and says what they use.

The options are those that CuPy passes, so that what is checked here is what runs there; ptxas is
told to report spills, stack, registers and shared memory.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import files
from pathlib import Path
from typing import Any

from sources import PACKAGES, ROOT

from autodiff.backends.raw_modules import COMPILE_OPTIONS, KernelSet

ARCHITECTURES = ("sm_80", "sm_90", "sm_100", "sm_120")
CUPY_ADDS = ("-ftz=true", "--device-as-default-execution-space")

_ENTRY = re.compile(r"Compiling entry function '(\S+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers(?:.*?(\d+) bytes smem)?")


@dataclass
class Usage:
    """What ptxas reports of one kernel instance."""

    stack: int = 0
    spilled: int = 0
    registers: int = 0
    shared_bytes: int = 0


class CompileError(Exception):
    """NVRTC's log of a source that it refuses."""


def kernel_sets() -> list[KernelSet]:
    """The ``KERNELS`` of every module ``x_kernels`` beside a file ``x.cu`` in the packages."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.cu"))]
    return [_kernel_set(path) for path in paths]


def _kernel_set(path: Path) -> KernelSet:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts) + "_kernels"
    kernels: KernelSet = import_module(name).KERNELS
    assert kernels.source.path == path, f"{name}.KERNELS describes another file"
    return kernels


def usage(text: str, instances: Sequence[str], architecture: str) -> dict[str, Usage]:
    """What every instance uses on an architecture."""
    with _Program(text, instances) as program:
        log = program.compile(f"-arch={architecture}", "--ptxas-options=--verbose")
        names = {program.lowered(name): name for name in instances}
    found: dict[str, Usage] = {}
    current = Usage()
    for line in log.splitlines():
        if entry := _ENTRY.search(line):
            current = found[names[entry[1]]] = Usage()
        if spills := _SPILLS.search(line):
            current.stack = int(spills[1])
            current.spilled = int(spills[2]) + int(spills[3])
        if used := _USED.search(line):
            current.registers, current.shared_bytes = int(used[1]), int(used[2] or 0)
    assert set(found) == set(instances), (sorted(found), log)
    return found


def ptx(text: str, instances: Sequence[str]) -> str:
    """The virtual assembly of the instances."""
    with _Program(text, instances) as program:
        program.compile("-arch=compute_90")
        return program.read("PTX").decode()


def findings(
    kernels: KernelSet, text: str | None = None, architectures: Sequence[str] = ARCHITECTURES
) -> list[str]:
    """What breaks the budgets of a set of kernels; ``text`` in place of the file's."""
    text = kernels.source.text() if text is None else text
    found = []
    for architecture in architectures:
        for name, used in usage(text, kernels.instances, architecture).items():
            budget = kernels.budgets[name]
            wrong = {
                "stack bytes": used.stack > 0,
                "spilled bytes": used.spilled > 0,
                f"registers > {budget.registers}": used.registers > budget.registers,
                f"shared bytes > {budget.shared_bytes}": used.shared_bytes > budget.shared_bytes,
            }
            found += [
                f"{kernels.source.name}, {name}, {architecture}: {what} ({used})"
                for what, is_wrong in wrong.items()
                if is_wrong
            ]
    return found + _double_arithmetic(kernels, text)


def is_single(instance: str) -> bool:
    """Whether an instance works in single precision, by its name."""
    return "float" in instance and "double" not in instance


def _double_arithmetic(kernels: KernelSet, text: str) -> list[str]:
    single = [name for name in kernels.instances if is_single(name)]
    code = ptx(text, single) if single else ""
    return [
        f"{kernels.source.name}: double precision in a kernel of {single}: {line.strip()}"
        for line in code.splitlines()
        if ".f64" in line
    ][:1]


@cache
def _library() -> ctypes.CDLL:
    found = [f for f in files("nvidia-cuda-nvrtc") or () if f.name.startswith("libnvrtc.so")]
    library = ctypes.CDLL(str(found[0].locate()))
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


class _Program:
    """One NVRTC program, destroyed with the block."""

    def __init__(self, text: str, instances: Sequence[str]) -> None:
        self._handle = ctypes.c_void_p()
        self._text, self._instances = text.encode(), [name.encode() for name in instances]

    def __enter__(self) -> _Program:
        create: Callable[..., int] = _library().nvrtcCreateProgram
        self._check(create(ctypes.byref(self._handle), self._text, b"kernels.cu", 0, None, None))
        for name in self._instances:
            self._check(_library().nvrtcAddNameExpression(self._handle, name))
        return self

    def __exit__(self, *_: object) -> None:
        _library().nvrtcDestroyProgram(ctypes.byref(self._handle))

    def compile(self, *options: str) -> str:
        """Compile, and return the log."""
        given = [option.encode() for option in (*COMPILE_OPTIONS, *CUPY_ADDS, *options)]
        array = (ctypes.c_char_p * len(given))(*given)
        status = _library().nvrtcCompileProgram(self._handle, len(given), array)
        log = self.read("ProgramLog").decode()
        if status:
            raise CompileError(log)
        return log

    def lowered(self, name: str) -> str:
        """The mangled name of an instance."""
        result = ctypes.c_char_p()
        get = _library().nvrtcGetLoweredName
        self._check(get(self._handle, name.encode(), ctypes.byref(result)))
        assert result.value is not None
        return result.value.decode()

    def read(self, what: str) -> bytes:
        """A text or binary that NVRTC has made, without the closing zero."""
        size = ctypes.c_size_t()
        self._check(_call(f"nvrtcGet{what}Size", self._handle, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self._check(_call(f"nvrtcGet{what}", self._handle, buffer))
        return buffer.value

    def _check(self, status: int) -> None:
        if status:
            raise CompileError(_library().nvrtcGetErrorString(status).decode())


def _call(name: str, *arguments: Any) -> int:  # Any: ctypes values
    result: int = getattr(_library(), name)(*arguments)
    return result
