"""The doctor: which engines work on this machine, why one does not, and what to do about it."""

from __future__ import annotations

import math
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from autodiff import Parameter
from circuits import Circuit, Z
from circuits.engines.registry import ENGINES

PACKAGES = ("ketgrad", "numpy", "numba", "qiskit", "matplotlib", "tqdm")
TIMEOUT = 300.0  # seconds; the first call of a compiled engine compiles


@dataclass(frozen=True)
class Finding:
    """What became of one engine.

    Attributes:
        engine: its name.
        passed: whether value and gradient of a small circuit are right.
        text: how long it took, or the reason why not.
        remedy: what to do about a failure.
    """

    engine: str
    passed: bool
    text: str
    remedy: str = ""


def check_engine(name: str) -> None:
    """Run a circuit whose answer is known: <Z> = cos(t) after RY(t), with derivative -sin(t).

    Raises:
        ArithmeticError: the engine's answer is wrong.
    """
    theta = Parameter(0.3)
    value = Circuit(2).ry(theta, 0).cx(0, 1).expectation(Z(1), engine=name)
    value.backward()
    assert theta.grad is not None
    got, wanted = (value.item(), theta.grad.item()), (math.cos(0.3), -math.sin(0.3))
    if not all(math.isclose(a, b, abs_tol=1e-12) for a, b in zip(got, wanted, strict=True)):
        raise ArithmeticError(f"value and gradient need {wanted}, got {got}")


def examine(name: str, timeout: float = TIMEOUT) -> Finding:
    """Check one engine in a process of its own, which a crash takes down alone."""
    command = [sys.executable, "-c", f"from qml.doctor import check_engine; check_engine({name!r})"]
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Finding(name, False, f"no answer within {timeout:g} s", "Try again; then report it.")
    if done.returncode == 0:
        seconds = time.perf_counter() - started
        return Finding(name, True, f"value and gradient are right ({seconds:.1f} s)")
    lines = done.stderr.strip().splitlines() or [f"the process ended with {done.returncode}"]
    return Finding(name, False, lines[-1], _remedy(lines[-1]))


def _remedy(reason: str) -> str:
    missing = re.search(r"No module named '(\w+)", reason)
    if missing:
        return f"Install it: {sys.executable} -m pip install {missing[1]}"
    return "Report it with this output; until then pass another engine=."


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that count, without importing them."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def threads() -> str:
    """Return how many CPUs this process may use, and how many there are."""
    return f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} CPUs"


def run_doctor() -> bool:
    """Print versions and one line an engine; return whether all passed."""
    for name, text in (versions() | {"threads": threads()}).items():
        print(f"{name:<12}{text}")
    print()
    passed = True
    for name in ENGINES:
        finding = examine(name)
        print(f"{name:<12}{'PASS' if finding.passed else 'FAIL'}  {finding.text}")
        if finding.remedy:
            print(f"{'':<18}{finding.remedy}")
        passed = passed and finding.passed
    return passed
