"""The sections of ``device_check`` that measure."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from device_sections import Context

from autodiff import Parameter
from autodiff.backends.interface import Backend
from autodiff.device import canonical_device
from circuits import Circuit, Input, PauliSum

# Any in this file: a backend's arrays, and what JSON takes.

SECONDS_EACH = 0.5
"""How long one measurement is repeated; on the emulated device a tenth of it."""


def timed(backend: Backend, function: Callable[[], object]) -> float:
    """The shortest of some runs, in seconds; each waits for the device."""
    finished = backend.send(np.zeros(1))
    function()
    seconds = SECONDS_EACH / (10 if backend.family == "emulated" else 1)
    best, until = float("inf"), time.perf_counter() + seconds
    while True:
        backend.receive(finished)
        started = time.perf_counter()
        function()
        backend.receive(finished)
        best = min(best, time.perf_counter() - started)
        if time.perf_counter() > until:
            return best


def copy_bandwidth(context: Context) -> dict[str, Any]:
    """Bytes read and written each second by a copy within the device."""
    nbytes = 1 << (24 if context.emulated else 30)
    array = context.backend.send(np.zeros(nbytes // 8))
    seconds = timed(context.backend, array.copy)
    context.bandwidth = 2 * nbytes / seconds
    return {"bytes_per_second": context.bandwidth, "summary": f"{context.bandwidth / 1e9:.0f} GB/s"}


def layers(n: int, depth: int) -> Circuit:
    """Rotations about Y and Z on every qubit and a ring of CX, ``depth`` times."""
    circuit = Circuit(n)
    for layer in range(depth):
        for q in range(n):
            circuit.ry(Parameter(0.1 + q, name=f"y{layer}_{q}"), q)
            circuit.rz(Parameter(0.2 + q, name=f"z{layer}_{q}"), q)
        for q in range(n if n > 2 else n - 1):
            circuit.cx(q, (q + 1) % n)
    return circuit


def ising(n: int) -> PauliSum:
    """The transverse-field Ising chain."""
    terms = {}
    for q in range(n):
        terms["".join("X" if k == q else "I" for k in range(n))] = -1.0
        if q + 1 < n:
            terms["".join("Z" if k in (q, q + 1) else "I" for k in range(n))] = -1.0
    return PauliSum(terms)


def measure(
    context: Context, circuit: Circuit, observable: PauliSum, dtype: Any, **options: Any
) -> dict[str, Any]:
    """Times of the value and of value and gradient, with launches and bytes of the latter."""
    device, backend = canonical_device(context.device), context.backend

    def forward() -> Any:
        return circuit.expectation(observable, dtype=dtype, device=device, engine="cuda", **options)

    def gradient() -> None:
        forward().sum().backward()

    value = timed(backend, forward)
    both = timed(backend, gradient)
    stats = backend.stats
    before = stats.kernels, stats.argument_bytes, stats.upload_bytes
    gradient()
    found = {
        "value_ms": 1e3 * value,
        "gradient_ms": 1e3 * both,
        "ratio": both / value,
        "launches": stats.kernels - before[0],
        "bytes": stats.argument_bytes - before[1],
        "uploaded": stats.upload_bytes - before[2],
    }
    found["copy_fraction"] = found["bytes"] / both / context.bandwidth
    return found


def _line(what: str, found: dict[str, Any]) -> str:
    return (
        f"{what}: value {found['value_ms']:.3f} ms, with gradient {found['gradient_ms']:.3f} ms "
        f"({found['ratio']:.1f}x), {found['launches']} launches, {found['uploaded']} bytes up, "
        f"{100 * found['copy_fraction']:.0f} % of a copy"
    )


def small_batch(context: Context) -> dict[str, Any]:
    """A batch of 512 at 10 qubits and 3 layers, value and gradient. Aim: 1 ms."""
    n, batch = (3, 4) if context.emulated else (10, 512)
    circuit, x = layers(n, 3), Input("x", n)
    for q in range(n):
        circuit.rx(x[q], q)
    rows = np.random.default_rng(0).normal(size=(batch, n))
    found = measure(context, circuit, ising(n), np.complex64, inputs={"x": rows})
    return {**found, "summary": _line(f"{batch} x {n} qubits", found)}


def ising_chain(context: Context) -> dict[str, Any]:
    """A 24-qubit, depth-10 transverse-field Ising VQE in complex64. Aim: 15 ms."""
    n, depth = (4, 2) if context.emulated else (24, 10)
    found = measure(context, layers(n, depth), ising(n), np.complex64)
    return {**found, "summary": _line(f"{n} qubits, depth {depth}", found)}


def single_circuits(context: Context) -> dict[str, Any]:
    """Circuits of 4 to 30 qubits with 3 layers in both precisions, as far as the time goes."""
    sizes = (2, 3) if context.emulated else range(4, 31, 2)
    found: dict[str, Any] = {}
    lines = []
    for n in sizes:
        for dtype in (np.complex64, np.complex128):
            needed = 6 * np.dtype(dtype).itemsize << n
            if context.left() < 25 or needed > context.backend.limits.free_bytes:
                continue
            name = f"{n} qubits, {np.dtype(dtype).name}"
            found[name] = measure(context, layers(n, 3), ising(n), dtype)
            lines.append(_line(name, found[name]))
    return {"sizes": found, "summary": "\n".join(lines)}


def gate_by_gate(context: Context) -> dict[str, Any]:
    """The same circuit by one array operation a gate, as a plain program on CuPy would run it."""
    n, depth = (4, 2) if context.emulated else (22, 3)
    xp, backend = context.backend.xp, context.backend
    state = backend.send(np.eye(1, 1 << n, dtype=np.complex64)[0])
    rng = np.random.default_rng(1)
    gates = [backend.send(m) for m in (rng.normal(size=(n, 2, 2)) + 0j).astype(np.complex64)]

    def forward() -> Any:
        psi = state
        for _ in range(depth):
            for q, gate in enumerate(2 * gates):
                tensor = psi.reshape(1 << (n - 1 - q % n), 2, 1 << (q % n))
                psi = xp.einsum("ab,xby->xay", gate, tensor).reshape(-1)
            for q in range(n):
                psi = _cx(xp, psi, n, q, (q + 1) % n)
        return psi

    plain = timed(backend, forward)
    ours = measure(context, layers(n, depth), ising(n), np.complex64)
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
