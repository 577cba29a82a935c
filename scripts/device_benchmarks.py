"""The sections of ``device_check`` that measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from device_circuits import ising, layers, rows
from device_counting import CountingEngine
from device_sections import Context, not_reached

from autodiff.device import canonical_device
from circuits import Circuit, PauliSum
from circuits.engines.base import Engine

# Any in this file: a backend's arrays, and what JSON takes.

SECONDS_EACH = 0.5
"""How long one measurement is repeated; where sizes are small, a tenth of it."""

LARGE = 26
"""Qubits from which passes over the states have to be nearly as fast as a copy."""


@dataclass(frozen=True)
class Aim:
    """What a GPU of the size of an H200 has to reach.

    Attributes:
        text: what is measured.
        bound: how much that may be, or has to be.
        unit: of both.
        at_least: whether more is better.
    """

    text: str
    bound: float
    unit: str
    at_least: bool = False

    def verdict(self, measured: float | None) -> str:
        """Return a line that says whether it was reached."""
        sign = ">=" if self.at_least else "<"
        aim = f"{self.text}: {sign} {self.bound:g} {self.unit}"
        if measured is None:
            return f"{aim}: not measured"
        reached = measured >= self.bound if self.at_least else measured < self.bound
        return f"{aim}: {measured:.3g} {self.unit}: {'pass' if reached else 'MISSED'}"


AIMS: Mapping[str, Aim] = {
    "stages": Aim(
        f"passes over states of {LARGE} qubits and more, forward and reverse, both precisions",
        0.8,
        "of a copy",
        at_least=True,
    ),
    "batch": Aim("batch of 512, 10 qubits, 3 layers, complex64, value and gradient", 1, "ms"),
    "chain": Aim("Ising VQE, 24 qubits, depth 10, complex64, value and gradient", 15, "ms"),
}
"""By the keys under which sections report them in ``aims``."""


def timed(context: Context, function: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds; each waits for the device."""
    backend = context.backend
    finished = backend.send(np.zeros(1))
    function()
    seconds = SECONDS_EACH / (10 if context.small else 1)
    best, until = float("inf"), time.perf_counter() + seconds
    while True:
        backend.receive(finished)
        started = time.perf_counter()
        function()
        backend.receive(finished)
        best = min(best, time.perf_counter() - started)
        if time.perf_counter() > until:
            return best


def launched(context: Context, forward: Callable[..., Any], *operands: Any) -> Any:
    """Run a function of the device's module and of arrays of its own, as an op's forward is."""
    backend = context.backend
    return backend.launch(forward, operands, {}, "benchmark", backend.storage_classes[0])


def copy_bandwidth(context: Context) -> dict[str, Any]:
    """Bytes read and written each second by a copy within the device."""
    nbytes = 1 << (24 if context.small else 30)
    array = context.backend.from_host(np.zeros(nbytes // 8))
    seconds = timed(context, lambda: launched(context, lambda xp, x: x.copy(), array))
    context.bandwidth = 2 * nbytes / seconds
    return {"bytes_per_second": context.bandwidth, "summary": f"{context.bandwidth / 1e9:.0f} GB/s"}


def measure(
    context: Context, circuit: Circuit, observable: PauliSum, dtype: Any, **options: Any
) -> dict[str, Any]:
    """Times of the value, and of value and gradient; what they move, beside a copy.

    Raises:
        AssertionError: passes that move other bytes than ``Circuit.plan`` says.
    """
    backend, batch = context.backend, options.pop("batch", 1)
    options |= {"dtype": dtype, "device": canonical_device(context.device)}
    said = circuit.plan(observable, batch=batch, engine="cuda", **options).outline.device
    assert said is not None
    if batch > 1:
        options["inputs"] = rows(circuit.num_qubits, batch, dtype, options["device"])

    def gradient(engine: str | Engine = "cuda") -> None:
        circuit.expectation(observable, engine=engine, **options).sum().backward()

    value = timed(context, lambda: circuit.expectation(observable, engine="cuda", **options))
    both = timed(context, gradient)
    counting = CountingEngine(backend)
    gradient(counting)
    counted = counting.taken()
    moved = counted.launches, counted.state_bytes
    assert moved == (sum(said.launches), sum(said.traffic)), (said, counted)
    times = value, max(both - value, 1e-9)
    speeds = np.divide(said.traffic, times) / context.bandwidth
    return {
        "value_ms": 1e3 * value,
        "gradient_ms": 1e3 * both,
        "ratio": both / value,
        "launches": counted.launches,
        "state_bytes": said.traffic,
        "argument_bytes": counted.argument_bytes,
        "copy_fraction": tuple(speeds.tolist()),
    }


def _line(what: str, found: dict[str, Any]) -> str:
    forward, reverse = [100 * fraction for fraction in found["copy_fraction"]]
    return (
        f"{what}: value {found['value_ms']:.3f} ms, with gradient {found['gradient_ms']:.3f} ms; "
        f"{found['launches']} launches; {forward:.0f} and {reverse:.0f} % of a copy"
    )


def small_batch(context: Context) -> dict[str, Any]:
    """A batch of small circuits, value and gradient."""
    n, batch = (3, 4) if context.small else (10, 512)
    circuit = layers(n, 3, np.complex64, context.device, features=True)
    found = measure(context, circuit, ising(n), np.complex64, batch=batch)
    aims = {} if context.small else {"batch": found["gradient_ms"]}
    return {**found, "aims": aims, "summary": _line(f"{batch} x {n} qubits", found)}


def ising_chain(context: Context) -> dict[str, Any]:
    """A transverse-field Ising VQE in complex64, value and gradient."""
    n, depth = (4, 2) if context.small else (24, 10)
    circuit = layers(n, depth, np.complex64, context.device)
    found = measure(context, circuit, ising(n), np.complex64)
    aims = {} if context.small else {"chain": found["gradient_ms"]}
    return {**found, "aims": aims, "summary": _line(f"{n} qubits, depth {depth}", found)}


def single_circuits(context: Context) -> dict[str, Any]:
    """Circuits with 3 layers in both precisions, as far as the time goes; those of an aim first."""
    sizes = (2, 3) if context.small else (26, 28, 30, *range(4, 26, 2))
    runs: dict[str, Any] = {}
    aims: dict[str, float] = {}
    for n, dtype in product(sizes, (np.complex64, np.complex128)):
        needed = 6 * np.dtype(dtype).itemsize << n
        if context.left() < SECONDS_EACH or needed > context.backend.free_bytes:
            continue
        name = f"{n} qubits, {np.dtype(dtype).name}"
        runs[name] = measure(context, layers(n, 3, dtype, context.device), ising(n), dtype)
        if n >= LARGE:
            slowest = min(runs[name]["copy_fraction"])
            aims["stages"] = min(aims.get("stages", slowest), slowest)
    lines = [_line(name, found) for name, found in runs.items()]
    lines += [not_reached(2 * len(sizes) - len(runs)).strip(", ")]
    return {"sizes": runs, "aims": aims, "summary": "\n".join(filter(None, lines))}


def gate_by_gate(context: Context) -> dict[str, Any]:
    """The same circuit by one array operation a gate, as a plain program on CuPy would run it."""
    n, depth = (4, 2) if context.small else (22, 3)
    backend, rng = context.backend, np.random.default_rng(1)
    state = backend.from_host(np.eye(1, 1 << n, dtype=np.complex64)[0])
    matrices = (rng.normal(size=(2 * n, 2, 2)) + 0j).astype(np.complex64)
    operands = [state, *map(backend.from_host, matrices)]

    def forward(xp: Any, psi: Any, *gates: Any) -> Any:
        for _ in range(depth):
            for q, gate in enumerate(gates):
                tensor = psi.reshape(1 << (n - 1 - q % n), 2, 1 << (q % n))
                psi = xp.einsum("ab,xby->xay", gate, tensor).reshape(-1)
            for q in range(n):
                psi = _cx(xp, psi, n, q, (q + 1) % n)
        return psi

    plain = timed(context, lambda: launched(context, forward, *operands))
    circuit = layers(n, depth, np.complex64, context.device)
    ours = measure(context, circuit, ising(n), np.complex64)
    speed = 1e3 * plain / ours["value_ms"]
    summary = f"{n} qubits: {1e3 * plain:.3f} ms gate by gate, {ours['value_ms']:.3f} ms here"
    return {"plain_ms": 1e3 * plain, **ours, "summary": f"{summary}: {speed:.1f}x"}


def _cx(xp: Any, psi: Any, n: int, control: int, target: int) -> Any:
    """Apply CX by slices of the tensor with one axis a qubit; qubit 0 is the last axis."""
    tensor = psi.reshape((2,) * n).copy()
    on: list[Any] = [slice(None)] * n
    on[n - 1 - control] = 1
    part = tensor[tuple(on)]
    axis = n - 1 - target - (target < control)
    tensor[tuple(on)] = xp.flip(part, axis)
    return tensor.reshape(-1)
