"""What a call costs beside its arithmetic: Python, first calls, new circuits, the gradient."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

import numpy as np

import qml
from benchmarks.cases import Case, layered
from benchmarks.ours import Ours
from benchmarks.timing import interleaved, machine

FIRST_CALL = """
import time
begin = time.perf_counter()
import qml
imported = time.perf_counter()
theta = qml.Parameter([0.1, 0.2, 0.3, 0.4])
circuit = qml.Circuit(2).ry(theta[0], 0).rz(theta[1], 0).ry(theta[2], 1).rz(theta[3], 1).cx(0, 1)
circuit.expectation(qml.PauliSum({"ZZ": 1.0, "IX": 1.0})).backward()
print(imported - begin, time.perf_counter() - begin)
"""


@dataclass(frozen=True)
class Measured:
    """A line of the report; the target is None where there is none."""

    what: str
    amount: float
    unit: str
    target: float | None = None

    @property
    def over(self) -> bool:
        """Whether it misses its target."""
        return self.target is not None and self.amount > self.target


def call_overhead(rounds: int) -> list[Measured]:
    """Time ``expectation(...).backward()`` on two qubits, four parameters in one or in four.

    The last call builds the observable anew, and reads the gradients.
    """
    calls = [smallest_call(split=False), smallest_call(split=True), smallest_call(True, anew=True)]
    whole, apart, anew = interleaved(calls, rounds, 0.3)
    return [
        Measured("call n=2, a Parameter of 4: median", whole.median * 1e6, "us", 100),
        Measured("call n=2, a Parameter of 4: best", whole.best * 1e6, "us"),
        Measured("call n=2, 4 Parameters: median", apart.median * 1e6, "us", 100),
        Measured("call n=2, 4 Parameters: best", apart.best * 1e6, "us"),
        Measured("call n=2, new observable, gradients read: median", anew.median * 1e6, "us"),
        Measured("call n=2, new observable, gradients read: best", anew.best * 1e6, "us"),
    ]


def smallest_call(split: bool, anew: bool = False) -> Callable[[], object]:
    """Return the call on two qubits with four parameters: in one Parameter, or in four.

    With ``anew`` it builds its observable and reads the gradients.
    """
    values = np.array([0.1, 0.2, 0.3, 0.4])
    owned = [qml.Parameter(v) for v in values] if split else [qml.Parameter(values)]
    angles = owned if split else owned[0]
    circuit = qml.Circuit(2)
    for k in range(4):
        circuit.append(("ry", "rz")[k % 2], k // 2, angles[k])
    labels = {"ZZ": 1.0, "IX": 1.0}
    observable = qml.PauliSum(labels)
    circuit.cx(0, 1)

    def call() -> None:
        for parameter in owned:
            parameter.zero_grad()
        circuit.expectation(qml.PauliSum(labels) if anew else observable).backward()
        if anew:
            for parameter in owned:
                assert parameter.grad is not None

    return call


def first_calls(warm_runs: int) -> list[Measured]:
    """Time new processes: with an empty kernel cache, then with the one that this left."""
    with tempfile.TemporaryDirectory() as cache:
        _, cold = first_call(cache)
        imports, warm = zip(*[first_call(cache) for _ in range(warm_runs)], strict=True)
    return [
        Measured("import qml", median(imports), "s"),
        Measured("import and first call, empty cache", cold, "s", 20),
        Measured("import and first call, warm cache: median", median(warm), "s", 1.5),
        Measured("import and first call, warm cache: best", min(warm), "s"),
    ]


def first_call(cache: str) -> tuple[float, float]:
    """Run a new process; return the seconds of its import, and up to its first gradient."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    imported, called = map(float, done.stdout.split())
    return imported, called


def new_shape(num_qubits: int, target: float, shapes: int) -> list[Measured]:
    """Time the first call of circuits that differ in their order of CX, against the second ones."""
    Ours(layered(num_qubits))(layered(num_qubits).parameters(0))
    built, extra = [], []
    for seed in range(shapes):
        case = shuffled(layered(num_qubits), seed)
        begin = time.perf_counter()
        evaluation = Ours(case)
        built.append(time.perf_counter() - begin)
        call = partial(evaluation, case.parameters(1))
        first, *later = [seconds(call) for _ in range(4)]
        extra.append(first - median(later))
    what = f"new circuit n={num_qubits}, 4 layers"
    return [
        Measured(f"{what}: building", median(built) * 1e3, "ms"),
        Measured(
            f"{what}: extra time of the first call, median", median(extra) * 1e3, "ms", target
        ),
        Measured(f"{what}: extra time of the first call, best", min(extra) * 1e3, "ms"),
    ]


def shuffled(case: Case, seed: int) -> Case:
    """Return the case with its CX gates exchanged at random among their places."""
    generator = np.random.default_rng(seed)
    places = [k for k, step in enumerate(case.steps) if step.gate == "cx"]
    steps = list(case.steps)
    for place, source in zip(places, generator.permutation(places), strict=True):
        steps[place] = case.steps[source]
    return replace(case, steps=tuple(steps))


def seconds(call: Callable[[], object]) -> float:
    """Return the time of one call."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def gradient_ratio(num_qubits: int, layers: int, rounds: int) -> list[Measured]:
    """Time value and gradient against the value alone under ``no_grad``."""
    case = layered(num_qubits, layers)
    evaluation = Ours(case)
    parameters = case.parameters(0)

    def value() -> None:
        with qml.no_grad():
            evaluation.loss().item()

    value()
    both, alone = interleaved([lambda: evaluation(parameters), value], rounds, 0.3)
    what = f"n={num_qubits}, {case.num_parameters} parameters: value and gradient / value"
    return [
        Measured(
            f"n={num_qubits}, {case.num_parameters} parameters: value", alone.median * 1e3, "ms"
        ),
        Measured(f"{what}, medians", both.median / alone.median, "", 5),
        Measured(f"{what}, fastest calls", both.best / alone.best, ""),
    ]


def main() -> None:
    """Measure and print; with ``--check``, exit with 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--qubits", type=int, default=20, help="of the large circuit")
    parser.add_argument("--check", action="store_true", help="fail where a target is missed")
    options = parser.parse_args()
    print(json.dumps(machine(), indent=2))
    report = [
        *call_overhead(options.rounds),
        *first_calls(options.rounds),
        *new_shape(8, 3, options.rounds),
        *new_shape(options.qubits, 25, options.rounds),
        *gradient_ratio(options.qubits, 1, options.rounds),
        *gradient_ratio(options.qubits, 4, options.rounds),
    ]
    for line in report:
        target = "" if line.target is None else f"  target {line.target:g}"
        mark = "  MISSED" if line.over else ""
        print(f"{line.what:66}{line.amount:10.3f} {line.unit:2}{target}{mark}")
    sys.exit(options.check and any(line.over for line in report))


if __name__ == "__main__":
    main()
