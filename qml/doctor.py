"""The doctor: which engines and devices work here, why one does not, and what to do about it."""

from __future__ import annotations

import math
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType

from autodiff import Parameter, Tensor
from autodiff.device import device_kinds
from circuits import Circuit, Z
from circuits.engines.registry import ENGINES

PACKAGES = ("ketgrad", "numpy", "numba", "qiskit", "matplotlib", "tqdm")
TIMEOUT = 300.0  # seconds; the first call of a compiled engine compiles


@dataclass(frozen=True)
class Finding:
    """What became of one engine or device.

    Attributes:
        name: its name.
        passed: whether value and gradient of a small circuit are right.
        text: how long it took, or the reason why not.
        remedy: what to do about a failure.
        absent: whether this machine lacks it, so that nothing is broken.
    """

    name: str
    passed: bool
    text: str
    remedy: str = ""
    absent: bool = False


def check_engine(name: str) -> None:
    """Run a circuit whose answer is known on an engine.

    Raises:
        ArithmeticError: the engine's answer is wrong.
    """
    _check_answer(Parameter(0.3), engine=name)


def check_device(name: str) -> None:
    """Run a circuit whose answer is known on a device, and look where its results live.

    Raises:
        ArithmeticError: the device's answer is wrong, or stands elsewhere.
        DeviceUnavailable: this machine has no such device.
    """
    theta = Parameter(Tensor(0.3, device=name))
    value = _check_answer(theta)
    assert theta.grad is not None
    if (value.device, theta.grad.device) != (name, name):
        raise ArithmeticError(
            f"value and gradient need the device {name!r}, got {value.device!r} and "
            f"{theta.grad.device!r}"
        )


def _check_answer(theta: Parameter, engine: str | None = None) -> Tensor:
    """Compare <Z> after RY(t) with cos(t), and its derivative with -sin(t)."""
    value = Circuit(2).ry(theta, 0).cx(0, 1).expectation(Z(1), engine=engine)
    value.backward()
    assert theta.grad is not None
    got, wanted = (value.item(), theta.grad.item()), (math.cos(0.3), -math.sin(0.3))
    if not all(math.isclose(a, b, abs_tol=1e-12) for a, b in zip(got, wanted, strict=True)):
        raise ArithmeticError(f"value and gradient need {wanted}, got {got}")
    return value


CHECKS: Mapping[str, Callable[[str], None]] = MappingProxyType(
    {"engine": check_engine, "device": check_device}
)


def examine(kind: str, name: str, timeout: float = TIMEOUT) -> Finding:
    """Check one engine or device in a process of its own, which a crash takes down alone.

    Args:
        kind: ``"engine"`` or ``"device"``.
        name: which one.
        timeout: seconds after which it has failed.
    """
    check = CHECKS[kind].__name__
    command = [sys.executable, "-c", f"from qml.doctor import {check}; {check}({name!r})"]
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
    return _failure(kind, name, lines[-1])


def _failure(kind: str, name: str, reason: str) -> Finding:
    """Say what to do about a reason: our own errors say it themselves, after the first sentence."""
    missing = re.search(r"No module named '(\w+)", reason)
    if missing:
        install = f"Install it: {sys.executable} -m pip install {missing[1]}"
        return Finding(name, False, reason, install)
    unavailable = re.fullmatch(r"autodiff\.errors\.DeviceUnavailable: (.+?\.) ([A-Z].*)", reason)
    if unavailable:
        return Finding(name, False, unavailable[1], unavailable[2], absent=True)
    remedy = f"Report it with this output; until then pass another {kind}=."
    return Finding(name, False, reason, remedy)


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
    """Print versions and one line for each engine and device; return whether nothing is broken.

    A device that this machine lacks fails, with what it needs, and is not broken.
    """
    for name, text in (versions() | {"threads": threads()}).items():
        print(f"{name:<12}{text}")
    working = True
    for kind, names in (("engine", tuple(ENGINES)), ("device", device_kinds())):
        print()
        for name in names:
            finding = examine(kind, name)
            print(f"{kind} {name:<12}{'PASS' if finding.passed else 'FAIL'}  {finding.text}")
            if finding.remedy:
                print(f"{'':<25}{finding.remedy}")
            working = working and (finding.passed or finding.absent)
    return working
