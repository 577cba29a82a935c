"""Most memory that a run takes, measured in a process of its own: nothing else runs there.

In the process of the tests other threads hold and make arrays while a run is measured: helpers of
an earlier call that come late, and whatever the tests before have left.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from circuits import Circuit, Input, Parameter, X, Z, plan_methods, state
from circuits.engines.numba_threads import set_num_threads
from circuits.plan import memory

OBSERVABLE = Z(0) + 0.5 * X(1)

Run = Callable[[], Any]


class Bytes(NamedTuple):
    """What a run takes: while it is at work, at most, and what its result keeps."""

    peak: int
    kept: int


def layered(
    num_qubits: int, layers: int, *, batched: bool = False, single: bool = False
) -> Circuit:
    """Layers of RY, RZ and a ring of CX, behind an encoding if there is a batch."""
    circuit = Circuit(num_qubits)
    kind = np.float32 if single else np.float64
    if batched:
        x = Input("x", num_qubits, dtype=kind)
        for q in range(num_qubits):
            circuit.rx(x[q], q)
    for k in range(layers):
        for q in range(num_qubits):
            circuit.ry(Parameter(kind(0.1 * k + q)), q).rz(Parameter(kind(0.3)), q)
        for q in range(num_qubits):
            circuit.cx(q, (q + 1) % num_qubits)
    return circuit


def forward_run(num_qubits: int, batch: int | None, engine: str, single: bool, room: int) -> Run:
    """Return values of ``layered``, recorded; ``room`` is the free memory, 0 for what there is.

    The reference engine has more copies of a block than a small room holds.
    """
    if room:
        memory.UNCHECKED = 0
        memory.available_memory = lambda: room
        plan_methods.require_memory = lambda *needed: None
    circuit = layered(num_qubits, 3, batched=batch is not None, single=single)
    inputs = None if batch is None else {"x": np.full((batch, num_qubits), 0.2)}
    return lambda: circuit.expectation(OBSERVABLE, inputs=inputs, engine=engine).sum()


def gradient_run(*arguments: Any) -> Run:
    """Return value and gradient; arguments are those of ``forward_run``."""
    forward = forward_run(*arguments)
    return lambda: forward().backward()


def jacobian_run(num_qubits: int, batch: int | None, rows: int) -> Run:
    """Return the Jacobian of some observables."""
    circuit = Circuit(num_qubits).rx(Input("x", 1)[0], 0)
    for q in range(num_qubits):
        circuit.ry(Parameter(0.1 * q), q).cx(q, (q + 1) % num_qubits)
    observables = [Z(q) @ X(q + 1) for q in range(rows)]
    inputs = {"x": np.zeros((*(() if batch is None else (batch,)), 1))}
    return lambda: circuit.jacobian(observables, inputs=inputs)


RUNS: dict[str, Callable[..., Run]] = {
    "forward": forward_run,
    "gradient": gradient_run,
    "jacobian": jacobian_run,
}


def memory_of(run: str, *arguments: object, workspace: bool = True) -> Bytes:
    """Return what a run's third call takes.

    Args:
        run: of ``RUNS``.
        arguments: of that.
        workspace: count what is kept from call to call: |0...0> and the calling thread's room.
    """
    command = [sys.executable, __file__, run, json.dumps(arguments), json.dumps(workspace)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Bytes(*json.loads(done.stdout))


def _measure(run: Run, *, workspace: bool) -> Bytes:
    run()  # plans are made once
    run()
    results: list[object] = []
    if workspace:
        state._kept_zero_state.cache_clear()
    tracemalloc.start()
    if workspace:
        thread = threading.Thread(target=lambda: results.append(run()))
        thread.start()
        thread.join()
    else:
        results.append(run())
    kept, peak = tracemalloc.get_traced_memory()
    return Bytes(peak, kept)


if __name__ == "__main__":
    _, name, given, counted = sys.argv
    set_num_threads(1)
    print(json.dumps(_measure(RUNS[name](*json.loads(given)), workspace=json.loads(counted))))
