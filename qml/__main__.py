"""The command line: ``python -m qml demo``, ``doctor`` and ``plan FILE.qasm``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from circuits.engines.registry import DEVICE_ENGINES, ENGINES
from qml.demo import run_demo
from qml.doctor import run_doctor
from qml.plan_command import run_plan

SUFFIXES = (".pdf", ".png", ".svg")


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"needs an integer from 1 on, got {text!r}")
    return int(text)


def _picture(text: str) -> Path:
    path = Path(text)
    if path.suffix not in SUFFIXES or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(
            f"needs a path in an existing folder that ends in one of {', '.join(SUFFIXES)}, "
            f"got {text!r}"
        )
    return path


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(prog="python -m qml", description="Train quantum circuits.")
    commands = made.add_subparsers(dest="command", required=True)
    demo = commands.add_parser("demo", help="find the ground state of molecular hydrogen")
    demo.add_argument("--steps", type=_count, default=100, help="optimizer steps (default: 100)")
    demo.add_argument("--engine", choices=list(ENGINES), default="numba", help="default: numba")
    demo.add_argument(
        "--output", type=_picture, default="h2_training.png", help="default: h2_training.png"
    )
    demo.add_argument("--quiet", action="store_true", help="print the result only")
    commands.add_parser("doctor", help="say which engines and devices work on this machine")
    plan = commands.add_parser("plan", help="say how a program would run, its memory and time")
    plan.add_argument("file", type=Path, help="an OpenQASM 2 or 3 program")
    plan.add_argument("--batch", type=_count, help="number of samples (default: a single run)")
    plan.add_argument("--dtype", choices=["complex64", "complex128"], help="default: complex128")
    plan.add_argument(
        "--engine", choices=[*ENGINES, *DEVICE_ENGINES], help="default: that of the device"
    )
    plan.add_argument("--device", help="where it would run, such as cuda (default: cpu)")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    given = parser().parse_args(arguments)
    if given.command == "doctor":
        return 0 if run_doctor() else 1
    if given.command == "plan":
        return run_plan(given.file, given.batch, given.dtype, given.engine, given.device)
    run_demo(given.steps, given.engine, given.output, given.quiet)
    return 0


if __name__ == "__main__":
    sys.exit(main())
