"""Guard against slower code: times over what this machine's speed lets expect, against limits.

The machine's speed is measured in the same run, all on one core: other processes on the other cores
would decide over what several threads take. Exits with 1 where a ratio exceeds its limit in
``smoke_limits.json``. Under a minute, where the kernels are compiled already.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.calibration import Calibration, calibration, calibration_calls
from benchmarks.cases import Case, batch, layered, mixed, qaoa
from benchmarks.ours import Ours
from benchmarks.timing import Timing, interleaved, machine

LIMITS = Path(__file__).with_name("smoke_limits.json")
SLACK = 3.0
ROUNDS, SECONDS = 6, 0.12


def smoke_cases() -> list[Case]:
    """Return what is guarded: the smallest call, each kind of circuit, both precisions."""
    return [
        layered(2, layers=1),
        layered(8),
        layered(12),
        layered(16),
        layered(18),
        replace(layered(16), single=True),
        qaoa(12),
        mixed(12),
        batch(8),
    ]


def call_of(case: Case) -> Callable[[], object]:
    """Build a case and return its call, after a first one."""
    evaluation = Ours(case)
    draws = itertools.cycle([case.parameters(0), case.parameters(1)])
    evaluation(next(draws))
    return lambda: evaluation(next(draws))


def measure(cases: list[Case]) -> tuple[Calibration, dict[str, Timing]]:
    """Time the cases and the calibration in turns."""
    calls = [*calibration_calls(), *map(call_of, cases)]
    copy, multiply, python, *times = interleaved(calls, ROUNDS, SECONDS)
    names = [case.name for case in cases]
    return calibration(copy, multiply, python), dict(zip(names, times, strict=True))


def exceeded(ratios: Mapping[str, float], limits: Mapping[str, float]) -> list[str]:
    """Return the cases above their limits; a case without a limit is one of them."""
    return [name for name, ratio in ratios.items() if not ratio <= limits.get(name, 0.0)]


def record(ratios: Mapping[str, float], path: Path) -> None:
    """Write limits: the ratios of this run, with slack."""
    how = f"{SLACK} times the ratios of a run of smoke.py --record; all on one core"
    limits = {name: round(SLACK * ratio, 3) for name, ratio in ratios.items()}
    text = json.dumps({"how": how, "machine": machine(), "limits": limits}, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Measure, print, and compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--record", action="store_true", help="store this run's ratios as limits")
    options = parser.parse_args()
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
    cases = smoke_cases()
    rates, times = measure(cases)
    expected = {case.name: rates.expected(case) for case in cases}
    ratios = {name: times[name].best / expected[name] for name in expected}
    if options.record:
        record(ratios, LIMITS)
    limits = json.loads(LIMITS.read_text(encoding="utf-8"))["limits"]
    print(
        f"copy {rates.bytes_per_second / 1e9:.1f} GB/s, "
        f"product {rates.flops_per_second / 1e9:.1f} GFLOP/s, "
        f"Python piece {rates.python_seconds * 1e6:.0f} us, load {os.getloadavg()[0]:.1f}"
    )
    print(f"{'':22}{'median ms':>10}{'best ms':>10}{'ratio':>8}{'limit':>8}")
    for name, ratio in ratios.items():
        print(f"{name:22}{times[name].median * 1e3:10.3f}{times[name].best * 1e3:10.3f}", end="")
        print(f"{ratio:8.2f}{limits.get(name, 0.0):8.2f}")
    slow = exceeded(ratios, limits)
    print(f"above the limit: {', '.join(slow)}" if slow else "all within their limits")
    sys.exit(bool(slow))


if __name__ == "__main__":
    main()
