"""Recorded launches run again under the address, undefined-behaviour and thread sanitizers."""

from __future__ import annotations

import os
import platform
import re
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from autodiff.backends.host_modules import compile_text, translation_unit
from autodiff.backends.launch_records import Pointer, RecordedLaunch
from autodiff.backends.raw_modules import Source

MAIN = Path(__file__).with_name("replay_main.cpp")
# Optimised, programs take four times as long to compile, and as long to run.
FLAVOURS = {
    "address": (
        "-g",
        "-O0",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=undefined",
        "-fno-omit-frame-pointer",
    ),
    "thread": ("-g", "-O0", "-fsanitize=thread"),
}
ENVIRONMENT = {
    "TSAN_OPTIONS": "exitcode=66:halt_on_error=1",
    # The fibers' stacks are not those that leak detection and fake stacks know.
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
#: The thread sanitizer keeps this many fibers apart in a launch.
MOST_THREADS = 6000
_REPORT = re.compile(r"(?:ERROR|WARNING): .*Sanitizer: (.*)|(runtime error: .*)|^(launch .*)", re.M)


class SanitizerReport(AssertionError):
    """What a sanitizer, or the shim, has found."""


def check(launches: Sequence[RecordedLaunch], flavour: str, source: Source | None = None) -> None:
    """Run launches again, of their own source or of another, and compare what they leave.

    Raises:
        SanitizerReport: a sanitizer reported something, with the lines of the kernels it names.
        AssertionError: the launches left other values.
    """
    source = source or launches[0].source
    names = sorted({launch.instance for launch in launches})
    assert all(launch.source == launches[0].source for launch in launches)
    few = all(_threads(launch) <= MOST_THREADS for launch in launches)
    assert few or flavour != "thread", "record smaller launches"
    program = compile_text(_program(source, names), FLAVOURS[flavour], ".exe")
    with tempfile.TemporaryDirectory() as folder:
        records, results = Path(folder, "records"), Path(folder, "results")
        records.write_bytes(_records(launches, names))
        done = _run([str(program), str(records), str(results)])
        reports = ["".join(found) for found in _REPORT.findall(done.stderr)]
        reports = [text for text in reports if "makecontext" not in text]
        if done.returncode or reports:
            lines = sorted(
                set(re.findall(rf"{re.escape(source.name)}:(\d+)", done.stderr)), key=int
            )
            raise SanitizerReport(
                f"{flavour}: {reports[:2] or done.stderr[-500:]} at {source.name}, lines {lines}"
            )
        _compare(launches, results.read_bytes())


def _threads(launch: RecordedLaunch) -> int:
    return int(np.prod(launch.grid) * np.prod(launch.block))


def _program(source: Source, names: Sequence[str]) -> str:
    table = ", ".join(f"launch_{k}" for k in range(len(names)))
    return (
        f"{translation_unit(source, names)}\n"
        f'#line 1 "{MAIN.name}"\n{MAIN.read_text(encoding="utf-8")}\n'
        f"int main(int, char **files) {{\n  const Launch kernels[] = {{{table}}};\n"
        "  return replay_all(files, kernels);\n}\n"
    )


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **ENVIRONMENT}

    def run(*before: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*before, *command], env=environment, capture_output=True, text=True, check=False
        )

    done = run()
    if "unexpected memory mapping" in done.stderr:
        # Some kernels place memory where the thread sanitizer of older compilers wants its own.
        done = run("setarch", platform.machine(), "--addr-no-randomize")
    return done


def _records(launches: Sequence[RecordedLaunch], names: Sequence[str]) -> bytes:
    parts = [_integers(len(launches))]
    for launch in launches:
        parts.append(_integers(names.index(launch.instance), *launch.grid, *launch.block))
        parts.append(_integers(launch.shared_bytes, len(launch.before)))
        for buffer in launch.before:
            parts += [_integers(buffer.nbytes), buffer.tobytes()]
        parts.append(_integers(len(launch.arguments)))
        for argument in launch.arguments:
            if isinstance(argument, Pointer):
                parts.append(_integers(1, argument.buffer, argument.offset))
            else:
                parts += [_integers(0, argument.nbytes), argument.tobytes()]
    return b"".join(parts)


def _integers(*values: int) -> bytes:
    return struct.pack(f"{len(values)}q", *map(int, values))


def _compare(launches: Sequence[RecordedLaunch], results: bytes) -> None:
    """The same values, up to the order in which atomic additions met."""
    offset = 0
    for launch in launches:
        buffers = []
        for buffer in launch.after:
            part = results[offset : offset + buffer.nbytes]
            buffers.append(np.frombuffer(part, np.uint8))
            offset += buffer.nbytes
        for made, wanted in zip(launch.values(buffers), launch.values(launch.after), strict=True):
            if not isinstance(made, np.generic):
                _compare_array(made, wanted)
    assert offset == len(results)


def _compare_array(made: np.ndarray, wanted: np.ndarray) -> None:
    if wanted.dtype.kind in "fc":
        tolerance = 1e3 * np.finfo(wanted.dtype).eps
        np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance)
    else:
        assert made.tobytes() == wanted.tobytes()
