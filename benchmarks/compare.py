"""Compare this project with other libraries: the same circuits and values, in one run.

Every library runs in a process of its own; the calls of all of them take turns. What they
compute is compared before anything is timed. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.cases import FAMILIES, Case, select
from benchmarks.libraries import LIBRARIES, OURS, OWN, PREPARED
from benchmarks.timing import Timing, joined, machine
from benchmarks.worker import First, Worker, WorkerFailed, worker

TOLERANCE = {"double": 1e-8, "single": 1e-4}


@dataclass(frozen=True)
class Row:
    """What one library did with one case; seconds and bytes.

    Attributes:
        library: its name.
        start: import and first call of all, on two qubits.
        build: building the circuit.
        first: the first call of this circuit.
        median: the warm call.
        best: the fastest warm call.
        calls: how many were timed.
        peak: growth of the resident memory from before the circuit was built.
    """

    library: str
    start: float
    build: float
    first: float
    median: float
    best: float
    calls: int
    peak: int


@dataclass(frozen=True)
class Outcome:
    """A case with its rows, ours first.

    Attributes:
        case: its name.
        rows: of the libraries that took part; ours a second time, prepared.
        failures: why other libraries have none.
        load: the machine's load average at the end; far above the number of cores, medians say
            little, since libraries with OpenMP suffer most from other processes.
    """

    case: str
    rows: tuple[Row, ...]
    failures: dict[str, str]
    load: float

    @property
    def peers(self) -> list[Row]:
        """The rows of other libraries."""
        return [row for row in self.rows if row.library not in OWN]

    @property
    def prepared(self) -> Row | None:
        """Ours without the tape."""
        return next((row for row in self.rows if row.library == PREPARED), None)

    def best_peer(self) -> Row | None:
        """Return the peer of the lowest median."""
        return min(self.peers, key=lambda row: row.median, default=None)


def measure(case: Case, names: Sequence[str], options: argparse.Namespace) -> Outcome:
    """Run a case with the named libraries, ours first."""
    failures: dict[str, str] = {}
    running: dict[str, tuple[Worker, First]] = {}
    with ExitStack() as stack:
        for name in names:
            try:
                process = stack.enter_context(worker(name, case, options.limit, options.cores))
                first = process.first()
                check(case, first, running[OURS][1] if running else first)
                running[name] = process, first
            except WorkerFailed as failure:
                failures[name] = str(failure)
                if name == OURS:
                    return Outcome(case.name, (), failures, os.getloadavg()[0])
        rounds: dict[str, list[Timing]] = {name: [] for name in running}
        for _ in range(options.rounds):
            for name, (process, _) in running.items():
                rounds[name].append(process.time(options.seconds))
        rows = [row(name, *running[name], joined(rounds[name])) for name in running]
    return Outcome(case.name, tuple(rows), failures, os.getloadavg()[0])


def check(case: Case, first: First, ours: First) -> None:
    """Refuse a library whose value or gradient is not ours."""
    tolerance = TOLERANCE["single" if case.single else "double"]
    value = abs(first.value - ours.value)
    gradient = float(np.max(np.abs(first.gradient - ours.gradient)))
    if not (value <= tolerance and gradient <= tolerance):
        raise WorkerFailed(f"differs from ours: value by {value:.1e}, gradient by {gradient:.1e}")


def row(name: str, process: Worker, first: First, warm: Timing) -> Row:
    """Put together a library's row; its process ends."""
    return Row(name, first.start, first.build, first.call, *warm, process.peak())


def print_outcome(outcome: Outcome) -> None:
    """Print a case's rows."""
    print(f"\n{outcome.case} (load {outcome.load:.1f})")
    print(f"  {'':16}{'start s':>9}{'build ms':>10}{'first ms':>11}", end="")
    print(f"{'median ms':>11}{'best ms':>10}{'peak MB':>9}{'/ ours':>8}")
    for r in outcome.rows:
        print(f"  {r.library:16}{r.start:9.2f}{r.build * 1e3:10.2f}{r.first * 1e3:11.2f}", end="")
        print(f"{r.median * 1e3:11.3f}{r.best * 1e3:10.3f}{r.peak / 1e6:9.1f}", end="")
        print(f"{r.median / outcome.rows[0].median:8.2f}")
    for name, reason in outcome.failures.items():
        print(f"  {name:16} {reason}")
    sys.stdout.flush()


def print_summary(outcomes: Sequence[Outcome]) -> None:
    """Print the ratios best peer / ours: of the medians, of the fastest calls, and if prepared."""
    print(
        f"\n{'best peer / ours':24}{'ours ms':>10}{'peer ms':>10}{'ratio':>8}{'of best':>9}", end=""
    )
    print(f"{'prepared ms':>13}{'ratio':>8}")
    for outcome in outcomes:
        peer = outcome.best_peer()
        if peer is None:
            continue
        ours, prepared = outcome.rows[0], outcome.prepared
        fastest = min(r.best for r in outcome.peers) / ours.best
        print(f"{outcome.case:24}{ours.median * 1e3:10.3f}{peer.median * 1e3:10.3f}", end="")
        print(f"{peer.median / ours.median:8.2f}{fastest:9.2f}", end="")
        if prepared is None:
            print(f"{'-':>13}{'-':>8}", end="")
        else:
            print(f"{prepared.median * 1e3:13.3f}{peer.median / prepared.median:8.2f}", end="")
        print(f"  {peer.library}")
    medians = {o.case: o.rows[0].median for o in outcomes if o.rows}
    for name, median in medians.items():
        double = medians.get(name.replace("single", "double"))
        if name.endswith("single") and double is not None:
            print(f"double / single, ours: {name.removesuffix(' single'):14} {double / median:.2f}")


def installed(names: Sequence[str], jax: bool) -> list[str]:
    """Return what to run, ours first; say which libraries are left out and why."""
    chosen = list(OWN)
    for name in names:
        missing = LIBRARIES[name].missing()
        if missing:
            print(f"{name} is left out: {', '.join(missing)} not installed")
        elif name not in OWN and (jax or not LIBRARIES[name].compiles):
            chosen.append(name)
    return chosen


def words(accepted: Sequence[str], text: str) -> tuple[str, ...]:
    """Split a list of accepted words."""
    given = tuple(text.split(","))
    unknown = [word for word in given if word not in accepted]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"needs words of {', '.join(accepted)} with commas, got {', '.join(unknown)}"
        )
    return given


def parser() -> argparse.ArgumentParser:
    """Describe the options."""
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    families, peers = tuple(FAMILIES), tuple(name for name in LIBRARIES if name not in OWN)
    precisions = tuple(TOLERANCE)
    add = made.add_argument
    add("--families", type=lambda text: words(families, text), default=families)
    add("--sizes", type=lambda text: tuple(map(int, text.split(","))), help="numbers of qubits")
    add("--precisions", type=lambda text: words(precisions, text), default=precisions)
    add("--peers", type=lambda text: words(peers, text), default=peers)
    add("--jax", action="store_true", help="with TensorCircuit-NG, which compiles for minutes")
    add("--cores", type=int, help="bind every library to so many, for a machine that is busy")
    add("--rounds", type=int, default=5, help="in which all libraries take their turn")
    add("--seconds", type=float, default=0.2, help="of one library's turn")
    add("--limit", type=float, default=300.0, help="seconds for a library to answer")
    add("--budget", type=float, default=float("inf"), help="seconds after which no case starts")
    add("--json", type=Path, help="where to write the results")
    return made


def main() -> None:
    """Run the selected cases; exit with 1 where a library failed or differs."""
    options = parser().parse_args()
    names = installed(options.peers, options.jax)
    about = {
        **machine(),
        "bound to cores": options.cores,
        "versions": {name: LIBRARIES[name].versions() for name in names},
    }
    print(json.dumps(about, indent=2))
    begin, outcomes = time.monotonic(), []
    for case in select(options.families, options.sizes, options.precisions):
        if time.monotonic() - begin > options.budget:
            print(f"{case.name} is left out: the budget is spent")
            continue
        takers = [name for name in names if LIBRARIES[name].takes(case)]
        outcomes.append(measure(case, takers, options))
        print_outcome(outcomes[-1])
    print_summary(outcomes)
    if options.json is not None:
        cases = [asdict(outcome) for outcome in outcomes]
        options.json.write_text(json.dumps({**about, "cases": cases}, indent=2) + "\n")
    sys.exit(any(outcome.failures for outcome in outcomes))


if __name__ == "__main__":
    main()
