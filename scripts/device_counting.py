"""What launches do, counted on the device, beside what ``Circuit.plan`` said they would do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from device_circuits import ising, layers, rows
from device_sections import Context, verdict

from autodiff.backends.interface import Backend
from autodiff.backends.raw_modules import Argument, Extents, RawModule
from autodiff.device import canonical_device
from circuits import Projector, SparseHermitian, X, Z
from circuits.engines.cuda import CudaEngine
from circuits.observable_base import Observable

# Any in this file: a backend's arrays, and what JSON takes.

PASSES = ("forward", "reverse")
"""Kernels that pass over the states; what the others read is small."""


@dataclass
class Counted:
    """Launches since the last reset.

    Attributes:
        launches: of kernels.
        state_bytes: bytes of states that passes were given to read and to write.
        argument_bytes: bytes of all arrays that kernels were given.
    """

    launches: int = 0
    state_bytes: int = 0
    argument_bytes: int = 0


class CountingModule(RawModule):
    """A module that counts what it is asked to launch."""

    def __init__(self, module: RawModule, counted: Counted) -> None:
        super().__init__(module.source, module.instances)
        self._module, self._counted = module, counted

    def launch(
        self,
        instance: str,
        grid: Extents,
        block: Extents,
        arguments: Sequence[Argument],
        shared_bytes: int = 0,
    ) -> None:
        """Launch, and count."""
        self._module.launch(instance, grid, block, arguments, shared_bytes)
        arrays = [x for x in arguments if not isinstance(x, np.generic)]
        self._counted.launches += 1
        self._counted.argument_bytes += sum([x.nbytes for x in arrays])
        if instance.startswith(PASSES):
            # What stands in for an array that a pass does not use has one element.
            states = [x.nbytes for x in arrays if x.dtype.kind == "c" and x.shape != (1, 1)]
            self._counted.state_bytes += sum(states)


class CountingEngine(CudaEngine):
    """The device's engine, with a count of what it launches."""

    def __init__(self, backend: Backend, tile: int | None = None) -> None:
        super().__init__(backend, tile)
        self.counted = Counted()

    def _module(self) -> RawModule:
        return CountingModule(super()._module(), self.counted)

    def taken(self) -> Counted:
        """Return the count, and begin anew."""
        counted = Counted(**vars(self.counted))
        vars(self.counted).update(vars(Counted()))
        return counted


@dataclass(frozen=True)
class Case:
    """A run whose launches are predicted and counted.

    Attributes:
        num_qubits: width.
        tile: log2 of the amplitudes of a tile, at most; None for what the device has room for.
        batch: samples; None: no batch axis.
        observables: which, by the key of ``OBSERVABLES``.
    """

    num_qubits: int
    tile: int | None
    batch: int | None
    observables: str

    def __str__(self) -> str:
        tiles = "tiles of the device" if self.tile is None else f"tiles of 2^{self.tile}"
        samples = "one sample" if self.batch is None else f"a batch of {self.batch}"
        return f"{self.num_qubits} qubits, {tiles}, {samples}, {self.observables}"


class _Diagonal:
    """The number operator as a sparse matrix, without SciPy; the engine has a kernel for those."""

    def __init__(self, num_qubits: int) -> None:
        size = 1 << num_qubits
        self.shape = size, size
        self.data = np.arange(size, dtype=np.float64)
        self.indices = np.arange(size)
        self.indptr = np.arange(size + 1)

    def tocsr(self) -> _Diagonal:
        """As SciPy's matrices."""
        return self


OBSERVABLES: dict[str, Callable[[int], list[Observable]]] = {
    "one observable": lambda n: [ising(n)],
    "several observables": lambda n: [ising(n), Z(0) @ Z(n - 1), X(1), Projector("1" * n)],
    "a sparse observable": lambda n: [ising(n), SparseHermitian(_Diagonal(n))],
}
SMALL = [Case(6, *rest) for rest in product((None, 4), (None, 3), OBSERVABLES)]
LARGE = [Case(18, None, *rest) for rest in product((None, 7), OBSERVABLES)]


def forecasts(context: Context) -> dict[str, Any]:
    """Launches and bytes of states of a run and its gradient, predicted and counted.

    The bytes are those of the states that passes over them read and write, which is what takes the
    time. What else kernels are given is counted, too, and not predicted: tables, angles and sums.
    """
    cases = SMALL if context.small else [*SMALL, *LARGE]
    runs: dict[str, Any] = {}
    for case, dtype in product(cases, (np.complex64, np.complex128)):
        if context.left() > 0:
            runs[f"{case}, {np.dtype(dtype).name}"] = compared(context, case, dtype)
    wrong = {name: found["wrong"] for name, found in runs.items()}
    return {**verdict(wrong, 2 * len(cases), "runs as predicted"), "runs": runs}


def compared(context: Context, case: Case, dtype: Any) -> dict[str, Any]:
    """Run a case twice, and compare the second run, after tables were sent, with the forecast."""
    engine, device = CountingEngine(context.backend, case.tile), canonical_device(context.device)
    observables = OBSERVABLES[case.observables](case.num_qubits)
    circuit = layers(case.num_qubits, 2, dtype, device, features=case.batch is not None)
    options: dict[str, Any] = {"dtype": dtype, "engine": engine, "device": device}
    said = circuit.plan(observables, batch=case.batch or 1, **options).outline.device
    assert said is not None
    if case.batch is not None:
        options["inputs"] = rows(case.num_qubits, case.batch, dtype, device)
    circuit.expectation(observables, **options).sum().backward()
    engine.taken()
    stats = replace(context.backend.stats)
    value = circuit.expectation(observables, **options)
    parts = [engine.taken()]
    value.sum().backward()
    parts.append(engine.taken())
    after = context.backend.stats
    counted = {
        "launches": tuple([part.launches for part in parts]),
        "bytes of states": tuple([part.state_bytes for part in parts]),
        "launches counted by the backend": after.kernels - stats.kernels,
        "bytes counted by the backend": after.argument_bytes - stats.argument_bytes,
        "uploads and downloads": (after.uploads - stats.uploads, after.downloads - stats.downloads),
    }
    expected = {
        "launches": said.launches,
        "bytes of states": said.traffic,
        "launches counted by the backend": sum(said.launches),
        "bytes counted by the backend": sum([part.argument_bytes for part in parts]),
        "uploads and downloads": (0, 0),
    }
    wrong = [
        f"{what}: {expected[what]} predicted, {counted[what]} counted"
        for what in expected
        if counted[what] != expected[what]
    ]
    return {**counted, "wrong": "; ".join(wrong)}
