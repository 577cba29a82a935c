"""Check and measure a device, from the probe to benchmarks; JSON, and a short table last.

    scripts/device_check                      # the GPU
    scripts/device_check --device emulated    # the same program from first line to last on the CPU

It needs no network and nothing but NumPy and CuPy. A section that fails, or hangs, does not stop
the others.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers"), str(ROOT / "scripts")]

import device_benchmarks  # noqa: E402
import device_counting  # noqa: E402
import device_sections  # noqa: E402
from device_sections import Context  # noqa: E402

# Any in this file: what a section reports, as JSON takes it.

BUDGET = 220.0
"""Seconds after which no further section begins, and those with steps stop."""

GRACE = 15.0
"""Seconds that the last step of a section may take longer; then it is taken to hang."""

Section = Callable[[Context], dict[str, Any]]
SECTIONS: dict[str, tuple[Section, float]] = {
    "probe": (device_sections.probe, 10),
    "op table": (device_sections.op_table, 45),
    "kernels of tensors": (device_sections.tensor_kernels, 15),
    "graph mode": (device_sections.graph_mode, 10),
    "engine conformance": (device_sections.engine_conformance, 45),
    "forecasts": (device_counting.forecasts, 20),
    "copy bandwidth": (device_benchmarks.copy_bandwidth, 5),
    "batch of small circuits": (device_benchmarks.small_batch, 10),
    "Ising chain": (device_benchmarks.ising_chain, 10),
    "single circuits": (device_benchmarks.single_circuits, 70),
    "gate by gate": (device_benchmarks.gate_by_gate, 10),
    "recorded launches": (device_sections.recorded_launches, 40),
}
"""What is run, in order, and how many seconds each has; what is left goes to nobody."""


@dataclass
class Report:
    """What became of a section.

    Attributes:
        name: the section's.
        status: PASS, FAIL, or NOT RUN with the reason in ``details``.
        seconds: how long it took.
        details: what it found.
    """

    name: str
    status: str
    seconds: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


def run_section(name: str, section: Section, context: Context, ends: float) -> Report:
    """Run one section to its end, whatever that is; one that hangs is left behind.

    Args:
        name: the section's.
        section: what runs.
        context: with the section's deadline.
        ends: when the whole check's time is up, on the clock of ``time.perf_counter``.
    """
    started = time.perf_counter()
    if ends <= started:
        return Report(name, "NOT RUN", 0.0, {"reason": "the time is up"})
    running = ThreadPoolExecutor(1).submit(section, context)
    try:
        error = running.exception(min(context.deadline, ends) + GRACE - started)
    except TimeoutError:
        seconds = time.perf_counter() - started
        return Report(name, "FAIL", seconds, {"error": f"it did not end within {seconds:.0f} s"})
    seconds = time.perf_counter() - started
    if error is not None:
        said = {"error": f"{type(error).__name__}: {str(error)[:2000]}"}
        return Report(name, "FAIL", seconds, said)
    details = running.result()
    return Report(name, details.pop("status", "PASS"), seconds, details)


def table(reports: list[Report]) -> str:
    """One line a section: status, seconds and what matters most."""
    lines = [f"{'section':26} {'':8} {'s':>6}  result"]
    for report in reports:
        said = report.details
        summary = said.get("summary") or said.get("error") or said.get("reason") or ""
        first, *rest = str(summary).splitlines() or [""]
        lines.append(f"{report.name:26} {report.status:8} {report.seconds:6.1f}  {first[:120]}")
        lines += [f"{'':44}{line[:120]}" for line in rest]
    return "\n".join(lines)


def judged(reports: list[Report]) -> str:
    """One line an aim: what it is, what was measured, and whether that is enough."""
    found: dict[str, float] = {}
    for report in reports:
        found |= report.details.get("aims", {})
    aims = device_benchmarks.AIMS.items()
    return "\n".join(["aims", *[aim.verdict(found.get(key)) for key, aim in aims]])


def main(arguments: list[str] | None = None) -> int:
    """Run all sections; return 0 if none failed. An aim that is missed is no failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or emulated")
    parser.add_argument("--json", type=Path, help="where the whole report goes, beside the output")
    parser.add_argument("--seconds", type=float, default=BUDGET, help="the time that there is")
    parser.add_argument("--small", action="store_true", help="as on the emulated device")
    given = parser.parse_args(arguments)
    ends = time.perf_counter() + given.seconds
    context = Context(given.device, ends, given.small or given.device.startswith("emulated"))
    reports: list[Report] = []
    for name, (section, seconds) in SECTIONS.items():
        context.deadline = min(ends, time.perf_counter() + seconds)
        report = run_section(name, section, context, ends)
        print(f"-- {name}: {report.status} ({report.seconds:.1f} s)", flush=True)
        reports.append(report)
        if name == "probe" and report.status == "FAIL":
            break
    text = json.dumps([asdict(report) for report in reports], indent=1, default=str)
    if given.json:
        given.json.write_text(text, encoding="utf-8")
    print(f"{text}\n\n{judged(reports)}\n\n{table(reports)}", flush=True)
    return int(any(report.status == "FAIL" for report in reports))


if __name__ == "__main__":
    os._exit(main())  # not waiting for a section that hangs
