"""Check and measure a device, from the probe to benchmarks; JSON, and a short table last.

    scripts/device_check                      # the GPU
    scripts/device_check --device emulated    # the same program from first line to last on the CPU

It needs no network and nothing but NumPy and CuPy. A section that fails does not stop the others.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "helpers"), str(ROOT / "scripts")]

import device_benchmarks  # noqa: E402
import device_sections  # noqa: E402
from device_sections import Context  # noqa: E402

# Any in this file: what a section reports, as JSON takes it.

BUDGET = 220.0
"""Seconds after which no further section begins, and benchmarks stop."""

FAILURES = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, MemoryError,
    OSError, RuntimeError, TypeError, ValueError,
)  # fmt: skip

Section = Callable[[Context], dict[str, Any]]
SECTIONS: dict[str, Section] = {
    "probe": device_sections.probe,
    "op table": device_sections.op_table,
    "kernels of tensors": device_sections.tensor_kernels,
    "graph mode": device_sections.graph_mode,
    "engine conformance": device_sections.engine_conformance,
    "recorded launches": device_sections.recorded_launches,
    "copy bandwidth": device_benchmarks.copy_bandwidth,
    "batch of small circuits": device_benchmarks.small_batch,
    "Ising chain": device_benchmarks.ising_chain,
    "gate by gate": device_benchmarks.gate_by_gate,
    "single circuits": device_benchmarks.single_circuits,
}


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


def run_section(name: str, section: Section, context: Context) -> Report:
    """Run one section to its end, whatever that is."""
    started = time.perf_counter()
    if context.left() <= 0:
        return Report(name, "NOT RUN", 0.0, {"reason": "the time is up"})
    try:
        details = section(context)
        status = details.pop("status", "PASS")
    except FAILURES as error:
        status, details = "FAIL", {"error": f"{type(error).__name__}: {str(error)[:2000]}"}
    return Report(name, status, time.perf_counter() - started, details)


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


def main(arguments: list[str] | None = None) -> int:
    """Run all sections; return 0 if none failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1 or emulated")
    parser.add_argument("--json", type=Path, help="where the whole report goes, beside the output")
    parser.add_argument("--seconds", type=float, default=BUDGET, help="the time that there is")
    given = parser.parse_args(arguments)
    context = Context(given.device, time.perf_counter() + given.seconds)
    reports: list[Report] = []
    for name, section in SECTIONS.items():
        report = run_section(name, section, context)
        print(f"-- {name}: {report.status} ({report.seconds:.1f} s)", flush=True)
        reports.append(report)
        if name == "probe" and report.status == "FAIL":
            break
    text = json.dumps([asdict(report) for report in reports], indent=1, default=str)
    if given.json:
        given.json.write_text(text, encoding="utf-8")
    print(f"{text}\n\n{table(reports)}")
    return int(any(report.status == "FAIL" for report in reports))


if __name__ == "__main__":
    sys.exit(main())
