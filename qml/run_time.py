"""How long a circuit's run takes: a smaller one is timed on the engine itself, and scaled.

The smaller run has the circuit's first gates, folded onto fewer qubits (qubit q goes to q mod m),
with fewer samples. It grows until it takes long enough to be timed or is the whole run. Its seconds
times the ratios of blocks and of amplitudes are the estimate; so speed, layout, threads and kinds
of gates are those of the machine and of the circuit, and nothing is assumed of either.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from autodiff import Tensor
from circuits import Circuit, PauliSum

ENOUGH = 0.05
"""Seconds that a run must take to be scaled."""
REPEATS = 3
"""Timed runs; the fastest one counts."""

_WIDEST = 12
"""Gates on more qubits than that are left out of the smaller run."""


@dataclass(frozen=True)
class Size:
    """How large a run is: qubits, samples, gates."""

    qubits: int
    samples: int
    gates: int

    def within(self, whole: Size) -> Size:
        """Return the run that is at most as large as another in every respect."""
        return Size(
            min(self.qubits, whole.qubits),
            min(self.samples, whole.samples),
            min(self.gates, whole.gates),
        )

    def grown(self, whole: Size) -> Size:
        """Return the next larger run: more qubits, or else more samples, or else more gates."""
        if self.qubits < whole.qubits:
            return Size(self.qubits + 2, self.samples, self.gates).within(whole)
        if self.samples < whole.samples:
            return Size(self.qubits, 4 * self.samples, self.gates).within(whole)
        return Size(self.qubits, self.samples, 4 * self.gates).within(whole)


_FIRST = Size(8, 64, 500)


@dataclass(frozen=True, repr=False)
class RunTime:
    """An estimate.

    Attributes:
        seconds: of the whole run, a value and, with Parameters, its gradient.
        with_gradient: whether there is a gradient.
        timed: what was timed.
        timed_seconds: how long that took.
        whole: the run that the estimate is for.
    """

    seconds: float
    with_gradient: bool
    timed: Size
    timed_seconds: float
    whole: Size

    def __repr__(self) -> str:
        what = "a value with its gradient" if self.with_gradient else "a value"
        if self.timed == self.whole:
            return f"{seconds_text(self.seconds)} {what}, as timed"
        parts = [
            f"{getattr(self.timed, name)} of {getattr(self.whole, name)} {name}"
            for name in ("qubits", "samples", "gates")
            if getattr(self.timed, name) != getattr(self.whole, name)
        ]
        return (
            f"about {seconds_text(self.seconds)} {what}, scaled from "
            f"{seconds_text(self.timed_seconds)} for {', '.join(parts)}"
        )


def seconds_text(seconds: float) -> str:
    """Return seconds for people.

    >>> seconds_text(0.0123), seconds_text(312.0)
    ('12.3 ms', '5.2 min')
    """
    for factor, unit in ((1e-6, "us"), (1e-3, "ms"), (1.0, "s"), (60.0, "min"), (3600.0, "h")):
        limit = 1000 * factor if factor < 1 else 60 * factor
        if seconds < limit:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds / 86400:.3g} days"


def folded(circuit: Circuit, qubits: int, gates: int) -> Circuit:
    """Return a circuit's first gates on fewer qubits; gates that are too wide are left out.

    >>> [step.qubits for step in folded(Circuit(4).cx(1, 2).cx(2, 3).cx(0, 3), 3, 2)]
    [(1, 2), (2, 0)]
    """
    made = Circuit(qubits)
    for instruction in circuit.instructions[:gates]:
        if len(instruction.qubits) > qubits:
            continue
        place: dict[int, int] = {}
        for qubit in instruction.qubits:
            spot = qubit % qubits
            while spot in place.values():
                spot = (spot + 1) % qubits
            place[qubit] = spot
        made.extend([instruction.on(place.__getitem__)])
    return made


def observed_word(num_qubits: int) -> PauliSum:
    """Return the observable that a run measures here, which sees every qubit: Z on all of them."""
    return PauliSum({"Z" * num_qubits: 1.0} if num_qubits else {})


def estimate_run_time(
    circuit: Circuit,
    batch: int | None = None,
    dtype: str | None = None,
    engine: str | None = None,
    device: str | None = None,
) -> RunTime:
    """Estimate how long a value, and its gradient if there are Parameters, will take.

    Args:
        circuit: the circuit.
        batch: number of samples; None: a run without a batch axis.
        dtype: complex64 or complex128; as for a run.
        engine: as for a run.
        device: as for a run.

    Raises:
        CapacityError: the run needs more memory than there is.
        DeviceUnavailable: this machine has no such device.

    >>> estimate_run_time(Circuit(2).h(0).cx(0, 1), engine="reference").timed
    Size(qubits=2, samples=1, gates=2)
    """
    options = {"dtype": dtype, "engine": engine, "device": device}
    whole = Size(circuit.num_qubits, batch or 1, circuit.size())
    size = _FIRST.within(whole)
    widest = max([len(i.qubits) for i in circuit.instructions], default=0)
    while size.qubits < min(widest, _WIDEST):
        size = size.grown(whole)
    blocks = _blocks(circuit, batch, options)
    while True:
        smaller = circuit if size == whole else folded(circuit, size.qubits, size.gates)
        samples = None if batch is None else size.samples
        seconds = _timed(_run_of(smaller, samples, options))
        if seconds >= ENOUGH or size == whole:
            break
        size = size.grown(whole)
    amplitudes = (whole.samples / size.samples) * 2.0 ** (whole.qubits - size.qubits)
    scale = amplitudes * blocks / _blocks(smaller, samples, options)
    return RunTime(seconds * scale, bool(circuit.parameters()), size, seconds, whole)


def _blocks(circuit: Circuit, batch: int | None, options: dict[str, Any]) -> int:
    """Return the number of blocks that the engine makes of a run's gates, at least 1."""
    forecast = circuit.plan(observed_word(circuit.num_qubits), batch=batch, **options)
    return max(1, sum(forecast.blocks.values()))


def _run_of(circuit: Circuit, batch: int | None, options: dict[str, Any]) -> Callable[[], None]:
    """Return a call that runs the circuit once, with a batch of what it has."""
    observable = observed_word(circuit.num_qubits)
    lead = () if batch is None else (batch,)
    given: dict[str, Any] = {}
    values = None
    if circuit.inputs:
        given["inputs"] = {x.name: np.zeros((*lead, *x.shape)) for x in circuit.inputs}
    elif not circuit.parameters() and batch is not None:
        given["initial_state"] = np.eye(1, 1 << circuit.num_qubits).repeat(batch, axis=0)
    if circuit.parameters():
        held = np.concatenate([p.numpy().reshape(-1) for p in circuit.parameters()])
        rows = held if circuit.inputs else np.broadcast_to(held, (*lead, len(held)))
        given["values"] = values = Tensor(rows.copy(), requires_grad=True)

    def run() -> None:
        value = circuit.expectation(observable, **given, **options)
        if values is not None:
            value.sum().backward()
        value.numpy()  # a device has been waited for then

    return run


def _timed(run: Callable[[], None]) -> float:
    """Return the fastest of a few runs, after one that compiles and plans."""
    run()
    spans = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        run()
        spans.append(time.perf_counter() - started)
        if spans[-1] > 10 * ENOUGH:
            break
    return min(spans)
