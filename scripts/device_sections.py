"""The sections of ``device_check`` that say whether results are right."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import product
from typing import Any

import conformance
import numpy as np
import op_checks
import tensor_mutants
from programs import Case
from tensor_listing import Listing

import autodiff
from autodiff import Tensor
from autodiff.backends import cupy_backend
from autodiff.backends.emulated_backend import EmulatedBackend
from autodiff.backends.interface import Backend
from autodiff.backends.launch_records import RecordedLaunch
from autodiff.backends.tensor_graph import TensorGraph
from autodiff.device import backend_of, canonical_device
from autodiff.node import Op
from autodiff.table import OPS
from circuits.engines.base import Engine, Gradients
from circuits.engines.registry import get_engine

# Any in this file: a backend's arrays, and what JSON takes.

PACKAGES = ("numpy", "cupy-cuda13x", "cupy-cuda12x", "nvidia-cuda-nvrtc")


@dataclass
class Context:
    """What sections share.

    Attributes:
        device: the name that was asked for.
        deadline: when the present section's time is up, on the clock of ``time.perf_counter``.
        small: whether sizes are those that a CPU can do in place of a GPU.
        bandwidth: bytes a second of a copy within the device, once that is measured.
    """

    device: str
    deadline: float
    small: bool = False
    bandwidth: float = float("inf")

    def left(self) -> float:
        """Seconds that are left."""
        return self.deadline - time.perf_counter()

    @cached_property
    def backend(self) -> Backend:
        """The device's backend."""
        return backend_of(canonical_device(self.device))

    @cached_property
    def engine(self) -> Engine:
        """The device's engine."""
        return get_engine("cuda", canonical_device(self.device))


def probe(context: Context) -> dict[str, Any]:
    """Whether there is a device, which one, and with which versions."""
    found: dict[str, Any] = {"python": platform.python_version()}
    for package in PACKAGES:
        if any(importlib.metadata.distributions(name=package)):
            found[package] = importlib.metadata.version(package)
    backend = context.backend
    limits = backend.limits
    found |= {field.name: getattr(limits, field.name) for field in fields(limits)}
    found["free_bytes"] = backend.free_bytes
    name = "the emulated device"
    if isinstance(backend, cupy_backend.CupyBackend):
        runtime = backend.xp.cuda.runtime
        name = runtime.getDeviceProperties(backend.ordinal)["name"].decode()
        found["driver"], found["runtime"] = runtime.driverGetVersion(), runtime.runtimeGetVersion()
    found["summary"] = f"{name}, {limits.total_bytes >> 30} GiB, {limits.multiprocessors} SM"
    return found


# -- tensors ---------------------------------------------------------------------------------------


def op_table(context: Context) -> dict[str, Any]:
    """Every row's forward on its samples, against NumPy, as far as the time goes."""
    rows = [op for op in OPS.values() if not op.moves and not op.draws]
    found = {op.name: failure(_check_row, context.backend, op) for op in rows if context.left() > 0}
    return verdict(found, len(rows), "rows right")


def failure(check: Callable[..., object], *args: object) -> str:
    """Run a check in a thread of its own; return what it raised, of whatever class, or nothing."""
    with ThreadPoolExecutor(1) as pool:
        error = pool.submit(check, *args).exception()
    return "" if error is None else f"{type(error).__name__}: {str(error)[:300]}"


def verdict(found: dict[str, str], count: int, what: str) -> dict[str, Any]:
    """Return a section's report.

    Args:
        found: what is wrong with each thing that was looked at, or nothing.
        count: how many there are.
        what: the things, and what is good of them.
    """
    failures = {name: text for name, text in found.items() if text}
    summary = f"{len(found) - len(failures)} of {len(found)} {what}"
    lines = [f"{name}: {text}" for name, text in list(failures.items())[:9]]
    return {
        "status": "FAIL" if failures else "PASS",
        "failures": failures,
        "summary": "\n".join([summary + not_reached(count - len(found)), *lines]),
    }


def not_reached(count: int) -> str:
    """Say so where the time was up."""
    return f", {count} not reached" if count else ""


def _check_row(backend: Backend, op: Op) -> None:
    """Raise if a row is wrong."""
    for sample in op_checks.cases(op, [*op_checks.DOUBLE, *op_checks.SINGLE]):
        host = [np.asarray(x) for x in sample.args]
        expected = op.forward(np, *host, **sample.attrs)
        operands = [backend.from_host(x) for x in host]
        made = backend.launch(
            op.forward, operands, sample.attrs, op.name, backend.storage_classes[0]
        )
        pairs = zip(made, expected, strict=True) if type(made) is tuple else [(made, expected)]
        for value, wanted in pairs:
            conformance.assert_close(
                backend.to_host(backend.own(value)), np.asarray(wanted), _tolerance(wanted)
            )


def _tolerance(wanted: Any) -> float:
    dtype = np.asarray(wanted).dtype
    return 1e3 * float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def tensor_kernels(context: Context) -> dict[str, Any]:
    """All kernels of ``tensor.cu``, captured as a graph and replayed with other leaves."""
    backend = context.backend
    f, outputs = tensor_mutants.listing()
    graph = TensorGraph(backend, f.planned(*outputs))
    for _ in range(2):
        leaves = [backend.send(f.values[k]) for k in f.leaves]
        f.compare(outputs, [backend.receive(x) for x in graph(backend.xp, *leaves)], 1e-9)
    again = Listing(*[2 * f.values[k] if k == 0 else f.values[k] for k in f.leaves])
    wide = again.add("exp", 0)
    other = TensorGraph(backend, again.planned(wide))
    made = other(backend.xp, *[backend.send(again.values[k]) for k in again.leaves])
    again.compare([wide], [backend.receive(x) for x in made], 1e-9)
    return {"summary": f"{len(f.planned(*outputs).launches)} launches, replayed twice"}


def graph_mode(context: Context) -> dict[str, Any]:
    """A training step in graph mode: the eager values, and how many launches it takes."""
    name = canonical_device(context.device)
    backend, rng = context.backend, np.random.default_rng(3)
    x, w = rng.normal(size=(32, 8)), rng.normal(size=(8, 4))

    def step(device: str) -> list[np.ndarray]:
        weights = Tensor(w, device=device, requires_grad=True)
        loss = ((Tensor(x, device=device) @ weights).tanh() ** 2).mean()
        loss.backward()
        assert weights.grad is not None
        return [loss.numpy(), weights.grad.numpy()]

    expected = step("cpu")
    replays, backend.replays = backend.replays, True
    try:
        with autodiff.local_graph_mode():
            autodiff.graph_mode(True)
            step(name)
            backend.stats.reset()
            made = step(name)
    finally:
        backend.replays = replays
    for value, wanted in zip(made, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-10, atol=1e-12)
    stats = backend.stats
    counts = {"launches": stats.launches, "graphs": stats.graphs, "kernels": stats.kernels}
    return {**counts, "summary": f"a step right; {counts}"}


# -- circuits --------------------------------------------------------------------------------------


class HostEngine(Engine):
    """An engine of a device behind arrays of the host, for checks that know only those."""

    name = "of a device"

    def __init__(self, engine: Engine, backend: Backend) -> None:
        self._engine, self._backend = engine, backend

    def forward(self, plan: Any, state: Any, angles: Any, *rest: Any) -> Any:
        final, values = self._engine.forward(plan, *self._sent([state, angles]), *self._sent(rest))
        return self._backend.receive(final), self._received(values)

    def reverse(
        self, plan: Any, final: Any, angles: Any, matrices: Any, wanted: Any, **rest: Any
    ) -> Gradients:
        sent = self._sent([final, angles, matrices])
        named = dict(zip(rest, self._sent(list(rest.values())), strict=True))
        made = self._engine.reverse(plan, *sent, wanted, **named)
        return Gradients(
            self._received(made.state),
            self._received(made.angles),
            None if made.matrices is None else tuple(map(self._received, made.matrices)),
            self._received(made.coefficients),
        )

    def _sent(self, values: Sequence[Any]) -> list[Any]:
        return [self._one_sent(x) for x in values]

    def _one_sent(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self._backend.send(value)
        return self._sent(value) if isinstance(value, list | tuple) else value

    def _received(self, value: Any) -> Any:
        return None if value is None else self._backend.receive(value)


def engine_conformance(context: Context) -> dict[str, Any]:
    """The conformance suite of every engine, on the device's."""
    engine = HostEngine(context.engine, context.backend)
    cases = conformance.CASES[::15] if context.small else conformance.CASES
    cases = [*cases, Case(5 if context.small else 14, 2, np.complex64, seed=1)]
    pairs = list(product(cases, conformance.CHECKS))
    found = {
        f"{check.__name__} {case}": failure(check, engine, case)
        for case, check in pairs
        if context.left() > 0
    }
    return verdict(found, len(pairs), "checks pass")


def recorded_launches(context: Context) -> dict[str, Any]:
    """Launches that the emulated device recorded, run again on this one and compared."""
    if shutil.which("g++") is None:
        return {"status": "NOT RUN", "reason": "the emulated device needs g++"}
    emulated = EmulatedBackend()
    with emulated.kernels.record() as launches:
        tensor_mutants.scenario(emulated, tensor_mutants.SOURCE)
        engine = get_engine("cuda", "emulated")
        backend = backend_of("emulated")
        assert isinstance(backend, EmulatedBackend)
        with backend.kernels.record() as of_engine:
            for dtype in (np.complex64, np.complex128):
                conformance.check_measured_gradients(
                    HostEngine(engine, backend), Case(4, 2, dtype, seed=5)
                )
    worst = [_replayed(context.backend, launch) for launch in (*launches, *of_engine)]
    summary = f"{len(worst)} launches, largest difference {max(worst):.1e}"
    return {"launches": len(worst), "difference": max(worst), "summary": summary}


def _replayed(backend: Backend, launch: RecordedLaunch) -> float:
    """Run one launch and return the largest difference, relative to the tolerance's scale."""
    buffers = [backend.send(part) for part in launch.before]
    module = backend.raw_module(launch.source, launch.instances)
    module.launch(
        launch.instance, launch.grid, launch.block, launch.values(buffers), launch.shared_bytes
    )
    made = launch.values([backend.receive(part) for part in buffers])
    pairs = zip(made, launch.values(launch.after), strict=True)
    return max([_difference(value, wanted, launch.instance) for value, wanted in pairs])


def _difference(value: Any, wanted: Any, instance: str) -> float:
    """Compare one argument after a launch: the same NaN and infinities, the rest nearly."""
    if not isinstance(wanted, np.ndarray) or wanted.dtype.kind not in "fc":
        return 0.0
    finite = np.isfinite(wanted)
    np.testing.assert_array_equal(value[~finite], wanted[~finite])
    scale = max(1.0, float(np.abs(wanted[finite]).max(initial=0)))
    difference = float(np.abs(value[finite] - wanted[finite]).max(initial=0)) / scale
    single = wanted.dtype in (np.float32, np.complex64)
    assert difference < (1e-4 if single else 1e-12), (instance, difference)
    return difference
